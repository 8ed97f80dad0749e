/**
 * From 80 % on a person should know that money runs short: once a day, and for every budget that there is.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { pino } from 'pino'
import { track } from '../../jobs/track.ts'
import { sql } from '../../src/db/sql.ts'
import { executeJob } from '../../src/queue/job.ts'
import { readBudgets } from '../../src/report/money.ts'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'
import { createWorld } from '../support/world.ts'

const planning = lasting(createPlanning)
beforeEach(async () => {
  await planning.clear()
  await planning.setNow('2026-03-10 13:00+00')
})

const warnings = async (budget: { maxDay?: number; maxMonth?: number } = {}) => {
  const { maxDay = 1_000_000, maxMonth = null } = budget
  const lines = await readBudgets(planning.db, {
    maxDayMicros: maxDay,
    maxMonthMicros: maxMonth,
    maxRunMicros: null,
  })
  return lines.flatMap(({ warning }) => warning ?? [])
}

const account = (fields: Record<string, unknown>) =>
  planning.db.sql`insert into account_usage ${sql.row({
    fetched_at: '2026-03-10 12:00+00',
    login: 'test',
    prices: JSON.stringify([]),
    ...fields,
  })}`

describe('a warning', () => {
  test('names each budget of which 80 % is used, and none of which 79 is', async () => {
    await planning.setBudget('a', { dailyMicros: 1000, monthlyMicros: 1000 })
    await planning.setBudget('b', { dailyMicros: 1010 })
    await planning.spend('a', 800, '2026-03-10 01:00+00')
    await planning.spend('b', 800, '2026-03-10 01:00+00')
    assert.deepEqual(await warnings({ maxDay: 2000, maxMonth: 2001 }), [
      'MAX_USD_PER_DAY: 80 % is used.',
      'project a, day: 80 % is used.',
      'project a, month: 80 % is used.',
    ])
  })

  test('counts what is reserved, and says more than 100 % of a budget that was lowered', async () => {
    await planning.watch('a', ['yoga'])
    await planning.plan()
    await planning.setBudget('a', { dailyMicros: 600 })
    assert.deepEqual(await warnings(), ['project a, day: 200 % is used.'])
  })

  test('counts what the account has spent by its own day', async () => {
    await account({ day_limit_micros: 1000, day_spent_micros: 850 })
    assert.deepEqual(await warnings(), ["the account's limit per day: 85 % is used."])
  })

  test('is not due where nothing may be spent at all', async () => {
    await planning.setBudget('a', { dailyMicros: 0 })
    assert.deepEqual(await warnings({ maxDay: 0 }), [])
  })

  test('of the balance comes when no more is left than yesterday or today cost', async () => {
    const low =
      "What is left of the account's balance is no more than yesterday or today cost: add money to the " +
      'account.'
    await planning.setBudget('a', {})
    await planning.spend('a', 9000, '2026-03-08 23:59:59+00')
    await planning.spend('a', 3000, '2026-03-09 00:00+00')
    await planning.spend('a', 2999, '2026-03-10 00:00+00')
    await account({ balance_micros: 3001 })
    assert.deepEqual(await warnings(), [])
    await planning.spend('a', 2, '2026-03-10 12:30+00')
    assert.deepEqual(await warnings(), [low])
    await account({ balance_micros: 0, fetched_at: '2026-03-10 12:59+00' })
    assert.deepEqual(await warnings(), [low])
  })

  test('of the balance counts among what today costs what was reserved a moment ago', async () => {
    const low =
      "What is left of the account's balance is no more than yesterday or today cost: add money to the " +
      'account.'
    await planning.watch('a', ['yoga'])
    await account({ balance_micros: 2400 })
    assert.deepEqual(await warnings(), [])
    await planning.plan()
    assert.deepEqual(await warnings(), [low])
  })
})

describe('the job `track`', () => {
  const world = lasting(() =>
    createWorld({ settings: { budget: { maxDayMicros: 2400, maxMonthMicros: null, maxRunMicros: null } } }),
  )

  test('logs a warning once a day for each budget, and keeps in its summary which', async () => {
    const logged: unknown[] = []
    const log = pino({ level: 'warn' }, { write: (line) => logged.push(JSON.parse(line).budget) })
    const { context } = await world.openRunner()
    const runTrack = async () => {
      const summary = await executeJob({ ...context, log }, track)
      return typeof summary === 'object' ? summary.warnedOf : null
    }
    const { sql } = world.db
    const watchTwo = (project: string) => sql`
      insert into keyword_watch (project, store, keyword, location_code, language_code)
      values (${project}, 'ios_store', 'yoga', 2840, 'en'), (${project}, 'ios_store', 'chess', 2840, 'en')`
    assert.deepEqual(await runTrack(), [])
    await watchTwo('a')
    assert.deepEqual(await runTrack(), ['MAX_USD_PER_DAY'])
    await sql`update project set daily_usd = 0.0025`
    assert.deepEqual(await runTrack(), ['project a, day'])
    assert.deepEqual(await runTrack(), [])
    assert.deepEqual(logged, ['MAX_USD_PER_DAY', 'project a, day'])

    await sql`update job_run set slot = slot - interval '1 day'`
    assert.deepEqual(await runTrack(), ['MAX_USD_PER_DAY', 'project a, day'])
  })
})
