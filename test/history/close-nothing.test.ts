/** Closing reads what is over, however much is open. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'

const KEYWORDS = 3_000
/** Postgres plans a prepared statement anew for five times; then its session may keep the plan. */
const UNTIL_CACHED = 8
const planning = lasting(createPlanning)
before(async () => {
  await planning.setNow('2026-11-21 12:00+00')
  await planning.watch(
    'fitness',
    Array.from({ length: KEYWORDS }, (_, index) => `keyword ${index}`),
  )
  await planning.db.sql`vacuum analyze task`
  for (let time = 0; time < UNTIL_CACHED; time += 1) await planning.closeSlots()
  await planning.plan()
})

/** Rows of the tables that grow with the watches, which scans of a whole table have read in this session. */
async function countRowsScanned(): Promise<number> {
  const { sql } = planning.db
  await sql`select pg_stat_force_next_flush()`
  const [row] = await sql<{ rows: number }[]>`
    select sum(seq_tup_read)::int as rows from pg_stat_user_tables
      where relname in ('task', 'target', 'watch_period')`
  return row?.rows ?? 0
}

test('closing when nothing is over scans no tasks and no watches, with statistics or not', async () => {
  const before = await countRowsScanned()
  assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
  assert.equal(await countRowsScanned(), before)
  await planning.db.sql`analyze`
  const scanned = await countRowsScanned()
  assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
  assert.equal(await countRowsScanned(), scanned)
})

test('closing the slots of all tasks takes them out of the ledger, and gives their money back', async () => {
  await planning.setNow('2026-11-22 12:00+00')
  assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: KEYWORDS })
  const [left] = await planning.db.sql`
    select (select count(*) from task) as tasks,
      (select sum(reserved_micros) from spend)::int as micros`
  assert.deepEqual({ ...left }, { tasks: 0, micros: 0 })
})
