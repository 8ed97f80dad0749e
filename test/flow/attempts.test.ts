/**
 * The store fails for minutes or hours: attempts are spread over the slot, and a run does not wait for them.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { JOBS } from '../../jobs/index.ts'
import { describeWaiting } from '../../src/cli/outstanding.ts'
import { type CycleResult, runCycle } from '../../src/queue/cycle.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { countStates, forgetAll, readMoney, readOwnBooks, watch } from '../post/posting.ts'
import { putFaults } from '../support/faults.ts'
import { lasting } from '../support/lasting.ts'
import { readSpendDifferences } from '../support/ledger.ts'
import { createWorld } from '../support/world.ts'

const world = lasting(createWorld)
beforeEach(async () => {
  await forgetAll(world)
  await putFaults(world.sandboxUrl, {})
})

const DAY = '2026-05-04T'

/** A run as cron starts it, at that time of the day. */
async function runAt(time: string): Promise<CycleResult['outstanding']> {
  await world.setNow(`${DAY}${time}Z`)
  const { context, stop } = await world.openRunner()
  const options = { waitMs: 60_000, onPhase: () => {}, onProgress: () => {} }
  const { outstanding } = await runCycle(context, await startRunner(context, []), JOBS, options)
  await stop()
  return outstanding
}

/** Begins to follow keywords, as a person does at that time of the day. */
async function watchAt(time: string, keywords: readonly string[]): Promise<void> {
  const { sql } = world.db
  await world.setNow(`${DAY}${time}Z`)
  await world.db.begin(async (tx) => {
    await tx`select set_config('storerank.now', ${`${DAY}${time}Z`}, true)`
    await watch({ ...world, db: { ...world.db, sql: tx as unknown as typeof sql } }, keywords)
  })
}

describe('a run while the store fails', () => {
  test('ends, and says how many tasks wait for another attempt until when; the next go on', async () => {
    await watchAt('00:00:00', ['yoga', 'pilates'])
    await putFaults(world.sandboxUrl, { storeBurst: { rate: 1 } })
    const first = await runAt('00:00:00')
    assert.deepEqual([first.planned, first.waiting], [0, 2])
    assert.equal(
      describeWaiting(first),
      '2 tasks that the store failed wait for another attempt, the first at 2026-05-04 00:05:00Z; a ' +
        'run after that posts them.',
    )
    assert.deepEqual(await readMoney(world.db), { charge: 2400, reserved: 2400 })
    // Too early for another attempt.
    assert.equal((await runAt('00:04:59')).waiting, 2)
    assert.equal((await readOwnBooks(world)).length, 2)
    const second = await runAt('00:06:00')
    assert.equal(second.nextAttemptAt?.toISOString(), `${DAY}02:06:00.000Z`)
    assert.equal((await readOwnBooks(world)).length, 4)
    await putFaults(world.sandboxUrl, {})
    assert.equal((await runAt('01:00:00')).waiting, 2)
    const last = await runAt('02:06:00')
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
    assert.equal((await runAt('23:56:00')).nextAttemptAt?.toISOString(), `${DAY}23:58:00.000Z`)
    assert.equal((await runAt('23:58:00')).nextAttemptAt?.toISOString(), `${DAY}23:59:00.000Z`)
    assert.equal((await runAt('23:59:30')).waiting, 0)
    assert.deepEqual(await countStates(world.db), { failed: 1 })
    assert.equal((await readOwnBooks(world)).length, 3)
  })

  test('leaves a gap that says why, when the slot ends while tasks wait', async () => {
    await watchAt('12:00:00', ['yoga'])
    await putFaults(world.sandboxUrl, { storeBurst: { rate: 1 } })
    assert.equal((await runAt('12:00:00')).waiting, 1)
    await world.db.sql`update keyword_watch set enabled = false`
    await world.setNow('2026-05-05T00:10:00Z')
    const { context, stop } = await world.openRunner()
    const options = { waitMs: 60_000, onPhase: () => {}, onProgress: () => {} }
    await runCycle(context, await startRunner(context, []), JOBS, options)
    await stop()
    const [gap] = await world.db.sql`select gap, reason from ranking`
    assert.equal(gap?.gap, 'failed')
    assert.match(gap?.reason, /its slot ended before it could be sent\. 40101/)
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
  })
})
