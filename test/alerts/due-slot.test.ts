/** Whether a collection is over is asked of the tasks that are open, and not of all that there ever were. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDueSlot } from '../../src/alerts/run.ts'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'

const TASKS = 500
const DAY = '2026-03-01 00:00:00+00'

const planning = lasting(createPlanning)

test('where the planner takes ended tasks for open, not all that there ever were are read', async () => {
  const { db } = planning
  await planning.setNow('2026-02-01T00:00:00Z')
  await planning.watch(
    'fitness',
    Array.from({ length: TASKS }, (_, n) => `yoga ${n}`),
  )
  await planning.plan()
  await planning.measure()
  await planning.setNow(`${DAY.slice(0, 10)}T10:00:00Z`)
  await planning.plan()
  await db.sql`analyze`
  const [project] = await db.sql<{ id: number }[]>`select id from project where name = 'fitness'`
  const id = project?.id ?? 0
  await db.sql`
    insert into alert_due (project_id, slot, target_ids) select ${id}::int, ${DAY}, array_agg(target_id)
      from task`
  const read = () => readDueSlot(db, { id, name: 'fitness', timezone: 'UTC', enabled: true })
  assert.equal(await read(), null, 'while tasks are open, nothing is looked at')
  await planning.measure()
  const [rows] = await db.sql<
    { open: number }[]
  >`select count(*)::int as open from task where state = 'planned'`
  assert.deepEqual(rows, { open: 0 })
  const before = await countScanned()
  assert.equal(await read(), DAY)
  assert.equal((await countScanned()) - before, 0)
})

/** Tasks that were read by scans of the whole table. */
async function countScanned(): Promise<number> {
  const { sql } = planning.db
  await sql`select pg_stat_force_next_flush()`
  const [row] = await sql<
    { rows: number }[]
  >`select seq_tup_read::int as rows from pg_stat_user_tables where relname = 'task'`
  return row?.rows ?? 0
}
