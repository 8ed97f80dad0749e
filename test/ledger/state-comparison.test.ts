/**
 * What looks for the tasks of a key reads these alone, also where the planner last saw no open task: a
 * partial index that it believes empty costs nothing in its eyes. The indexes of a state are therefore those
 * of statements that say `attempt > 0`, which holds for all tasks: they mean all of a state
 * (docs/decisions/015-states-in-indexes.md).
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { leaseReadyTasks } from '../../src/ledger/hand-out.ts'
import { lockTasks, lockTasksOfPosts } from '../../src/ledger/lock.ts'
import { releasePost } from '../../src/ledger/release.ts'
import { askAgain, deferResults } from '../../src/ledger/task-failures.ts'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'
import { countTasksRead } from '../support/tasks-read.ts'

const TASKS = 20_000
/** One half is being sent, the other is posted; so many batches of a hundred of each are worked on. */
const BATCHES = 20
const BATCH = 100
/**
 * Each task of a batch is read by several steps of a statement, in a version that is dead too. All open ones
 * in each batch would be 100 times as many.
 */
const MOST_READ = 25

const planning = lasting(createPlanning)
/** The tables were last looked at while no task was open. */
before(async () => {
  const { sql } = planning.db
  await sql`alter table task set (autovacuum_enabled = off)`
  await sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'subject ' || n, 2840, 'en'
      from generate_series(1, ${BATCHES * BATCH}::int) n`
  await sql`
    insert into post (store, function, state, token)
    select 'ios_store', 'app_searches', 'sending', gen_random_uuid()
      from generate_series(1, ${TASKS / BATCH / 2}::int)`
  await sql`
    insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers, service_id,
      posted_at, ended_at, post_id)
    select ${TASKS}::int + 1 - n, now(), now() + interval '1 day', 'collected', 1, 1200, '{1}',
      'service ' || n, now(), now(), p.id
    from generate_series(1, ${TASKS}::int) n
    left join (select id, row_number() over (order by id) - 1 as place from post) p
      on p.place = (n - 1) / ${BATCH}::int`
  await sql`vacuum analyze task`
  await sql`update task set state = case when post_id is null then 'posted'
    else 'posting' end, ended_at = null`
})

test('no index of tasks in a state answers a statement that does not say that it means all', async () => {
  const rows = await planning.db.sql<{ name: string }[]>`
    select indexname as name from pg_indexes
    where tablename = 'task' and indexdef ~ 'state = ' and indexdef !~ 'attempt > 0'`
  // By key and state: those that failed, beside those of which there is something to say.
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['task_told'],
  )
})

/** Calls it for each batch. */
async function assertReadsItsOwn<Batch>(
  what: string,
  batches: readonly Batch[],
  work: (batch: Batch) => Promise<unknown>,
): Promise<void> {
  const before = await countTasksRead(planning.db)
  for (const batch of batches) await work(batch)
  const read = ((await countTasksRead(planning.db)) - before) / (batches.length * BATCH)
  assert.ok(read <= MOST_READ, `${what}: each task was read ${read.toFixed(1)} times`)
}

test('leasing and deferring results read their tasks, however many others are posted', async () => {
  const { db } = planning
  const tell = {
    problem: 'Told.',
    message: 'Told.',
    path: null,
    kind: 'advanced' as const,
    htmlPath: null,
    statusCode: 40400,
    pauseMs: 1_000,
  }
  const batches = Array.from({ length: BATCHES }, (_, batch) =>
    Array.from({ length: BATCH }, (_, n) => {
      const id = `service ${TASKS - batch * BATCH - n}`
      return { ...tell, id, serviceId: id }
    }),
  )
  await assertReadsItsOwn('leasing', batches, async (batch) => {
    assert.equal((await db.begin((tx) => leaseReadyTasks(tx, batch))).length, BATCH)
  })
  await assertReadsItsOwn('asking again', batches, (batch) => db.begin((tx) => askAgain(tx, batch)))
  await assertReadsItsOwn('deferring', batches, (batch) => db.begin((tx) => deferResults(tx, batch)))
  await assertReadsItsOwn('locking by service id', batches, (batch) =>
    db.begin((tx) =>
      lockTasks(
        tx,
        batch.map(({ serviceId }) => serviceId),
      ),
    ),
  )
})

test('a post is locked and released by its own tasks, however many others are being sent', async () => {
  const { db } = planning
  const posts = await db.sql<
    { id: string; token: string }[]
  >`select id, token from post order by id limit ${BATCHES}`
  await assertReadsItsOwn('locking', posts, ({ id }) => db.begin((tx) => lockTasksOfPosts(tx, [id])))
  await assertReadsItsOwn('releasing', posts, async ({ id, token }) =>
    assert.ok(await releasePost(db.sql, id, token, 'Not sent.')),
  )
})
