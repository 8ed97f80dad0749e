/**
 * A claim reads its own post, and not all that is planned, also where the planner last saw no planned task.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { claimPost } from '../../src/post/claim.ts'
import { lasting } from '../support/lasting.ts'
import { rememberPrices } from '../support/ledger.ts'
import { createPlanning } from '../support/planning.ts'
import { countTasksRead } from '../support/tasks-read.ts'

const TASKS = 2_000
const POSTS = TASKS / 100
/** Each task of a post is read by several statements. */
const MOST_READ = 20
const OPTIONS = {
  budget: { maxDayMicros: 1_000_000_000, maxMonthMicros: null },
  window: { callsPerMinute: 2_000, maxConcurrentRequests: 30, runner: 'test' },
  postbackUrl: null,
}

const planning = lasting(createPlanning)

test('claims read as much of each task, however many are planned', async () => {
  const { db } = planning
  await planning.setNow('2026-03-01T10:00:00Z')
  await planning.watch(
    'fitness',
    Array.from({ length: TASKS }, (_, n) => `yoga ${n}`),
  )
  await planning.plan()
  await planning.measure()
  await db.sql`
    insert into account_usage (login, prices, minute_limit_micros) values ('me', '[]', 1000000000)`
  await rememberPrices(db.sql)
  // Nothing is planned now, as the planner then believes for as long as the tables are not looked at again.
  await db.sql`vacuum analyze task`
  await planning.setNow('2026-03-02T10:00:00Z')
  await planning.plan()
  const posts = await db.sql<
    { id: string }[]
  >`select distinct post_id as id from task where state = 'planned'`
  assert.equal(posts.length, POSTS)
  const before = await countTasksRead(planning.db)
  for (const { id } of posts) {
    assert.equal((await claimPost(db, id, randomUUID(), OPTIONS)).kind, 'claimed')
  }
  const read = ((await countTasksRead(planning.db)) - before) / TASKS
  assert.ok(read <= MOST_READ, `each task was read ${read.toFixed(1)} times`)
})
