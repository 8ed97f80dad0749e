import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { enqueueRun, type Job } from '../../src/queue/job.ts'
import { listNextTicks, startScheduler } from '../../src/queue/scheduler.ts'
import { migrateLater } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { createWorld, until } from '../support/world.ts'

const world = lasting(createWorld)
afterEach(() => world.db.sql`truncate job_run`)

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

const MINUTELY = '* * * * *'
const NOTHING_BEFORE = 'No runner was there to start it.'
const instant = (text: string) => new Date(`2026-11-21T${text}Z`)
const time = (slot: Date | null | undefined) => slot?.toISOString().slice(11, 16) ?? null

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
    await enqueueRun(world.db, context.queue, 'slow', new Date('2026-11-21T05:00:00Z'), true)
    assert.equal((await world.db.sql`select from job_run where job = 'slow'`).count, 2)
    assert.equal((await queuedSlots('slow')).length, 1)
  })
})

describe('a start', () => {
  test('of several schedulers catches up the latest slot once, none where the next tick does', async () => {
    const runners = await Promise.all([world.openRunner(), world.openRunner(), world.openRunner()])
    const jobs = [jobOf('caught-up'), jobOf('left', { catchUp: 'none' })]
    const now = instant('12:00:30')
    const schedulers = await Promise.all(
      runners.map(({ context }) => startScheduler(context, jobs, async () => now)),
    )
    await Promise.all(schedulers.map((scheduler) => scheduler.stop()))
    assert.deepEqual(await queuedSlots('caught-up'), ['2026-11-21T03:00:00.000Z'])
    assert.deepEqual(await queuedSlots('left'), [])
  })

  test('records what passed since the latest slot on record, whatever was run by hand or ahead', async () => {
    const { context } = await world.openRunner()
    await world.db.sql`
      insert into job_run (job, slot, state)
      select 'hourly', slot, 'done' from unnest(${['08:00:00', '09:23:45.678', '23:00:00'].map((text) =>
        instant(text).toISOString(),
      )}::timestamptz[]) slot`
    const jobs = [jobOf('hourly', { cron: '0 * * * *' })]
    const scheduler = await startScheduler(context, jobs, async () => instant('12:00:30'))
    await scheduler.stop()
    const runs = await world.db.sql<{ slot: Date; state: string }[]>`
      select slot, state from job_run where job = 'hourly' and extract(second from slot) = 0 order by slot`
    assert.deepEqual(
      runs.map(({ slot, state }) => `${time(slot)} ${state}`),
      ['08:00 done', '09:00 missed', '10:00 missed', '11:00 missed', '12:00 waiting'],
    )
  })

  test('wakes jobs that a clock which was ahead has put off', async () => {
    const { context } = await world.openRunner()
    await enqueueRun(world.db, context.queue, 'put-off', instant('03:00:00'))
    await world.db.sql`
      update pgboss.job set start_after = now() + interval '10 hours' where data->>'job' = 'put-off'`
    const scheduler = await startScheduler(context, [jobOf('put-off')], async () => instant('12:00:30'))
    await scheduler.stop()
    assert.equal((await world.db.sql`select from pgboss.job where start_after > now()`).count, 0)
  })

  test('does again what failed last, and only where the next tick is not as good', async () => {
    const { context } = await world.openRunner()
    await world.db.sql`
      insert into job_run (job, slot, state)
      select job, ${instant('03:00:00')}, state
      from (values ('mended', 'failed'), ('well', 'done'), ('next-will-do', 'failed')) r (job, state)`
    // The queue tries it again by itself.
    await enqueueRun(world.db, context.queue, 'retried', instant('03:00:00'))
    await world.db.sql`update job_run set state = 'failed' where job = 'retried'`
    const jobs = [
      jobOf('mended'),
      jobOf('well'),
      jobOf('next-will-do', { catchUp: 'none' }),
      jobOf('retried'),
    ]
    const start = async (now: string) =>
      (await startScheduler(context, jobs, async () => instant(now))).stop()
    await start('12:00:30')
    await start('12:05:00')
    assert.deepEqual(await queuedSlots('mended'), ['2026-11-21T12:00:00.000Z'])
    const runs = await world.db.sql`select job from job_run where slot > ${instant('03:00:00')}`
    assert.deepEqual([...runs], [{ job: 'mended' }])
  })

  test('by the database’s clock needs none of the runner’s', async () => {
    const { context } = await world.openRunner()
    const scheduler = await startScheduler(context, [jobOf('real', { cron: MINUTELY })])
    await scheduler.stop()
    const [run] = await world.db.sql`
      select slot > clock_timestamp() - interval '2 minutes' as is_recent,
        slot <= clock_timestamp() as has_begun
      from job_run where job = 'real'`
    assert.deepEqual({ ...run }, { is_recent: true, has_begun: true })
  })

  test('shows the next tick of each job', () => {
    const [next] = listNextTicks([jobOf('nightly')])
    assert.equal(next?.job, 'nightly')
    assert.ok(next.at !== null && next.at.getTime() > Date.now())
    assert.equal(next.at.toISOString().slice(11), '03:00:00.000Z')
  })
})

describe('a scheduler that goes on', () => {
  test('takes leaps and steps back of its clock, and trouble with the database, as they come', async () => {
    const { context } = await world.openRunner()
    // Each look but the last is at the very end of a minute, so that the next one follows at once.
    const looks = [
      instant('12:00:59.990'),
      instant('12:01:59.990'),
      instant('15:00:59.990'),
      instant('14:00:59.990'),
      new Error('The database is away.'),
      instant('15:02:00.000'),
    ]
    const jobs = [jobOf('looked', { cron: '*/30 * * * *' })]
    const scheduler = await startScheduler(context, jobs, async () => {
      const next = looks.shift() ?? instant('15:02:00.001')
      if (next instanceof Error) throw next
      return next
    })
    await until('every look was made', async () => looks.length === 0)
    await scheduler.stop()
    const runs = await world.db.sql<{ slot: Date; state: string; error: string | null }[]>`
      select slot, state, error from job_run where job = 'looked' order by slot`
    assert.deepEqual(
      runs.map(({ slot, state, error }) => `${time(slot)} ${state} ${error ?? ''}`.trim()),
      [
        '12:00 waiting',
        ...['12:30', '13:00', '13:30', '14:00', '14:30'].map((slot) => `${slot} missed ${NOTHING_BEFORE}`),
        // Nobody works the queue here.
        '15:00 missed The run before it had not ended.',
      ],
    )
    assert.deepEqual(await queuedSlots('looked'), ['2026-11-21T12:00:00.000Z'])
  })

  test('runs each slot when it comes, though a clock that was ahead has recorded it', async () => {
    const { context } = await world.openRunner()
    const looks = [instant('12:00:59.990'), instant('23:00:59.990'), instant('12:01:59.990')]
    const scheduler = await startScheduler(
      context,
      [jobOf('set-back', { cron: '*/5 * * * *' })],
      async () => {
        const next = looks.shift() ?? instant('12:05:00.001')
        if (looks.length === 1) await world.db.sql`update job_run set state = 'done' where state = 'waiting'`
        return next
      },
    )
    const isRecorded = async () =>
      (await world.db.sql`select from job_run where job = 'set-back' and slot >= ${instant('12:05:00')}`)
        .count === 1
    await until('the slot that comes is run', isRecorded)
    await scheduler.stop()
  })

  test('does again every tenth minute what has failed meanwhile', async () => {
    const { context } = await world.openRunner()
    await world.db.sql`
      insert into job_run (job, slot, state) values ('weekly', ${instant('12:00:00')}, 'done'),
        ('well', ${instant('12:00:00')}, 'done')`
    const looks = ['06', '07', '08', '09', '10'].map((minute) => instant(`12:${minute}:59.990`))
    const scheduler = await startScheduler(context, [jobOf('weekly'), jobOf('well')], async () => {
      if (looks.length === 4) await world.db.sql`update job_run set state = 'failed' where job = 'weekly'`
      return looks.shift() ?? instant('12:11:00.001')
    })
    await until('every look was made', async () => looks.length === 0)
    await scheduler.stop()
    assert.deepEqual(await queuedSlots('weekly'), ['2026-11-21T12:10:00.000Z'])
    assert.deepEqual(await queuedSlots('well'), [])
  })

  test('is on time when it looks in vain, as while the database is away', async (t) => {
    const { context } = await world.openRunner()
    let presentMs = 0
    t.mock.method(performance, 'now', () => presentMs)
    let looks = 0
    const scheduler = await startScheduler(context, [], async () => {
      looks += 1
      if (looks === 1) return instant('12:00:59.990')
      presentMs = 600_000
      throw new Error('The database is away.')
    })
    await until('it has looked in vain', async () => looks === 2)
    await scheduler.stop()
    assert.equal(scheduler.sinceLookMs(), 0)
  })

  test('ends with a sentence when a newer storerank has migrated the database', async (t) => {
    const { context } = await world.openRunner()
    let looks = 0
    const endOfMinute = async () => new Date(instant('12:00:59.990').getTime() + looks++ * 60_000)
    const scheduler = await startScheduler(context, [jobOf('older', { cron: MINUTELY })], endOfMinute)
    const refused = assert.rejects(scheduler.ended, {
      code: 'configuration',
      message: /while this one was running/,
    })
    t.after(() => world.db.sql`delete from drizzle.__drizzle_migrations where hash = 'later'`)
    await migrateLater(world.db.sql)
    await refused
  })
})
