/** Every budget there is, the days and months that it counts by, and what becomes of what it cut. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { sql } from '../../src/db/sql.ts'
import { lasting } from '../support/lasting.ts'
import { insertCharge, recount, setTimeZone } from '../support/ledger.ts'
import { createPlanning, type Planning } from '../support/planning.ts'

const planning = lasting(createPlanning)
beforeEach(async () => {
  await planning.clear()
  await planning.setNow('2026-03-10 13:00+00')
})

const TEN = Array.from({ length: 10 }, (_, i) => `keyword ${i}`)

/** How many of ten tasks at $0.0012 the plan buys now. */
async function affordable(budget: Parameters<Planning['plan']>[0] = {}): Promise<number> {
  await planning.watch('a', TEN)
  return (await planning.plan(budget)).planned
}

const cuts = () =>
  planning.db.sql<{ reason: string; slot: Date; price_micros: number }[]>`
    select cut as reason, slot, price_micros from due_slot where cut is not null`

describe('money that is spent', () => {
  test('today counts against MAX_USD_PER_DAY, and yesterday does not', async () => {
    await planning.setBudget('b', {})
    await planning.spend('b', 3000, '2026-03-10 00:00+00')
    await planning.spend('b', 9000, '2026-03-09 23:59:59.999+00')
    assert.equal(await affordable({ maxDayMicros: 6000 }), 2)
  })

  test('this month counts against MAX_USD_PER_MONTH, and the month before does not', async () => {
    await planning.setBudget('b', {})
    await planning.spend('b', 3000, '2026-03-01 00:00+00')
    await planning.spend('b', 9000, '2026-02-28 23:59:59.999+00')
    assert.equal(await affordable({ maxMonthMicros: 6000 }), 2)
  })

  test('and given back is there again', async () => {
    await planning.setBudget('a', { dailyMicros: 6000 })
    await planning.spend('a', 6000, '2026-03-10 12:00+00')
    await insertCharge(planning.db.sql, { kind: 'refund', project: 'a', micros: -2400 })
    assert.equal(await affordable(), 2)
  })

  test('counts in every budget alike before it is folded into the totals and after that', async () => {
    const { sql } = planning.db
    await planning.setBudget('a', { dailyMicros: 1_000_000, monthlyMicros: 1_000_000 })
    await sql`
      insert into account_usage (fetched_at, login, balance_micros, prices)
        values ('2026-02-01', 'sandbox', 1000000, '[]')`
    // Once today and twice on the first of the month; each kind of money has a digit of its own.
    const book = () => sql`
      insert into spend (scope, begins_at, ends_at, reserved_micros, charged_micros, refunded_micros,
        duplicate_micros, adjusted_micros, tasks_charged)
      select scope, day, day + interval '1 day', 10000 * times, 2000 * times, -300 * times, 40 * times,
        5 * times, times
      from (select 0 as scope union all select id from project) s
      cross join (values (timestamptz '2026-03-10 00:00+00', 1), ('2026-03-01 00:00+00', 2)) d (day, times)`
    const used = async () => {
      const rows = await sql<{ budget: string; micros: number }[]>`
        select limited_by as budget, used_micros as micros
          from overall_money(storerank_now(), 1000000, 1000000)
        union all select 'day of a', day_micros from project_money(storerank_now())
        union all select 'month of a', month_micros from project_money(storerank_now())`
      return Object.fromEntries(rows.map(({ budget, micros }) => [budget, micros]))
    }
    const fold = () => sql`select fold_spend()`
    for (const times of [1, 2]) {
      const expected = {
        MAX_USD_PER_DAY: times * 11_745,
        MAX_USD_PER_MONTH: times * 35_235,
        "the account's balance": times * 36_120,
        'day of a': times * 11_745,
        'month of a': times * 35_235,
      }
      await book()
      assert.deepEqual(await used(), expected)
      await fold()
      assert.deepEqual(await used(), expected)
    }
  })

  test('or only reserved counts alike, until it is freed', async () => {
    await planning.setBudget('a', { dailyMicros: 6000 })
    assert.equal(await affordable(), 5)
    await planning.watch('a', ['late'])
    assert.equal((await planning.plan()).planned, 0)
    await planning.db.sql`
      update task set state = 'failed' where id in (select id from task order by id limit 1)`
    await recount(planning.db.sql)
    assert.equal((await planning.plan()).planned, 1)
  })
})

describe('a plan', () => {
  test('reserves no more than MAX_USD_PER_RUN over all projects, and the next one goes on', async () => {
    await planning.watch('b', ['yoga', 'chess'], { priority: 2 })
    assert.equal(await affordable({ maxRunMicros: 7200 }), 4)
    const reasons = await cuts()
    assert.deepEqual(new Set(reasons.map(({ reason }) => reason)), new Set(['overall_budget']))
    assert.equal(reasons.length, 8)
    assert.equal((await planning.plan({ maxRunMicros: 7200 })).planned, 6)
    assert.equal((await planning.plan({ maxRunMicros: 7200 })).planned, 2)
    assert.equal((await cuts()).length, 0)
  })
})

describe('the day of a project', () => {
  // 13:00 UTC is the 11th at 03:00 in Kiritimati (+14) and the 10th at 06:00 in Los Angeles (-7).
  const cases = [
    { timezone: 'Pacific/Kiritimati', begins: '2026-03-10 10:00+00' },
    { timezone: 'America/Los_Angeles', begins: '2026-03-10 07:00+00' },
    { timezone: 'UTC', begins: '2026-03-10 00:00+00' },
  ]
  for (const { timezone, begins } of cases) {
    test(`begins at midnight in ${timezone}, where that is its time zone`, async () => {
      await planning.setBudget('a', { dailyMicros: 6000 })
      await setTimeZone(planning.db.sql, timezone)
      await planning.spend('a', 1200, begins)
      await planning.spend('a', 4800, new Date(Date.parse(begins) - 1))
      assert.equal(await affordable(), 4)
    })
  }

  test('has 23 hours where the clocks go forward', async () => {
    await planning.setNow('2026-03-09 03:59+00')
    await planning.setBudget('a', { dailyMicros: 6000 })
    await setTimeZone(planning.db.sql, 'America/New_York')
    await planning.spend('a', 1200, '2026-03-08 05:00+00')
    await planning.spend('a', 4800, '2026-03-08 04:59+00')
    assert.equal(await affordable(), 4)
    await planning.setNow('2026-03-09 04:00+00')
    assert.equal((await planning.plan()).planned, 5)
  })

  test('and its month begin together on the first', async () => {
    await planning.setNow('2026-03-31 10:30+00')
    await planning.setBudget('a', { monthlyMicros: 6000 })
    await setTimeZone(planning.db.sql, 'Pacific/Kiritimati')
    await planning.spend('a', 1200, '2026-03-31 10:00+00')
    await planning.spend('a', 4800, '2026-03-31 09:59+00')
    assert.equal(await affordable(), 4)
  })
})

describe('the account', () => {
  const reported = (fields: Record<string, unknown>) =>
    planning.db.sql`insert into account_usage ${sql.row({
      fetched_at: '2026-03-10 12:00+00',
      login: 'test',
      prices: JSON.stringify([]),
      ...fields,
    })}`

  test('buys no more than its balance, less what was charged since it was asked', async () => {
    await planning.setBudget('b', {})
    await planning.spend('b', 9000, '2026-03-10 11:59+00')
    await reported({ balance_micros: 6000 })
    await planning.spend('b', 1200, '2026-03-10 12:01+00')
    assert.equal(await affordable(), 4)
  })

  test('buys no more than its balance over several plans', async () => {
    await reported({ balance_micros: 6000 })
    assert.equal(await affordable(), 5)
    await planning.watch('a', ['late'])
    assert.equal((await planning.plan()).planned, 0)
  })

  test('buys no more in a day than its own limit, whoever spent it', async () => {
    await reported({ day_limit_micros: 12_000, day_spent_micros: 6000 })
    await planning.setBudget('b', {})
    await planning.spend('b', 2400, '2026-03-10 12:01+00')
    assert.equal(await affordable(), 3)
  })

  test('sets aside what costs more than a minute allows, and leaves the rest to the claims', async () => {
    await reported({ minute_limit_micros: 2400 })
    await planning.watch('a', ['huge'], { depth: 300 })
    assert.equal(await affordable(), 10)
    assert.deepEqual(
      (await cuts()).map(({ reason, price_micros }) => [reason, price_micros]),
      [['dearer_than_overall_budget', 3600]],
    )
  })

  test('forgets at 00:00 UTC what it had spent the day before', async () => {
    await reported({ day_limit_micros: 6000, day_spent_micros: 6000 })
    assert.equal(await affordable(), 0)
    await planning.setNow('2026-03-11 00:00+00')
    assert.equal((await planning.plan()).planned, 5)
  })

  test('sets no limit where it names none, and its latest word holds', async () => {
    await reported({ balance_micros: 0, fetched_at: '2026-03-10 11:00+00' })
    await reported({})
    assert.equal(await affordable(), 10)
  })

  test('is compared without reading what was spent long before, behind the lock of a claim', async () => {
    await reported({ balance_micros: 6000 })
    await planning.setBudget('b', {})
    await planning.db.sql`
      insert into charge (kind, project_id, amount_micros, at, target_id, slot, service_id)
      select 'charge', p.id, 1, timestamptz '2026-03-10 11:00+00' - n * interval '1 second', 0, now(), n::text
      from generate_series(1, 5000) n, project p where p.name = 'b'`
    await recount(planning.db.sql)
    await planning.db.sql`analyze charge`
    const [plan] = await planning.db.sql<{ 'QUERY PLAN': string }[]>`
      explain (analyze, costs off, timing off, summary off, format json)
      select * from overall_money(storerank_now(), 1000000, null) where limited_by = 'the account''s balance'`
    const read = [...JSON.stringify(plan).matchAll(/"(?:Actual Rows|Rows Removed by [\w ]+)":(\d+)/g)]
    assert.ok(Math.max(...read.map(([, rows]) => Number(rows))) < 100)
  })

  test('is asked before the stamp of its answer, so that no charge falls between the two', async () => {
    await reported({ balance_micros: 6000 })
    await planning.setBudget('b', {})
    await planning.spend('b', 6000, '2026-03-10 12:00+00')
    assert.equal(await affordable(), 0)
  })
})

describe('what the budget cut', () => {
  test('says the reason and the price of today', async () => {
    await planning.watch('a', ['yoga'])
    await planning.plan({ maxDayMicros: 0 })
    await planning.setBudget('a', { dailyMicros: 1200 })
    await planning.spend('a', 600, '2026-03-10 12:00+00')
    await planning.db.sql`update keyword_watch set priority = 2`
    await planning.setBudget('a', { dailyMicros: 2400 })
    await planning.plan()
    const [cut] = await cuts()
    assert.deepEqual([cut?.reason, cut?.price_micros], ['project_budget', 2400])
  })

  test('stays open as long as a watch that joined later still has time', async () => {
    await planning.watch('a', ['yoga'], { every: '12 hours' })
    await planning.setNow('2026-03-11 05:00+00')
    await planning.plan({ maxDayMicros: 0 })
    await planning.watch('b', ['yoga'])
    await planning.plan({ maxDayMicros: 0 })
    await planning.setNow('2026-03-11 12:30+00')
    await planning.closeSlots()
    assert.deepEqual(
      (await cuts()).map(({ slot }) => slot.toISOString()),
      ['2026-03-11T00:00:00.000Z'],
    )
    assert.equal((await planning.plan()).planned, 2)
  })

  test('becomes a gap "budget" when its slot ends, and the next slot is due anew', async () => {
    await planning.setBudget('a', { dailyMicros: 0 })
    await planning.watch('a', ['yoga'])
    await planning.plan()
    await planning.setNow('2026-03-11 00:00+00')
    assert.deepEqual(await planning.closeSlots(), { budget: 1, missed: 0 })
    assert.deepEqual([...(await cuts())], [])
    const gaps = await planning.db.sql`select slot, gap, reason from ranking`
    assert.deepEqual(
      [...gaps],
      [{ slot: new Date('2026-03-10'), gap: 'budget', reason: 'dearer_than_project_budget' }],
    )
    assert.equal((await planning.plan()).cut, 1)
    assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
  })
})
