/**
 * What ended without a measurement: one row each with its reason, for whatever was owed and for nothing else.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Database } from '../../src/db/database.ts'
import { type ClosedSlots, closeEndedSlots } from '../../src/history/close-slots.ts'
import { lasting } from '../support/lasting.ts'
import { readReservations, readSpendDifferences, recount } from '../support/ledger.ts'
import { createPlanning } from '../support/planning.ts'

const HOUR_MS = 3_600_000
const ORIGIN_MS = Date.UTC(2001, 0, 1)
const START = '2026-03-10 13:00+00'

const planning = lasting(createPlanning)
beforeEach(async () => {
  await planning.clear()
  await planning.setNow(START)
})

const gaps = async () => [
  ...(await planning.db.sql<{ subject: string; slot: string; gap: string; reason: string }[]>`
    select t.subject, to_char(h.slot at time zone 'UTC', 'MM-DD HH24') as slot, h.gap, h.reason
    from (select target_id, slot, gap, reason from ranking union all select target_id, slot, gap, reason
      from app_snapshot) h
    join target t on t.id = h.target_id
    where h.gap is not null
    order by 1, h.slot`),
]

/** The slots of the gaps. */
const slotsOfGaps = async () => (await gaps()).map(({ slot }) => slot).join(', ')

const unwatch = (keyword = 'yoga') => planning.db.sql`delete from keyword_watch where keyword = ${keyword}`
const changeEvery = (every: string, keyword = 'yoga') => planning.db.sql`
  update keyword_watch set every = ${every}::interval where keyword = ${keyword}`

/** The slots of a watch that began and ended at these instants, and were over by then. */
function slotsOver(everyHours: number, fromMs: number, toMs: number): number[] {
  const everyMs = everyHours * HOUR_MS
  const first = fromMs - ((fromMs - ORIGIN_MS) % everyMs)
  const count = Math.max(0, Math.floor((toMs - first) / everyMs))
  return Array.from({ length: count }, (_, i) => first + i * everyMs)
}

describe('a downtime', () => {
  test('of a year is closed by one statement, a row for each slot over every edge of a month', async () => {
    await planning.setNow('2025-11-20 13:00+00')
    await planning.watch('a', ['daily'])
    await planning.watch('b', ['daily'], { every: '6 hours' })
    await planning.watch('a', ['weekly'], { every: '7 days' })
    await planning.db.sql`insert into app_watch (project, store, app_id, info, location_code, language_code)
      values ('a', 'ios_store', '1001', true, 2840, 'en')`
    await planning.setNow('2026-11-21 00:00+00')

    const closed = await planning.closeSlots()
    const [counted] = await planning.db.sql`
      select count(*) filter (where t.subject = 'daily') as daily, count(*)
        filter (where t.subject = 'weekly') as weekly,
        count(distinct date_trunc('month', slot, 'UTC')) as months, count(*) as all, min(r.slot) as first,
          max(r.slot) as last
      from ranking r join target t on t.id = r.target_id where r.gap = 'missed'
        and reason = 'Nothing ran while it was due.'`
    const from = Date.UTC(2025, 10, 20, 13)
    const to = Date.UTC(2026, 10, 21)
    const daily = new Set([...slotsOver(24, from, to), ...slotsOver(6, from, to)])
    const weekly = slotsOver(168, from, to)
    assert.deepEqual(counted, {
      daily: daily.size,
      weekly: weekly.length,
      months: 13,
      all: daily.size + weekly.length,
      first: new Date(Math.min(...weekly)),
      last: new Date(Math.max(...daily)),
    })
    const described = (await planning.db.sql`select from app_snapshot where gap = 'missed'`).count
    assert.equal(described, slotsOver(24, from, to).length)
    assert.deepEqual(closed, { budget: 0, missed: daily.size + weekly.length + described })
    assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
  })

  test('is closed alike however often anything ran in between, whenever the watch ended', async () => {
    const step = fc.integer({ min: 0, max: 100 * 60 })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(1, 6, 12, 24, 72, 168),
        fc.integer({ min: 0, max: 60 * 24 * 365 }),
        fc.array(step, { maxLength: 6 }),
        fc.option(fc.nat({ max: 5 })),
        async (everyHours, startMinute, stepMinutes, endsAfter) => {
          await planning.clear()
          const startMs = Date.UTC(2026, 0, 1) + startMinute * 60_000
          await planning.setNow(new Date(startMs))
          await planning.watch('a', ['yoga'], { every: `${everyHours} hours` })
          let nowMs = startMs
          let endMs = Number.POSITIVE_INFINITY
          for (const [i, minutes] of stepMinutes.entries()) {
            nowMs += minutes * 60_000
            await planning.setNow(new Date(nowMs))
            if (i === endsAfter) {
              await unwatch()
              endMs = nowMs
            } else {
              await planning.closeSlots()
            }
          }
          await planning.closeSlots()
          const rows = await planning.db.sql<{ slot: Date }[]>`select slot from ranking order by slot`
          assert.deepEqual(
            rows.map(({ slot }) => slot.getTime()),
            slotsOver(everyHours, startMs, Math.min(nowMs, endMs)),
          )
        },
      ),
      { numRuns: 6 },
    )
  })

  test('over a change of the clocks is closed on the grid, in any time zone of the database', async () => {
    const name = new URL(planning.db.url).pathname.slice(1)
    await planning.db.sql.unsafe(`alter database ${name} set timezone = 'America/New_York'`)
    const elsewhere = planning.openAnother()
    await planning.setNow('2026-10-30 13:00+00')
    await planning.watch('a', ['yoga'])
    await elsewhere.sql`select set_config('storerank.now', '2026-11-03 13:00+00', false)`
    await closeEndedSlots(elsewhere)
    assert.equal(await slotsOfGaps(), '10-30 00, 10-31 00, 11-01 00, 11-02 00')
    await planning.db.sql.unsafe(`alter database ${name} reset timezone`)
  })
})

describe('a slot that ended', () => {
  test('is closed among its own kind: lists as rankings, details and reviews as snapshots', async () => {
    await planning.watch('a', ['yoga'])
    await planning.db.sql`insert into chart_watch (project, collection, location_code, language_code)
      values ('a', 'topselling_free', 2840, 'en')`
    await planning.db
      .sql`insert into app_watch (project, store, app_id, info, reviews, location_code, language_code)
      values ('a', 'ios_store', '1001', true, true, 2840, 'en')`
    await planning.setNow('2026-03-11 00:00+00')
    assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 4 })
    const functionsIn = async (table: string) => {
      const query = `select t.function from ${table} h join target t on t.id = h.target_id order by 1`
      return (await planning.db.sql.unsafe<{ function: string }[]>(query)).map((row) => row.function)
    }
    assert.deepEqual(await functionsIn('ranking'), ['app_list', 'app_searches'])
    assert.deepEqual(await functionsIn('app_snapshot'), ['app_info', 'app_reviews'])
    assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
  })

  test('while its task was planned is missed, says what held it up, and frees its money', async () => {
    await planning.watch('a', ['yoga'])
    await planning.plan()
    await planning.db.sql`
      insert into post (store, function, problem) values ('ios_store', 'app_searches',
        'Not sent: the service is down.')`
    await planning.db.sql`update task set post_id = (select id from post where problem is not null)`
    await planning.setNow('2026-03-11 00:00+00')
    assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 1 })
    assert.deepEqual(await gaps(), [
      {
        subject: 'yoga',
        slot: '03-10 00',
        gap: 'missed',
        reason: 'It was planned, but its slot ended before it could be sent. Not sent: the service is down.',
      },
    ])
    assert.equal((await planning.db.sql`select from task`).count, 0)
    assert.deepEqual(await readReservations(planning.db.sql), [])
    assert.deepEqual(await readSpendDifferences(planning.db.sql), [])
    assert.equal((await planning.plan()).planned, 1)
  })

  test('while its task waited for another attempt has failed: the service had its chance', async () => {
    await planning.watch('a', ['yoga'])
    await planning.plan()
    await planning.db.sql`
      update task set attempt = 2, status_code = 40101, problem = 'Internal SE server error.', post_id = null`
    await planning.setNow('2026-03-11 00:00+00')
    await planning.closeSlots()
    const [gap] = await gaps()
    assert.equal(gap?.gap, 'failed')
    assert.match(gap?.reason ?? '', /Internal SE server error/)
  })

  for (const state of ['posting', 'posted']) {
    test(`while its task was ${state} stays open, for what is paid for is still awaited`, async () => {
      await planning.watch('a', ['yoga'])
      await planning.plan()
      await planning.db.sql`update task set state = ${state}`
      await recount(planning.db.sql)
      const reserved = await readReservations(planning.db.sql)
      assert.equal(reserved.length, state === 'posting' ? 1 : 0)
      await planning.setNow('2026-03-13 12:00+00')
      assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 2 })
      assert.equal(await slotsOfGaps(), '03-11 00, 03-12 00')
      const [{ slot } = { slot: null }] = await planning.db.sql`select slot from task`
      assert.deepEqual(slot, new Date('2026-03-10'))
      assert.deepEqual(await readReservations(planning.db.sql), reserved)
      assert.deepEqual(await readSpendDifferences(planning.db.sql), [])
    })
  }

  test('is not missed where it was measured or has failed', async () => {
    await planning.watch('a', ['yoga', 'zen'])
    await planning.plan()
    await planning.db.sql`
      update task set state = 'failed', problem = 'refused'
      where target_id = (select id from target where subject = 'zen')`
    await planning.measure()
    await planning.setNow('2026-03-11 12:00+00')
    assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
    assert.deepEqual(await gaps(), [{ subject: 'zen', slot: '03-10 00', gap: 'failed', reason: 'refused' }])
  })

  test('for one watch and still runs for another is measured yet, and not missed', async () => {
    await planning.watch('a', ['yoga'], { every: '6 hours' })
    await planning.watch('b', ['yoga'])
    await planning.setNow('2026-03-11 07:00+00')
    await planning.closeSlots()
    assert.equal(await slotsOfGaps(), '03-10 00, 03-10 12, 03-10 18')
    assert.equal((await planning.plan()).planned, 2)
    await planning.measure()
    await planning.setNow('2026-03-12 00:00+00')
    await planning.closeSlots()
    const measured = await planning.db.sql`
      select to_char(slot at time zone 'UTC', 'MM-DD HH24') as slot from ranking where gap is null order by 1`
    assert.deepEqual([...measured], [{ slot: '03-11 00' }, { slot: '03-11 06' }])
  })

  test('for one watch and still runs for others is closed in transactions that stay small', async () => {
    await planning.watch('a', ['yoga', 'zen', 'tai chi'], { every: '1 hour' })
    await planning.watch('b', ['yoga', 'zen', 'tai chi'])
    await planning.setNow('2026-03-11 04:00+00')
    const written: number[] = []
    const counted: Database['begin'] = async (work, options) => {
      const closed = await planning.db.begin(work, options)
      if (options?.name === 'Closing the slots') written.push((closed as ClosedSlots).missed ?? closed)
      return closed
    }
    await closeEndedSlots({ ...planning.db, begin: counted }, 4)
    // Of each target the day before, eleven hours of it and three of today; the slot of midnight runs.
    assert.equal((await gaps()).length, 3 * 15)
    assert.ok(Math.max(...written) <= 4, written.join())
  })

  const ways = {
    'nobody had planned it': async () => {},
    'it was planned': async () => {
      await planning.plan()
    },
    'the budget had cut it': async () => {
      await planning.plan({ maxDayMicros: 0 })
    },
  }
  for (const [way, decide] of Object.entries(ways)) {
    test(`for one watch has its row also when the other one, for which it ran, goes: ${way}`, async () => {
      await planning.setNow('2026-03-11 01:00+00')
      await planning.watch('a', ['yoga'], { every: '6 hours' })
      await planning.watch('b', ['yoga'])
      await decide()
      await planning.setNow('2026-03-11 07:00+00')
      await planning.closeSlots()
      await planning.setNow('2026-03-11 08:00+00')
      await unwatch()
      await planning.dropStale()
      await planning.setNow('2026-03-13 00:00+00')
      await planning.closeSlots()
      assert.equal(await slotsOfGaps(), '03-11 00')
      assert.equal((await planning.db.sql`select from task where state = 'dropped'`).count, 0)
    })
  }

  test('whose task a claim dropped is missed; the task stays only when it was sent before', async () => {
    await planning.watch('a', ['sent', 'unsent'])
    await planning.plan()
    await planning.db.sql`
      update task set attempt = case (select subject from target t where t.id = target_id) when 'sent' then 2
        else 1 end`
    await planning.setNow('2026-03-11 00:00+00')
    await planning.dropStale()
    assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 2 })
    const tasks = () => planning.db.sql`
      select t.subject, k.state, k.ended_at is not null as ended from task k
        join target t on t.id = k.target_id`
    assert.deepEqual([...(await tasks())], [{ subject: 'sent', state: 'dropped', ended: true }])
    assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
    assert.deepEqual([...(await tasks())], [{ subject: 'sent', state: 'dropped', ended: true }])
    assert.deepEqual(await readSpendDifferences(planning.db.sql), [])
  })
})

describe('a watch that was added and deleted within a slot', () => {
  test('owes nothing', async () => {
    await planning.watch('a', ['yoga'])
    await planning.setNow('2026-03-10 23:59:59+00')
    await unwatch()
    await planning.setNow('2026-03-12 12:00+00')
    assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
  })

  test('owes nothing when it was planned, and its money is free', async () => {
    await planning.watch('a', ['yoga'])
    await planning.plan()
    await unwatch()
    await planning.setNow('2026-03-12 12:00+00')
    assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
    assert.equal((await planning.db.sql`select from task`).count, 0)
    assert.deepEqual(await readReservations(planning.db.sql), [])
    assert.deepEqual(await readSpendDifferences(planning.db.sql), [])
  })

  test('owes nothing when the budget cut it', async () => {
    await planning.watch('a', ['yoga'])
    await planning.plan({ maxDayMicros: 0 })
    await unwatch()
    await planning.setNow('2026-03-12 12:00+00')
    assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
    assert.equal((await planning.db.sql`select from due_slot`).count, 0)
  })

  test('owes the slots that ended in between', async () => {
    await planning.watch('a', ['yoga'])
    await planning.setNow('2026-03-12 00:00+00')
    await unwatch()
    await planning.setNow('2026-04-12 12:00+00')
    assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 2 })
    assert.equal(await slotsOfGaps(), '03-10 00, 03-11 00')
  })
})

describe('a change of `every`', () => {
  /** A runner that wakes after each of so many hours, and measures at once what is due. */
  async function runEvery(hours: number, until: number, at: (hour: number) => Promise<void>): Promise<void> {
    for (let hour = 0; hour <= until; hour += hours) {
      await planning.setNow(new Date(Date.parse(START) + hour * HOUR_MS))
      await at(hour)
      await planning.closeSlots()
      await planning.plan()
      await planning.measure()
    }
  }

  test('from daily to 6-hourly, to daily and back makes no false gap, and no slot twice', async () => {
    await planning.watch('a', ['yoga'])
    const changes = new Map([
      [30, '6 hours'],
      [57, '1 day'],
      [81, '6 hours'],
    ])
    await runEvery(3, 96, async (hour) => {
      const every = changes.get(hour)
      if (every !== undefined) await changeEvery(every)
    })
    assert.deepEqual(await gaps(), [])
    const slots = await planning.db.sql<{ slot: string; outcome: string | null }[]>`
      select to_char(slot at time zone 'UTC', 'DD HH24') as slot, gap as outcome from ranking_slot order by 1`
    assert.equal(
      slots.map(({ slot, outcome }) => (outcome === null ? slot : `${slot} ${outcome}`)).join(', '),
      '10 00, 11 00, 11 18, 12 00, 12 06, 12 12, 12 18, 13 00, 13 18, 14 00, 14 06, 14 12',
    )
  })

  test('at any hour, to anything, makes no gap while somebody measures what is due', async () => {
    const every = fc.constantFrom('1 hour', '2 hours', '6 hours', '8 hours', '12 hours', '1 day', '2 days')
    const changes = fc.array(fc.tuple(fc.integer({ min: 0, max: 35 }), every), { maxLength: 4 })
    const watches = fc.array(fc.record({ every, changes }), { minLength: 6, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(watches, async (asked) => {
        await planning.clear()
        await planning.setNow(START)
        for (const [n, { every }] of asked.entries()) await planning.watch('a', [`yoga ${n}`], { every })
        await runEvery(1, 36, async (hour) => {
          for (const [n, { changes }] of asked.entries())
            for (const [at, next] of changes) if (at === hour) await changeEvery(next, `yoga ${n}`)
        })
        assert.deepEqual(await gaps(), [])
        const [twice] = await planning.db
          .sql`select count(*) - count(distinct (target_id, slot)) as more from ranking_slot`
        assert.equal(twice?.more, 0)
      }),
      { numRuns: 1 },
    )
  })

  test('while nothing ran owes each slot to the watch as it was then', async () => {
    await planning.watch('a', ['yoga'])
    await planning.setNow('2026-03-12 13:00+00')
    await changeEvery('6 hours')
    await planning.setNow('2026-03-13 07:00+00')
    await planning.closeSlots()
    assert.equal(await slotsOfGaps(), '03-10 00, 03-11 00, 03-12 12, 03-12 18, 03-13 00')
  })
})
