/**
 * What is forgotten, and that nothing else is. Days are counted back from the present: their end is between
 * the tests' 89 and 91.
 */
import assert from 'node:assert/strict'
import { afterEach, before, beforeEach, describe, test } from 'node:test'
import type { Transaction } from '../../src/db/database.ts'
import { pruneSome } from '../../src/db/pieces.ts'
import { sql } from '../../src/db/sql.ts'
import { OLD_RUNS, type Pruned, pruneWork } from '../../src/history/housekeeping.ts'
import { lasting } from '../support/lasting.ts'
import { buy, clear, collect, watchKeywords } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const world = lasting(createWorld)

const daysAgo = (days: number) => sql`clock_timestamp() - make_interval(days => ${days})`

describe('work is forgotten after 90 days', () => {
  beforeEach(async () => {
    await watchKeywords(world, ['yoga', 'pilates'])
    await buy(world)
  })
  afterEach(() => clear(world))

  const endTasks = (days: number) => world.db.sql`update task set ended_at = ${daysAgo(days)}`
  const settlePosts = (days: number) => world.db.sql`update post set settled_at = ${daysAgo(days)}`
  const prune = async (): Promise<Pick<Pruned, 'tasks' | 'posts'>> => {
    const { tasks, posts } = await pruneWork(world.db)
    return { tasks, posts }
  }

  test('of its end, and not before: tasks first, and their post when it has none left', async () => {
    await collect(world)
    await settlePosts(91)
    await endTasks(89)
    assert.deepEqual(await prune(), { tasks: 0, posts: 0 })
    await endTasks(91)
    await settlePosts(89)
    assert.deepEqual(await prune(), { tasks: 2, posts: 0 })
    await settlePosts(91)
    assert.deepEqual(await prune(), { tasks: 0, posts: 1 })
    assert.equal((await world.db.sql`select from ranking where captured_at is not null`).count, 2)
    assert.equal((await world.db.sql`select from charge where kind = 'charge'`).count, 2)
  })

  test('when the history says what became of it: a task without its row stays', async () => {
    await collect(world)
    await endTasks(91)
    const [lost] = await world.db.sql<{ target: number }[]>`select min(target_id) as target from task`
    await world.db.sql`delete from ranking where target_id = ${lost?.target ?? 0}`
    assert.equal((await prune()).tasks, 1)
    const kept = await world.db.sql`select target_id as target from task`
    assert.deepEqual([...kept], [lost])
  })

  test('when its project was deleted with its history: no row will come any more', async () => {
    await collect(world)
    await endTasks(91)
    const [project] = await world.db.sql<{ name: string }[]>`select name from project`
    await world.db.sql.unsafe(`call delete_project('${project?.name}')`)
    assert.equal((await prune()).tasks, 2)
  })

  test('when it has ended: what is awaited stays, however old it is', async () => {
    await world.db.sql`update task set posted_at = ${daysAgo(91)}, planned_at = ${daysAgo(91)}`
    assert.equal((await prune()).tasks, 0)
  })

  test('when it is settled: a post whose answer is unknown stays, however old it is', async () => {
    await collect(world)
    await endTasks(91)
    await world.db.sql`
      update post set state = 'unknown', created_at = ${daysAgo(91)}, send_before = ${daysAgo(91)},
        settled_at = ${daysAgo(91)}`
    assert.deepEqual(await prune(), { tasks: 2, posts: 0 })
  })

  test('calls and runs of jobs alike', async () => {
    const { sql } = world.db
    const run = (days: number) => sql`
      insert into job_run (job, slot, state, started_at) values ('track', ${daysAgo(days)}, 'done', now())`
    await run(89)
    await run(91)
    await sql`update api_call set permit_at = ${daysAgo(89)}`
    const { calls, runs } = await pruneWork(world.db)
    assert.deepEqual({ calls, runs }, { calls: 0, runs: 1 })
    await sql`update api_call set permit_at = ${daysAgo(91)}`
    await pruneWork(world.db)
    assert.equal((await sql`select from api_call`).count, 0)
    assert.equal((await sql`select from job_run`).count, 1)
  })
})

test('bodies that could not be read are forgotten after 90 days, once their task is gone', async (t) => {
  t.after(() => clear(world))
  const { sql } = world.db
  await watchKeywords(world, ['yoga'])
  await buy(world)
  const reject = (task: string, days: number) => sql`
    insert into rejected_result (task_id, service_id, target_id, slot, path, problem, body_gzip, received_at)
    values (${task}, 'x', 1, now(), 'a', 'b', '', ${daysAgo(days)})`
  const [task] = await sql<{ id: string }[]>`select id from task`
  const [gone] = await sql<{ id: string }[]>`select gen_random_uuid()::text as id`
  await reject(task?.id ?? '', 91)
  await reject(gone?.id ?? '', 89)
  assert.equal((await pruneWork(world.db)).rejected, 0)
  await sql`update rejected_result set received_at = ${daysAgo(91)}`
  assert.equal((await pruneWork(world.db)).rejected, 1)
  const kept = await sql`select task_id as id from rejected_result`
  assert.deepEqual([...kept], [task])
  await sql`delete from task`
  assert.equal((await pruneWork(world.db)).rejected, 1)
})

test('of old looks at the account the latest stays, because budgets go by it', async () => {
  const { sql } = world.db
  const look = (daysAgo: number) =>
    sql`insert into account_usage (fetched_at, login, prices)
      values (now() - make_interval(days => ${daysAgo}), 'me', '[]')`
  await look(200)
  await look(100)
  assert.equal((await pruneWork(world.db)).looks, 1)
  await look(10)
  assert.equal((await pruneWork(world.db)).looks, 1)
  assert.equal((await sql`select from account_usage`).count, 1)
})

describe('what is kept is not read', () => {
  const RUNS = 3_000
  before(async () => {
    const { sql } = world.db
    await sql`
      insert into job_run (job, slot, state)
      select 'collect', ${daysAgo(80)} + n * interval '20 minutes', 'done'
        from generate_series(1, ${RUNS}::int) n`
    await sql`analyze job_run`
  })

  /** Rows of a table that `work` reads. */
  const countRead = async (table: string, work: (tx: Transaction) => Promise<unknown>): Promise<number> =>
    world.db.begin(async (tx) => {
      // The tables of a test are small, so that any way of reading them seems as good.
      await tx`select set_config(name, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan',
        'enable_sort']) name`
      const before = await readCounter(tx, table)
      await work(tx)
      return (await readCounter(tx, table)) - before
    })

  const readCounter = async (tx: Transaction, table: string): Promise<number> => {
    const [row] = await tx<{ rows: number }[]>`
      select seq_tup_read + coalesce(idx_tup_fetch, 0) as rows from pg_stat_xact_user_tables
        where relname = ${table}`
    return row?.rows ?? 0
  }

  test('by the pruning of runs', async () => {
    assert.ok((await countRead('job_run', (tx) => pruneSome(tx, OLD_RUNS))) < RUNS / 10)
  })

  test('by the outcome of the jobs in the past day', async () => {
    assert.ok((await countRead('job_run', (tx) => tx`select * from job_outcome`)) < RUNS / 10)
  })
})
