/** `due_slot` gives back the room of a large plan, whoever has an older transaction open, and loses nothing that is due. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { emptyDueSlots } from '../../src/plan/due.ts'
import { createPlanning, type Planning } from '../support/planning.ts'

const KEYWORDS = Array.from({ length: 6_000 }, (_, index) => `keyword ${index}`)
/** An empty table has no page, and its index one or two. */
const EMPTY_BYTES = 3 * 8192

let planning: Planning | undefined
beforeEach(async () => {
  await planning?.drop()
  planning = await createPlanning()
  await planning.setNow('2026-11-21 12:00+00')
})
after(() => planning?.drop())

async function sizeOfQueue({ db }: Planning): Promise<number> {
  const [row] = await db.sql<{ bytes: number }[]>`select pg_total_relation_size('due_slot')::int as bytes`
  return row?.bytes ?? 0
}

test('an empty queue has no pages left after a plan of many slots, also while an older snapshot is open', async () => {
  assert.ok(planning)
  const { db } = planning
  await planning.watch('fitness', KEYWORDS)
  await planning.openAnother().begin(
    async (older) => {
      await older`select from app limit 1`
      const { planned } = await (planning as Planning).plan()
      assert.equal(planned, KEYWORDS.length)
    },
    { isReadOnlySnapshot: true },
  )
  assert.ok((await sizeOfQueue(planning)) <= EMPTY_BYTES, `${await sizeOfQueue(planning)} bytes are left`)
  await db.sql`insert into due_slot (target_id, slot, priority_order, captured_at) values (1, now(), -1, '-infinity')`
  await emptyDueSlots(db, KEYWORDS.length)
  const [left] = await db.sql`select count(*)::int as rows from due_slot`
  assert.deepEqual({ ...left }, { rows: 1 })
})

test('a plan ends well while a transaction that has read the queue stays open', async () => {
  assert.ok(planning)
  await planning.watch('fitness', KEYWORDS)
  await planning.openAnother().begin(async (person) => {
    await person`select count(*) from due_slot`
    const { planned } = await (planning as Planning).plan()
    assert.equal(planned, KEYWORDS.length)
  })
})
