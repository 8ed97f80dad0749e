import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { createTask } from 'node-cron'
import { enqueueRun, type Job } from '../../src/queue/job.ts'
import { findDueAndMissedSlots, listNextTicks, startScheduler } from '../../src/queue/scheduler.ts'
import { migrateLater } from '../support/database.ts'
import { createWorld, until, type World } from '../support/world.ts'

let world: World
before(async () => {
  world = await createWorld()
})
afterEach(() => world.db.sql`truncate job_run`)
after(() => world.close())

/** node-cron's own reading. */
const matches = (cron: string) => {
  const task = createTask(cron, () => {}, { timezone: 'UTC' })
  return (minute: Date) => task.match(minute)
}

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

describe('the first look at a job that was never scheduled', () => {
  const first = (cron: string, now: string, catchUp: Job['catchUp'] = 'latest') => {
    const { due, missed } = findDueAndMissedSlots(catchUp, matches(cron), null, new Date(now))
    assert.deepEqual(missed, [])
    return due?.toISOString() ?? null
  }

  test('takes this very minute when it matches, and otherwise the last one before', () => {
    assert.equal(first('*/10 * * * *', '2026-11-21T12:40:59.999Z'), '2026-11-21T12:40:00.000Z')
    assert.equal(first('*/10 * * * *', '2026-11-21T12:39:59.999Z'), '2026-11-21T12:30:00.000Z')
    assert.equal(first('41 2 * * *', '2026-03-01T02:40:00Z'), '2026-02-28T02:41:00.000Z')
    assert.equal(first('17 3 * * 1', '2026-11-21T12:00:00Z'), '2026-11-16T03:17:00.000Z')
    assert.equal(first('0 0 31 * *', '2026-02-10T00:00:00Z'), '2026-01-31T00:00:00.000Z')
  })

  test('takes nothing when there was none in a month', () => {
    assert.equal(first('0 0 29 2 *', '2026-11-21T12:00:00Z'), null)
  })

  test('goes by UTC, also on the days when clocks change', () => {
    assert.equal(first('30 1 * * *', '2026-03-29T01:30:00Z'), '2026-03-29T01:30:00.000Z')
    assert.equal(first('30 2 * * *', '2026-10-25T02:31:00Z'), '2026-10-25T02:30:00.000Z')
  })

  test('takes only this very minute where nothing is caught up', () => {
    assert.equal(first('*/10 * * * *', '2026-11-21T12:40:59Z', 'none'), '2026-11-21T12:40:00.000Z')
    assert.equal(first('*/10 * * * *', '2026-11-21T12:41:00Z', 'none'), null)
  })
})

describe('a look', () => {
  test('finds nothing new in the same minute', () => {
    const found = findDueAndMissedSlots(
      'latest',
      matches(MINUTELY),
      instant('12:00:00'),
      instant('12:00:59.999'),
    )
    assert.deepEqual(found, { due: null, missed: [] })
  })

  test('after a sleep runs the latest slot, and says of each before it that it was missed', () => {
    const { due, missed } = findDueAndMissedSlots(
      'latest',
      matches('*/10 * * * *'),
      instant('12:00:01'),
      instant('12:39:59'),
    )
    assert.equal(time(due), '12:30')
    assert.deepEqual(
      missed.map(({ slot, reason }) => [time(slot), reason]),
      [
        ['12:20', NOTHING_BEFORE],
        ['12:10', NOTHING_BEFORE],
      ],
    )
  })

  test('after a sleep runs nothing late where the next slot does the work, but says that it was missed', () => {
    const { due, missed } = findDueAndMissedSlots(
      'none',
      matches('*/10 * * * *'),
      instant('12:00:01'),
      instant('12:31:00'),
    )
    assert.equal(due, null)
    assert.deepEqual(
      missed.map(({ slot }) => time(slot)),
      ['12:30', '12:20', '12:10'],
    )
  })

  test('after a month lists the last thousand minutes, and the oldest of them tells of the rest', () => {
    const since = new Date('2026-10-21T12:00:00Z')
    const { due, missed } = findDueAndMissedSlots('latest', matches(MINUTELY), since, instant('12:00:30'))
    assert.equal(time(due), '12:00')
    assert.equal(missed.length, 1000)
    assert.equal(missed.at(-2)?.reason, NOTHING_BEFORE)
    assert.equal(
      missed.at(-1)?.reason,
      `${NOTHING_BEFORE} The earlier ones since 2026-10-21T12:00:00.000Z are not listed one by one.`,
    )
  })

  test('after half a year looks back a month', () => {
    const since = new Date('2026-05-21T12:00:00Z')
    const { due, missed } = findDueAndMissedSlots('latest', matches('0 3 * * 1'), since, instant('12:00:30'))
    assert.equal(due?.toISOString(), '2026-11-16T03:00:00.000Z')
    assert.equal(missed.length, 3)
    assert.match(missed.at(-1)?.reason ?? '', /since 2026-05-21/)
  })
})

describe('whatever the clock does', () => {
  /** What the database holds: each slot once, as it was recorded first. */
  function createLedger(cron: string, catchUp: Job['catchUp']) {
    const recorded = new Map<number, 'run' | 'missed'>()
    const record = (slot: Date, as: 'run' | 'missed') => {
      if (!recorded.has(slot.getTime())) recorded.set(slot.getTime(), as)
    }
    return {
      recorded,
      latestAt: (now: Date) => {
        const reached = [...recorded.keys()].filter((slot) => slot <= now.getTime())
        return reached.length === 0 ? null : new Date(Math.max(...reached))
      },
      look: (before: Date | null, now: Date) => {
        const { due, missed } = findDueAndMissedSlots(catchUp, matches(cron), before, now)
        for (const { slot } of [...missed, ...(due === null ? [] : [{ slot: due }])]) {
          assert.ok(slot <= now, 'no slot of the future')
        }
        for (const { slot } of missed) record(slot, 'missed')
        if (due !== null) record(due, 'run')
      },
    }
  }

  interface Step {
    readonly runner: number
    readonly restarts: boolean
    readonly seconds: number
  }
  const steps: fc.Arbitrary<Step[]> = fc.array(
    fc.record({
      runner: fc.nat({ max: 2 }),
      restarts: fc.boolean(),
      // Mostly a minute as it should be; leaps and steps back of up to four hours.
      seconds: fc.oneof(
        fc.constant(60),
        fc.integer({ min: 0, max: 150 }),
        fc.integer({ min: -14_400, max: 14_400 }),
      ),
    }),
    { minLength: 1, maxLength: 30 },
  )

  const BEGIN = instant('02:41:00')

  /** Three runners look in turn, each from its own look before unless it is restarted. Returns how far the clock came. */
  function play(ledger: ReturnType<typeof createLedger>, looks: readonly Step[]): Date {
    ledger.recorded.set(BEGIN.getTime(), 'run')
    const before = new Map<number, Date>()
    let now = BEGIN.getTime()
    let furthest = now
    for (const { runner, restarts, seconds } of looks) {
      now = Math.max(BEGIN.getTime(), now + seconds * 1000)
      furthest = Math.max(furthest, now)
      if (restarts) before.delete(runner)
      ledger.look(before.get(runner) ?? ledger.latestAt(new Date(now)), new Date(now))
      before.set(runner, new Date(now))
    }
    return new Date(furthest)
  }

  for (const catchUp of ['latest', 'none'] as const) {
    test(`each slot of a job with ${catchUp} is run or missed exactly once, and none is jumped over`, () => {
      const crons = fc.constantFrom(MINUTELY, '*/10 * * * *', '7 * * * *', '41 2 * * *')
      fc.assert(
        fc.property(crons, steps, (cron, looks) => {
          const ledger = createLedger(cron, catchUp)
          const furthest = play(ledger, looks)
          const isSlot = matches(cron)
          for (let minute = BEGIN.getTime() + 60_000; minute <= furthest.getTime(); minute += 60_000) {
            assert.equal(
              ledger.recorded.has(minute),
              isSlot(new Date(minute)),
              new Date(minute).toISOString(),
            )
          }
        }),
        { numRuns: 60 },
      )
    })
  }

  test('a minute as it should be runs every slot, and misses none', () => {
    const ledger = createLedger(MINUTELY, 'none')
    for (let minute = 0; minute < 60; minute += 1) {
      const now = instant(`12:${String(minute).padStart(2, '0')}:00.012`)
      ledger.look(minute === 0 ? null : new Date(now.getTime() - 60_000), now)
    }
    assert.equal(ledger.recorded.size, 60)
    assert.ok([...ledger.recorded.values()].every((as) => as === 'run'))
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

  test('has a job whose id follows from its job and its instant', async () => {
    const { context } = await world.openRunner()
    const idOf = async (job: string, slot: string) => {
      await world.db.sql`truncate job_run`
      await world.db.sql`delete from pgboss.job where name = 'job'`
      await enqueueRun(world.db, context.queue, job, instant(slot))
      const [row] = await world.db.sql<{ id: string }[]>`select id from pgboss.job where name = 'job'`
      return row?.id
    }
    const id = await idOf('a', '03:00:00')
    assert.equal(await idOf('a', '03:00:00'), id)
    assert.notEqual(await idOf('b', '03:00:00'), id)
    assert.notEqual(await idOf('a', '03:01:00'), id)
    await world.db.sql`delete from pgboss.job where name = 'job'`
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
    const now = instant('12:00:30')
    const schedulers = await Promise.all(
      runners.map(({ context }) => startScheduler(context, jobs, async () => now)),
    )
    await Promise.all(schedulers.map((scheduler) => scheduler.stop()))
    assert.deepEqual(await queuedSlots('caught-up'), ['2026-11-21T03:00:00.000Z'])
    assert.deepEqual(await queuedSlots('left'), [])
  })

  test('records what passed since the latest slot on record, whatever was run by hand or by a clock ahead meanwhile', async () => {
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
      ['08:00 done', '09:00 missed', '10:00 missed', '11:00 missed', '12:00 waiting', '23:00 done'],
    )
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
      select slot > clock_timestamp() - interval '2 minutes' as is_recent, slot <= clock_timestamp() as has_begun
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

  test('does again every tenth minute what has failed meanwhile', async () => {
    const { context } = await world.openRunner()
    await world.db.sql`
      insert into job_run (job, slot, state) values ('weekly', ${instant('12:00:00')}, 'done'), ('well', ${instant('12:00:00')}, 'done')`
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
