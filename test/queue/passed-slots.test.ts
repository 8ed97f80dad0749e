/** Which slot of a job is due, and which were missed: pure, whatever the clock does. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createTask } from 'node-cron'
import type { Job } from '../../src/queue/job.ts'
import { findDueAndMissedSlots } from '../../src/queue/scheduler.ts'

/** node-cron's own reading. */
const matches = (cron: string) => {
  const task = createTask(cron, () => {}, { timezone: 'UTC' })
  return (minute: Date) => task.match(minute)
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

  /**
   * Three runners look in turn, each from its own look before unless it is restarted. Returns how far the
   * clock came.
   */
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
})
