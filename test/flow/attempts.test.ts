/**
 * The store fails for minutes or hours: attempts are spread over the slot, and a run does not wait for them.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { JOBS } from '../../jobs/index.ts'
import { describeWaiting } from '../../src/cli/run-report.ts'
import { closeEndedSlots } from '../../src/history/close-slots.ts'
import { type CycleResult, runCycle } from '../../src/queue/cycle.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { countStates, forgetAll, readMoney, readOwnBooks, runAt, watch } from '../post/posting.ts'
import { putFaults } from '../support/faults.ts'
import { lasting } from '../support/lasting.ts'
import { readSpendDifferences } from '../support/ledger.ts'
import { buy, collect } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const world = lasting(createWorld)
beforeEach(async () => {
  await forgetAll(world)
  await putFaults(world.sandboxUrl, {})
})

const DAY = '2026-05-04T'

/** A run as cron starts it, at that time of the day. */
async function cycleAt(time: string): Promise<CycleResult['outstanding']> {
  await world.setNow(`${DAY}${time}Z`)
  const { context, stop } = await world.openRunner()
  const options = { waitMs: 60_000, onPhase: () => {}, onProgress: () => {} }
  const { outstanding } = await runCycle(context, await startRunner(context, []), JOBS, options)
  await stop()
  return outstanding
}

/** Begins to follow keywords, as a person does at that time of the day. */
async function watchAt(time: string, keywords: readonly string[]): Promise<void> {
  await runAt(world, `${DAY}${time}Z`, (db) => watch({ ...world, db }, keywords))
}

/** Buys and collects without a queue; when the next attempt may be made. */
async function tryAt(time: string): Promise<string | undefined> {
  await runAt(world, `${DAY}${time}Z`, async (db) => {
    await buy(world, { db })
    await collect(world, { db })
  })
  const [next] = await world.db.sql<{ at: Date }[]>`select not_before as at from task where state = 'planned'`
  return next?.at.toISOString()
}

describe('a run while the store fails', () => {
  test('ends, and says how many tasks wait for another attempt until when; the next go on', async () => {
    await watchAt('00:00:00', ['yoga', 'pilates'])
    await putFaults(world.sandboxUrl, { storeBurst: { rate: 1 } })
    const first = await cycleAt('00:00:00')
    assert.deepEqual([first.planned, first.waiting], [0, 2])
    assert.equal(
      describeWaiting(first),
      '2 tasks that the store failed wait for another attempt, the first at 2026-05-04 00:05:00Z; a ' +
        'run after that posts them.',
    )
    assert.deepEqual(await readMoney(world.db), { charge: 2400, reserved: 2400 })
    // Too early for another attempt.
    assert.equal((await cycleAt('00:04:59')).waiting, 2)
    assert.equal((await readOwnBooks(world)).length, 2)
    const second = await cycleAt('00:06:00')
    assert.equal(second.nextAttemptAt?.toISOString(), `${DAY}02:06:00.000Z`)
    assert.equal((await readOwnBooks(world)).length, 4)
    await putFaults(world.sandboxUrl, {})
    assert.equal((await cycleAt('01:00:00')).waiting, 2)
    const last = await cycleAt('02:06:00')
    assert.deepEqual([last.waiting, describeWaiting(last)], [0, null])
    // Of a post whose ids are doubted no task is unknown.
    assert.equal(describeWaiting({ ...last, unknownPosts: 1 }), null)
    assert.deepEqual(await countStates(world.db), { collected: 2 })
    assert.deepEqual(await readMoney(world.db), { charge: 7200 })
    assert.deepEqual(await readSpendDifferences(world.db.sql), [])
  })

  test('makes its attempts in half of what is left of the slot, and no more than it may', async () => {
    await watchAt('23:00:00', ['yoga'])
    await putFaults(world.sandboxUrl, { storeBurst: { rate: 1 } })
    assert.equal(await tryAt('23:56:00'), `${DAY}23:58:00.000Z`)
    assert.equal(await tryAt('23:58:00'), `${DAY}23:59:00.000Z`)
    assert.equal(await tryAt('23:59:30'), undefined)
    assert.deepEqual(await countStates(world.db), { failed: 1 })
    assert.equal((await readOwnBooks(world)).length, 3)
  })

  test('leaves a gap that says why, when the slot ends while tasks wait', async () => {
    await watchAt('12:00:00', ['yoga'])
    await putFaults(world.sandboxUrl, { storeBurst: { rate: 1 } })
    assert.notEqual(await tryAt('12:00:00'), undefined)
    await world.db.sql`update keyword_watch set enabled = false`
    await runAt(world, '2026-05-05T00:10:00Z', (db) => closeEndedSlots(db))
    const [gap] = await world.db.sql`select gap, reason from ranking`
    assert.equal(gap?.gap, 'failed')
    assert.match(gap?.reason, /its slot ended before it could be sent\. 40101/)
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
  })
})
