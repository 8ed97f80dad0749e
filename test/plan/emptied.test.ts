/** `due_slot` gives back the room of a large plan, whoever has an older transaction open, and loses nothing that is due. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { emptyDueSlots, lookAtAllPeriods } from '../../src/plan/due.ts'
import { createPlanning, type Planning } from '../support/planning.ts'

const KEYWORDS = Array.from({ length: 6_000 }, (_, index) => `keyword ${index}`)
/** An empty table has no page, and its index one or two. */
const EMPTY_BYTES = 3 * 8192
const LARGE_BYTES = 512 * 1024

let planning: Planning
before(async () => {
  planning = await createPlanning()
  await planning.setNow('2026-11-21 12:00+00')
  await planning.watch('fitness', KEYWORDS)
})
after(() => planning.drop())

async function sizeOfQueue(): Promise<number> {
  const [row] = await planning.db.sql<
    { bytes: number }[]
  >`select pg_total_relation_size('due_slot')::int as bytes`
  return row?.bytes ?? 0
}

describe('a queue that a plan has emptied', () => {
  beforeEach(() => planning.db.sql`truncate task, due_slot, interval_progress`)

  test('has no pages left, also while an older snapshot is open', async () => {
    await planning.openAnother().begin(
      async (older) => {
        await older`select from app limit 1`
        assert.equal((await planning.plan()).planned, KEYWORDS.length)
      },
      { isReadOnlySnapshot: true },
    )
    assert.ok((await sizeOfQueue()) <= EMPTY_BYTES)
    await lookAtAllPeriods(planning.db)
    assert.equal((await planning.plan()).due, 0)
    assert.ok((await sizeOfQueue()) <= EMPTY_BYTES, 'also where all that was queued had been measured')
  })

  test('keeps them while a transaction that has read it is open, and the next plan gives them back', async () => {
    await planning.openAnother().begin(async (person) => {
      await person`select count(*) from due_slot`
      assert.equal((await planning.plan()).planned, KEYWORDS.length)
    })
    assert.ok((await sizeOfQueue()) > LARGE_BYTES)
    await planning.plan()
    assert.ok((await sizeOfQueue()) <= EMPTY_BYTES)
  })
})

test('a queue in which something is due keeps it', async () => {
  const { sql } = planning.db
  await sql`
    insert into due_slot (target_id, slot, priority_order, captured_at)
    select n, now(), -1, '-infinity' from generate_series(1, ${KEYWORDS.length}::int) n`
  await sql`delete from due_slot where target_id > 1`
  assert.ok((await sizeOfQueue()) > LARGE_BYTES)
  await emptyDueSlots(planning.db)
  const [left] = await sql`select count(*)::int as rows from due_slot`
  assert.deepEqual({ ...left }, { rows: 1 })
})
