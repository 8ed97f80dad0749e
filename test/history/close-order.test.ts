/**
 * Closing goes in pieces. After each of them every slot that was owed is in the history, or `open_slot` names
 * it, also where more tasks are over than a piece takes.
 */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { Database } from '../../src/db/database.ts'
import { type ClosedSlots, closeEndedSlots } from '../../src/history/close-slots.ts'
import { lasting } from '../support/lasting.ts'
import { readSpendDifferences } from '../support/ledger.ts'
import { createPlanning } from '../support/planning.ts'

const KEYWORDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const AT_ONCE = 2

const planning = lasting(createPlanning)
beforeEach(async () => {
  await planning.clear()
  await planning.setNow('2026-03-10 13:00+00')
  await planning.watch('a', KEYWORDS)
  await planning.plan()
  await planning.setNow('2026-03-11 00:00+00')
})

/** Closes in small pieces, and looks after each for what was owed. */
async function closeInPieces(): Promise<ClosedSlots & { pieces: number }> {
  let pieces = 0
  const begin: Database['begin'] = async (work, options) => {
    const result = await planning.db.begin(work, options)
    pieces += 1
    const [{ told } = {}] = await planning.db.sql<{ told: number }[]>`
      select count(*) as told from target t
      where exists (select from ranking r where r.target_id = t.id and r.slot = '2026-03-10 00:00+00')
        or exists (select from open_slot s where s.target_id = t.id and s.slot = '2026-03-10 00:00+00')`
    assert.equal(told, KEYWORDS.length)
    return result
  }
  return { ...(await closeEndedSlots({ ...planning.db, begin }, AT_ONCE)), pieces }
}

const reasons = async () =>
  (
    await planning.db.sql<{ subject: string; reason: string }[]>`
      select t.subject, r.reason from ranking r join target t on t.id = r.target_id where r.gap = 'missed'
        order by 1`
  ).map(({ subject, reason }) => [subject, reason])

const UNSENT = KEYWORDS.map((subject) => [
  subject,
  'It was planned, but its slot ended before it could be sent.',
])

test('more unsent tasks than a piece takes leave a gap each, and their money is free', async () => {
  const { pieces, ...closed } = await closeInPieces()
  assert.deepEqual(closed, { budget: 0, missed: KEYWORDS.length })
  assert.ok(pieces > (2 * KEYWORDS.length) / AT_ONCE, `${pieces} pieces`)
  assert.deepEqual(await reasons(), UNSENT)
  assert.equal((await planning.db.sql`select from task`).count, 0)
  assert.deepEqual(await readSpendDifferences(planning.db.sql), [])
})

test('closing takes the tasks that are over, and leaves the others of the same post', async () => {
  await planning.clear()
  await planning.setNow('2026-03-12 00:00+00')
  await planning.watch('a', ['daily'])
  await planning.watch('a', ['six'], { every: '6 hours' })
  await planning.plan()
  await planning.setNow('2026-03-12 06:00+00')
  assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 1 })
  assert.deepEqual(await planning.plannedKeywords(), ['daily'])
  await planning.setNow('2026-03-13 00:00+00')
  await planning.closeSlots()
  assert.deepEqual(await planning.plannedKeywords(), [])
  assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
})

test('a slot whose task is over and that a later watch asks for is planned again', async () => {
  await planning.clear()
  await planning.setNow('2026-03-09 13:00+00')
  await planning.watch('a', ['a'])
  await planning.plan()
  await planning.watch('b', ['a'], { every: '7 days' })
  await planning.setNow('2026-03-10 00:00+00')
  assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
  assert.equal((await planning.plan()).planned, 2)
})
