/**
 * What looks for the tasks of a key reads these alone, also where the planner last saw no open task: a
 * partial index that it believes empty costs nothing in its eyes, so that a state beside a key is compared by
 * a subquery (docs/decisions/018-states-in-indexes.md).
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { leaseReadyTasks } from '../../src/ledger/hand-out.ts'
import { lockTasks, lockTasksOfPosts } from '../../src/ledger/lock.ts'
import { releasePost } from '../../src/ledger/release.ts'
import { askAgain, deferResults } from '../../src/ledger/task-failures.ts'
import { createPlanning, type Planning } from '../support/planning.ts'
import { countTasksRead } from '../support/tasks-read.ts'

const PROJECT = join(import.meta.dirname, '../..')
const TASKS = 20_000
/** One half is being sent, the other is posted; so many batches of a hundred of each are worked on. */
const BATCHES = 20
const BATCH = 100
/**
 * Each task of a batch is read by several steps of a statement, in a version that is dead too. All open ones
 * in each batch would be 100 times as many.
 */
const MOST_READ = 25

/**
 * By file: comparisons of statements that mean all tasks of a state, or the few rows of a common table
 * expression.
 */
const OF_ALL_TASKS: Readonly<Record<string, number>> = {
  'drizzle/objects/alerts/alerts.sql': 1,
  'drizzle/objects/watch/delete-project.sql': 1,
  // By `task_open`, which has the target first.
  'drizzle/objects/work/open-slot.sql': 2,
  'drizzle/objects/work/open-work.sql': 4,
  'drizzle/objects/money/reserving-task.sql': 2,
  'drizzle/objects/work/task-problem.sql': 2,
  'src/archive/archive.ts': 1,
  'src/collect/webhooks.ts': 1,
  'src/ledger/adopt.ts': 2,
  'src/ledger/hand-out.ts': 2,
  'src/ledger/leave-unsent.ts': 2,
  'src/ledger/plan-tasks.ts': 2,
  'src/ledger/recover.ts': 2,
  'src/ledger/task-failures.ts': 3,
  'src/monitor/sources/work.ts': 1,
  'src/report/write-reports.ts': 1,
}

test('a state is compared with a constant only where all tasks of it are meant', () => {
  const files = [
    ...globSync('src/**/*.ts', { cwd: PROJECT }),
    ...globSync('drizzle/objects/**/*.sql', { cwd: PROJECT }),
  ]
  const found = files
    .filter((file) => !/^src\/(sandbox|db\/schema)\//.test(file))
    .sort()
    .flatMap((file) => {
      const text = readFileSync(join(PROJECT, file), 'utf8')
      const { length } = text.match(/(?<!set |, )\bstate (?:=|in) \(?'(?:planned|posting|posted)'/g) ?? []
      return length > 0 ? [[file, length] as const] : []
    })
  assert.deepEqual(Object.fromEntries(found), OF_ALL_TASKS)
})

let planning: Planning
/** The tables were last looked at while no task was open. */
before(async () => {
  planning = await createPlanning()
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
after(() => planning.drop())

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
