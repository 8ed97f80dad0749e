/**
 * What nobody watches any more when its post is claimed: it is not bought, and who was owed its slot is told
 * why.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, test } from 'node:test'
import { claimPost } from '../../src/post/claim.ts'
import { lasting } from '../support/lasting.ts'
import { readReservations } from '../support/ledger.ts'
import { createPlanning } from '../support/planning.ts'

const planning = lasting(createPlanning)
beforeEach(async () => {
  await planning.clear()
  await planning.setNow('2026-03-10 13:00+00')
})

const OPTIONS = {
  window: { callsPerMinute: 100, maxConcurrentRequests: 10, runner: 'test' },
  postbackUrl: null,
}
/** The claim of the post that all planned tasks are in. */
async function claim(maxDayMicros = 1_000_000) {
  const [post] = await planning.db.sql<{ id: string }[]>`
    insert into post (store, function) values ('ios_store', 'app_searches') returning id`
  const id = post?.id ?? ''
  await planning.db.sql`update task set post_id = ${id} where state = 'planned'`
  const budget = { maxDayMicros, maxMonthMicros: null, maxRunMicros: null }
  return claimPost(planning.db, id, randomUUID(), { ...OPTIONS, budget })
}
/** Out at the service, for all that is known. */
const send = () => planning.db.sql`update task set state = 'posting'`
const giveBack = () => planning.db.sql`update task set state = 'planned', attempt = 2`
const gaps = async () => [
  ...(await planning.db.sql`
    select to_char(slot at time zone 'UTC', 'MM-DD HH24') as slot, gap, reason from ranking order by 1`),
]
const MISSED = { gap: 'missed', reason: 'It was planned, but its slot ended before it could be sent.' }

const endings = {
  deleted: () => planning.db.sql`delete from keyword_watch where project = 'a'`,
  disabled: () => planning.db.sql`update keyword_watch set enabled = false where project = 'a'`,
  'asked for another interval': () =>
    planning.db.sql`update keyword_watch set every = '4 hours' where project = 'a'`,
}

describe('a task that was given back when its slot had ended, whose watch was then', () => {
  for (const [how, end] of Object.entries(endings)) {
    test(`${how} leaves the gap that it owes`, async () => {
      await planning.watch('a', ['yoga'], { every: '6 hours' })
      await planning.setNow('2026-03-10 18:30+00')
      await planning.closeSlots()
      await planning.plan()
      await send()
      await planning.setNow('2026-03-11 01:00+00')
      await planning.closeSlots()
      await giveBack()
      await end()
      assert.equal((await claim()).kind, 'empty')
      await planning.closeSlots()
      assert.deepEqual((await gaps()).slice(1), [{ slot: '03-10 18', ...MISSED }])
      assert.equal((await readReservations(planning.db.sql)).length, 0)
    })
  }

  const losses = {
    'that is gone as well': async () => {
      await endings.deleted()
      assert.equal((await claim()).kind, 'empty')
      return MISSED
    },
    'and there is no money left for it': async () => {
      assert.equal((await claim(0)).kind, 'empty')
      return { gap: 'budget', reason: 'overall_budget' }
    },
  }
  for (const [how, lose] of Object.entries(losses)) {
    test(`deleted, while its slot still ran for a rarer watch, ${how}, leaves it too`, async () => {
      await planning.setNow('2026-03-10 12:10+00')
      await planning.watch('a', ['yoga'], { every: '4 hours' })
      await planning.watch('b', ['yoga'], { every: '12 hours' })
      await planning.plan()
      await send()
      await planning.db.sql`delete from keyword_watch where project = 'b'`
      await planning.setNow('2026-03-10 17:00+00')
      await planning.closeSlots()
      await giveBack()
      const gap = await lose()
      await planning.setNow('2026-03-11 00:00+00')
      await planning.closeSlots()
      assert.deepEqual((await gaps())[0], { slot: '03-10 12', ...gap })
    })
  }
})

test('a task whose watch is deleted leaves nothing, and is planned anew for another watch', async () => {
  await planning.watch('a', ['yoga'])
  await planning.plan()
  await endings.deleted()
  assert.equal((await claim()).kind, 'empty')
  await planning.watch('b', ['yoga'])
  await planning.closeSlots()
  assert.deepEqual(await gaps(), [])
  assert.equal((await planning.plan()).planned, 1)
  assert.equal((await claim()).kind, 'claimed')
})

test('a task whose slot runs on when its watch is asked for in other slots is not bought', async () => {
  await planning.setNow('2026-03-10 16:10+00')
  await planning.watch('a', ['yoga'], { every: '4 hours' })
  assert.equal((await planning.plan()).planned, 1)
  await planning.db.sql`update keyword_watch set every = '12 hours'`
  assert.equal((await claim()).kind, 'empty')
  assert.equal((await readReservations(planning.db.sql)).length, 0)
})
