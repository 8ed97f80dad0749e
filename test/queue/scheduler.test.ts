import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { createTask } from 'node-cron'
import { enqueueRun, type Job } from '../../src/queue/job.ts'
import { latestSlot, listNextTicks, startScheduler } from '../../src/queue/scheduler.ts'
import { createWorld, type World } from '../support/world.ts'

let world: World
before(async () => {
  world = await createWorld()
})
afterEach(() => world.db.sql`truncate job_run`)
after(() => world.close())

const matches = (cron: string) => createTask(cron, () => {}, { timezone: 'UTC' })

function jobOf(name: string, fields: Partial<Job> = {}): Job {
  return {
    name,
    description: 'A test.',
    cron: '0 3 * * *',
    catchUp: 'latest',
    timeoutMs: 60_000,
    run: async () => ({}),
    ...fields,
  }
}

async function queuedSlots(job: string): Promise<string[]> {
  const rows = await world.db.sql<{ slot: string }[]>`
    select data->>'slot' as slot from pgboss.job where name = 'job' and data->>'job' = ${job} order by 1`
  return rows.map((row) => row.slot)
}

describe('the latest slot', () => {
  const latest = (cron: string, now: string) =>
    latestSlot(matches(cron), new Date(now))?.toISOString() ?? null

  test('is this very minute when it matches, and otherwise the last one before', () => {
    assert.equal(latest('*/10 * * * *', '2026-11-21T12:40:59.999Z'), '2026-11-21T12:40:00.000Z')
    assert.equal(latest('*/10 * * * *', '2026-11-21T12:39:59.999Z'), '2026-11-21T12:30:00.000Z')
    assert.equal(latest('41 2 * * *', '2026-03-01T02:40:00Z'), '2026-02-28T02:41:00.000Z')
    assert.equal(latest('17 3 * * 1', '2026-11-21T12:00:00Z'), '2026-11-16T03:17:00.000Z')
    assert.equal(latest('0 0 31 * *', '2026-02-10T00:00:00Z'), '2026-01-31T00:00:00.000Z')
  })

  test('is nothing when there was none in a month', () => {
    assert.equal(latest('0 0 29 2 *', '2026-11-21T12:00:00Z'), null)
  })

  test('is by UTC, also on the days when clocks change', () => {
    assert.equal(latest('30 1 * * *', '2026-03-29T01:30:00Z'), '2026-03-29T01:30:00.000Z')
    assert.equal(latest('30 2 * * *', '2026-10-25T02:31:00Z'), '2026-10-25T02:30:00.000Z')
  })

  test('is never in the future, and no slot lies between it and now', () => {
    const minutes = fc.integer({ min: 0, max: 59 })
    fc.assert(
      fc.property(
        minutes,
        fc.date({ min: new Date('2025-01-01'), max: new Date('2027-01-01'), noInvalidDate: true }),
        (minute, now) => {
          const slot = latestSlot(matches(`${minute} * * * *`), now)
          assert.ok(slot !== null && slot <= now)
          assert.ok(now.getTime() - slot.getTime() < 3_600_000)
          assert.equal(slot.getUTCMinutes(), minute)
        },
      ),
      { numRuns: 30 },
    )
  })
})

describe('a slot', () => {
  test('is enqueued once, ever, by however many schedulers at once', async () => {
    const { context } = await world.openRunner()
    const slot = new Date('2026-11-21T03:00:00Z')
    await Promise.all(Array.from({ length: 8 }, () => enqueueRun(world.db, context.queue, 'once', slot)))
    assert.deepEqual(await queuedSlots('once'), [slot.toISOString()])
    await world.db.sql`delete from pgboss.job where name = 'job'`
    await enqueueRun(world.db, context.queue, 'once', slot)
    assert.deepEqual(await queuedSlots('once'), [])
  })

  test('is recorded as missed while the run before it waits', async () => {
    const { context } = await world.openRunner()
    await enqueueRun(world.db, context.queue, 'slow', new Date('2026-11-21T03:00:00Z'))
    await enqueueRun(world.db, context.queue, 'slow', new Date('2026-11-21T04:00:00Z'))
    const runs = await world.db.sql`select state, error from job_run where job = 'slow' order by slot`
    assert.deepEqual(
      [...runs],
      [
        { state: 'waiting', error: null },
        { state: 'missed', error: 'The run before it had not ended.' },
      ],
    )
    assert.equal((await queuedSlots('slow')).length, 1)
  })
})

describe('a start', () => {
  test('of several schedulers at once catches up the latest slot once, and none where the next tick will do', async () => {
    const runners = await Promise.all([world.openRunner(), world.openRunner(), world.openRunner()])
    const jobs = [jobOf('caught-up'), jobOf('left', { catchUp: 'none' })]
    const schedulers = await Promise.all(runners.map(({ context }) => startScheduler(context, jobs)))
    await Promise.all(schedulers.map((scheduler) => scheduler.stop()))
    const slot = latestSlot(matches('0 3 * * *'), new Date())?.toISOString()
    assert.deepEqual(await queuedSlots('caught-up'), [slot])
    assert.deepEqual(await queuedSlots('left'), [])
  })

  test('shows the next tick of each job', () => {
    const [next] = listNextTicks([jobOf('nightly')])
    assert.equal(next?.job, 'nightly')
    assert.ok(next.at !== null && next.at.getTime() > Date.now())
    assert.equal(next.at.toISOString().slice(11), '03:00:00.000Z')
  })
})
