/**
 * Closing goes in pieces. Between two of them each slot that was owed is in the history, or `open_slot` names it: a slot is not closed before
 * its task, also where more tasks are over than a piece takes.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { closeEndedSlots } from '../../src/history/close-slots.ts'
import { readSpendDifferences, recount } from '../support/ledger.ts'
import { createPlanning, type Planning } from '../support/planning.ts'

const KEYWORDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const PIECE = { tasks: 2, periods: 100, slotsOfPeriod: 24 }

let planning: Planning
before(async () => {
  planning = await createPlanning()
  // What a piece commits has to hold alone.
  await planning.db.sql`
    create function forbid_early_closing() returns trigger language plpgsql as $$
    begin
      if exists (
        select from task k where k.target_id = new.target_id and k.slot < new.closed_to
          and ((k.state = 'planned' and k.slot_ends_at <= storerank_now()) or (k.state = 'dropped' and k.ended_at is null))
      ) then
        raise 'A slot was closed before its task.';
      end if;
      return null;
    end $$`
  await planning.db.sql`
    create constraint trigger forbid_early_closing after update of closed_to on watch_period
    deferrable initially deferred for each row execute function forbid_early_closing()`
})
after(() => planning.drop())
beforeEach(async () => {
  await planning.clear()
  await planning.setNow('2026-03-10 13:00+00')
  await planning.watch('a', KEYWORDS)
  await planning.plan()
  await planning.setNow('2026-03-11 00:00+00')
})

const reasons = async () =>
  (
    await planning.db.sql<{ subject: string; reason: string }[]>`
      select t.subject, r.reason from ranking r join target t on t.id = r.target_id where r.gap = 'missed' order by 1`
  ).map(({ subject, reason }) => [subject, reason])

const UNSENT = KEYWORDS.map((subject) => [
  subject,
  'It was planned, but its slot ended before it could be sent.',
])

test('more tasks that were never sent than a piece takes are deleted before their slots are closed', async () => {
  assert.deepEqual(await closeEndedSlots(planning.db, PIECE), { budget: 0, missed: KEYWORDS.length })
  assert.deepEqual(await reasons(), UNSENT)
  assert.equal((await planning.db.sql`select from task`).count, 0)
  assert.deepEqual(await readSpendDifferences(planning.db.sql), [])
})

test('more tasks that claims dropped than a piece takes leave their reason in each gap', async () => {
  await planning.db.sql`update task set state = 'dropped', post_id = null`
  await recount(planning.db.sql)
  assert.deepEqual(await closeEndedSlots(planning.db, PIECE), { budget: 0, missed: KEYWORDS.length })
  assert.deepEqual(await reasons(), UNSENT)
  assert.equal((await planning.db.sql`select from task`).count, 0)
})

/** Of each ready post its `slots_end_at`, and the end of its first slot. */
const ends = () => planning.db.sql<{ told: Date; first: Date | null }[]>`
  select p.slots_end_at as told, (select min(k.slot_ends_at) from task k where k.post_id = p.id and k.state = 'planned') as first
  from post p where p.state = 'ready' order by p.id`

test('a post tells when the first slot of its tasks ends, and closing takes those that are over and leaves the others', async () => {
  await planning.clear()
  await planning.setNow('2026-03-12 00:00+00')
  await planning.watch('a', ['daily'])
  await planning.watch('a', ['six'], { every: '6 hours' })
  await planning.plan()
  const subjects = async () =>
    (await planning.db.sql`select t.subject from task k join target t on t.id = k.target_id`).map(
      ({ subject }) => subject,
    )
  assert.deepEqual((await subjects()).sort(), ['daily', 'six'])
  const first = new Date('2026-03-12T06:00:00Z')
  assert.deepEqual([...(await ends())], [{ told: first, first }])

  await planning.setNow('2026-03-12 06:00+00')
  assert.deepEqual(await closeEndedSlots(planning.db, PIECE), { budget: 0, missed: 1 })
  assert.deepEqual(await subjects(), ['daily'])
  const last = new Date('2026-03-13T00:00:00Z')
  assert.deepEqual([...(await ends())], [{ told: last, first: last }])

  await planning.setNow('2026-03-13 00:00+00')
  await closeEndedSlots(planning.db, PIECE)
  assert.deepEqual(await subjects(), [])
  const [empty] = await planning.db
    .sql`select slots_end_at = 'infinity' as never from post where state = 'ready'`
  assert.equal(empty?.never, true)
  assert.deepEqual(await closeEndedSlots(planning.db, PIECE), { budget: 0, missed: 0 })
})
