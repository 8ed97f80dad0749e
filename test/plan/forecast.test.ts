/** What watches will cost: the same price, sharing and slots as the plan's, whatever they are. */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import fc from 'fast-check'
import { findBudgetEnd, readForecast } from '../../src/plan/forecast.ts'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'

const planning = lasting(createPlanning)
beforeEach(() => planning.clear())

const HOUR_MS = 3_600_000
const INTERVALS = ['1 hour', '6 hours', '8 hours', '12 hours', '1 day', '2 days', '3 days']

test('is what the plan buys, slot by slot, whoever shares it and however often', async () => {
  const watch = fc.record({
    project: fc.constantFrom('a', 'b', 'c'),
    keyword: fc.constantFrom('yoga', 'calm'),
    store: fc.constantFrom('ios_store', 'android_store'),
    every: fc.constantFrom(...INTERVALS),
    depth: fc.constantFrom(1, 30, 31, 100, 150, 200),
    priority: fc.constantFrom(1, 2),
  })
  const begin = Date.parse('2026-03-02T00:00:00Z')
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(watch, {
        minLength: 1,
        maxLength: 6,
        selector: (w) => `${w.project} ${w.keyword} ${w.store}`,
      }),
      fc.integer({ min: 0, max: 23 }),
      async (watches, hour) => {
        await planning.clear()
        const first = begin + hour * HOUR_MS
        const hours = 30
        await planning.setNow(new Date(first))
        for (const { project, keyword, ...fields } of watches)
          await planning.watch(project, [keyword], fields)
        const expected = await planning.db.sql<{ project: string; micros: number }[]>`
          select project, sum(share_micros * slots)::bigint as micros
          from forecast_lines(${new Date(first + 1).toISOString()}::timestamptz,
            ${new Date(first + hours * HOUR_MS).toISOString()}::timestamptz)
          group by 1 having sum(slots) > 0 order by 1`
        // The slots that run already are bought now, and are none of those that begin later.
        await planning.plan()
        await planning.measure()
        await planning.db.sql`update task set planned_at = '2000-01-01'`
        for (let at = 1; at < hours; at += 1) {
          await planning.setNow(new Date(first + at * HOUR_MS))
          await planning.plan()
          await planning.measure()
        }
        const bought = await planning.db.sql<{ project: string; micros: number }[]>`
          select p.name as project, sum(share_of(k.estimate_micros, cardinality(k.payers),
            y.place))::bigint as micros
          from task k cross join lateral unnest(k.payers) with ordinality y (id, place)
            join project p on p.id = y.id
          where k.slot > ${new Date(first).toISOString()}::timestamptz group by 1 order by 1`
        assert.deepEqual([...bought], [...expected])
      },
    ),
    { numRuns: 3 },
  )
})

test('says what another interval, depth or priority would cost, of a project or a tag alone', async () => {
  await planning.setNow('2026-03-01T12:00:00Z')
  await planning.watch('a', ['yoga', 'calm'], { tags: ['brand'], depth: 50 })
  await planning.watch('a', ['sleep'], { depth: 50 })
  await planning.watch('b', ['yoga'], { depth: 50 })
  const cost = async (question: object) => {
    const { lines, total } = await readForecast(planning.db, question)
    return [
      lines.map(({ project, measurements, monthMicros }) => [project, measurements, monthMicros]),
      total.monthMicros,
    ]
  }
  // 30 days at $0.0012, and yoga is shared.
  const all = 3 * 30 * 1200
  assert.deepEqual(await cost({}), [
    [
      ['a', 90, all - 30 * 600],
      ['b', 30, 30 * 600],
    ],
    all,
  ])
  assert.deepEqual(await cost({ tag: 'brand' }), [[['a', 60, 30 * 1200 + 30 * 600]], all])
  assert.deepEqual(await cost({ tag: 'brand', priority: 2 }), [
    [['a', 60, 2 * (30 * 1200 + 30 * 600)]],
    all + 2 * 30 * 1200,
  ])
  assert.deepEqual(await cost({ project: 'a', depth: 101 }), [[['a', 90, 2 * (all - 30 * 600)]], 2 * all])
  // Of the four slots of a day one is shared.
  assert.deepEqual(await cost({ project: 'b', every: '6 hours' }), [
    [['b', 120, 90 * 1200 + 30 * 600]],
    all + 90 * 1200,
  ])
  assert.equal((await readForecast(planning.db, {})).total.savedMicros, 30 * 1200)
  assert.deepEqual(
    (await readForecast(planning.db, {})).tags.map(({ tag, watches }) => [tag, watches]),
    [['brand', 2]],
  )
})

test('adds up to the same by watch, by line and by day', async () => {
  await planning.setNow('2026-03-01T12:30:00Z')
  await planning.watch('a', ['yoga', 'calm'], { every: '6 hours' })
  await planning.watch('b', ['yoga'], { every: '8 hours', priority: 2 })
  await planning.watch('b', ['sleep'], { every: '7 days' })
  await planning.setBudget('b', { dailyMicros: 1_000_000 })
  const { lines, days, total } = await readForecast(planning.db, {})
  const sum = (micros: readonly number[]) => micros.reduce((a, b) => a + b, 0)
  assert.equal(sum(lines.map((line) => line.monthMicros)), total.monthMicros)
  assert.equal(sum(days.filter(({ scope }) => scope === 0).map((day) => day.micros)), total.monthMicros)
  const ofB = sum(lines.filter(({ project }) => project === 'b').map((line) => line.monthMicros))
  assert.equal(sum(days.filter(({ scope }) => scope !== 0).map((day) => day.micros)), ofB)
  const [row] = await planning.db.sql`select (sum(shared_usd) * 1000000)::bigint as micros from watch_cost`
  assert.equal(row?.micros, total.monthMicros)
})

test('a budget ends on the first day that it does not reach', () => {
  const days = ['2026-03-30', '2026-03-31', '2026-04-01', '2026-04-02'].map((day, n) => ({
    scope: 0,
    day,
    micros: 10 + n,
    mostAtOnce: 1,
  }))
  const end = (period: 'day' | 'month' | 'balance', limitMicros: number, usedMicros: number) => {
    const found = findBudgetEnd({ budget: 'x', scope: 0, period, limitMicros, usedMicros }, days)
    return [found.endsOn, found.dearestMicros]
  }
  assert.deepEqual(end('day', 12, 0), ['2026-04-02', 13])
  assert.deepEqual(end('day', 13, 5), ['2026-03-30', 15])
  assert.deepEqual(end('month', 30, 5), [null, 26])
  assert.deepEqual(end('month', 24, 0), ['2026-04-02', 25])
  assert.deepEqual(end('balance', 50, 20), ['2026-04-01', 66])
  assert.deepEqual(
    findBudgetEnd({ budget: 'x', scope: 7, period: 'day', limitMicros: 1, usedMicros: 0 }, days).endsOn,
    null,
  )
})
