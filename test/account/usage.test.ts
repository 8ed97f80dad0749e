import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { track } from '../../jobs/track.ts'
import { recordAccountUsage, refreshAccountBeforePlanning } from '../../src/account/usage.ts'
import { auditDueDays } from '../../src/audit/audit.ts'
import { AccountError, UnavailableError } from '../../src/errors.ts'
import { claimDatabaseFor } from '../../src/ledger/restored.ts'
import { planDueTasks, previewPlan } from '../../src/plan/plan.ts'
import { executeJob } from '../../src/queue/job.ts'
import { forgetAll, readMoney, setServiceClock, watch } from '../post/posting.ts'
import { lasting } from '../support/lasting.ts'
import { insertCharge } from '../support/ledger.ts'
import { tamper } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

/** biome-ignore lint/suspicious/noExplicitAny: whatever the service says */
type Rates = any

const world = lasting(createWorld)
afterEach(() => forgetAll(world))

test('a database belongs to the account that first worked with it, and to no other', async () => {
  await claimDatabaseFor(world.db, 'the account me@example.com')
  await claimDatabaseFor(world.db, 'the account me@example.com')
  await assert.rejects(claimDatabaseFor(world.db, 'the sandbox'), {
    code: 'configuration',
    message: /measured with the account me@example\.com, and must not mix it with the sandbox/,
  })
})

describe('the look before planning', () => {
  let asked: number
  let warnings: string[]
  beforeEach(() => {
    asked = 0
    warnings = []
  })
  const log = pino({ level: 'warn' }, { write: (line) => warnings.push(JSON.parse(line).msg) })

  /** How many tasks the job `track` plans, and how many the budget cuts. */
  const runTrack = async (client = world.client) => {
    const { context } = await world.openRunner()
    const summary = await executeJob({ ...context, client, log }, track)
    assert.ok(typeof summary === 'object')
    return [summary.planned, summary.cut]
  }
  /** Records what an account says, of which the rates are changed. */
  const recordRates = async (t: TestContext, change: (rates: Rates) => void) => {
    const { client } = await tamper(t, world, (path, body) => {
      if (path.endsWith('/user_data')) change(body.tasks[0].result[0].rates)
    })
    await recordAccountUsage(world.db, client)
  }

  /** The service, counting how often the account is asked; with an error it is that answer. */
  const clientThatAnswers = (error?: Error) => ({
    ...world.client,
    getUserData: async () => {
      asked += 1
      if (error !== undefined) throw error
      return world.client.getUserData()
    },
  })
  const look = (error?: Error) =>
    refreshAccountBeforePlanning({ db: world.db, client: clientThatAnswers(error), log })

  test('asks the account when nobody has within five minutes', async () => {
    await look()
    await look()
    assert.equal(asked, 1)
    await world.db.sql`update account_usage set fetched_at = fetched_at - interval '5 minutes'`
    await look()
    assert.equal(asked, 2)
    assert.deepEqual(warnings, [])
  })

  test('of a run that has just asked asks nothing', async () => {
    await recordAccountUsage(world.db, world.client)
    await look()
    assert.equal(asked, 0)
  })

  for (const error of [new UnavailableError('No network.'), new AccountError('Not authorized.')]) {
    test(`that fails with ${error.name} is a warning: the specification's prices hold`, async () => {
      await watch(world, ['yoga'])
      await watch(world, ['chess'], { priority: 2 })
      assert.deepEqual(await runTrack(clientThatAnswers(error)), [2, 0])
      assert.deepEqual([asked, warnings.length], [1, 1])
      assert.deepEqual(await readMoney(world.db), { reserved: 1200 + 2400 })
    })
  }

  test('that fails is no reason to forget what was known', async () => {
    await recordAccountUsage(world.db, world.client)
    await world.db
      .sql`update account_usage set balance_micros = 1200, fetched_at = fetched_at - interval '1 hour'`
    await watch(world, ['yoga', 'chess'])
    assert.deepEqual(await runTrack(clientThatAnswers(new UnavailableError('No network.'))), [1, 1])
  })

  for (const [hours, says] of [
    [-25, /is 1500 minutes ahead of that of the service/],
    [25, /is 1500 minutes behind that of the service/],
  ] as const)
    test(`a service ${hours} hours from our clock is told, and no other day is bought`, async (t) => {
      await watch(world, ['yoga'])
      const plan = async () => {
        await runTrack()
        const [{ message = null } = {}] = await world.db
          .sql`select message from open_work where kind = 'clock'`
        const preview = await previewPlan(world.db, world.settings.budget)
        return { planned: (await readMoney(world.db)).reserved ?? 0, previewed: preview.due, message }
      }
      await setServiceClock(t, world, hours)
      const { message, ...held } = await plan()
      assert.deepEqual(held, { planned: 0, previewed: 0 })
      assert.match(message ?? '', says)
      const audit = auditDueDays(world.db, world.client, 'audit', { overdueAfterMs: 60_000, log })
      await assert.rejects(audit, /Nothing was compared, and the next audit does\. The clock of the database/)
      // When the clock is right again, what it recorded of the future holds nothing up.
      await setServiceClock(t, world, 0)
      await world.db.sql`update account_usage set fetched_at = fetched_at + interval '25 hours'`
      assert.deepEqual(await plan(), { planned: 1200, previewed: 0, message: null })
    })

  test('keeps what is within bounds of an account that says odd numbers, and goes on', async (t) => {
    await recordRates(t, ({ limits, money, price }) => {
      limits.minute.total = 2 ** 31
      money.balance = 1e300
      money.limits.day.total = -1
      price.app_data.app_searches.task_post.priority_normal[0].cost = -1
      price.app_data.app_info.task_post.priority_normal[0].cost = 0.0007
    })
    const [row] = await world.db.sql`
      select balance_micros, day_limit_micros, calls_per_minute_limit from account_usage`
    assert.deepEqual(Object.values(row ?? {}), [null, null, null])
    const prices = await world.db.sql`
      select unit_micros as micros from unit_price
      where store = 'ios_store' and function in ('app_searches', 'app_info') and priority = 1
      order by function`
    assert.deepEqual(
      prices.map(({ micros }) => micros),
      [700, 1200],
    )
    await watch(world, ['yoga'])
    assert.deepEqual(await runTrack(), [1, 0])
  })

  test('of an account that says 0 in every limit knows no limit: all that is due is bought', async (t) => {
    await recordRates(t, (rates) => {
      for (const { day, minute } of [rates.limits, rates.money.limits])
        for (const period of [day, minute]) Object.assign(period, { total: 0, total_app_data: 0 })
    })
    const [row] = await world.db.sql`
      select day_limit_micros, minute_limit_micros, calls_per_minute_limit, calls_allowed(2000)
        from account_usage`
    assert.deepEqual(Object.values(row ?? {}), [null, null, null, 2000])
    await watch(world, ['yoga', 'chess'])
    assert.deepEqual(await runTrack(), [2, 0])
  })

  test('does not hide a mistake of our own', async () => {
    await assert.rejects(look(new TypeError('undefined is not a function')), TypeError)
  })
})

describe('the account', () => {
  const world = lasting(() => createWorld({ sandbox: { balanceUsd: 0.01, costLimitPerDayUsd: 0.5 } }))

  test('reports its balance, its limits and its prices, which become ours', async () => {
    await recordAccountUsage(world.db, world.client)
    const [stored] = await world.db.sql`
      select login, prices, array[balance_micros, day_limit_micros, day_spent_micros,
        calls_per_minute_limit]::int[] as money from account_usage`
    assert.deepEqual([stored?.login, stored?.money], ['sandbox', [10_000, 500_000, 0, 2000]])
    assert.deepEqual(stored?.prices, [
      { function: 'app_searches', normalMicros: 1200, highMicros: 2400 },
      { function: 'app_info', normalMicros: 600, highMicros: 1200 },
      { function: 'app_list', normalMicros: 1200, highMicros: 2400 },
      { function: 'app_reviews', normalMicros: 750, highMicros: 1500 },
    ])
  })

  test('is stamped before it is asked: a charge while the answer travels is no part of it', async () => {
    const { sql: db } = world.db
    await db`insert into project (name) values ('a')`
    const slow = {
      ...world.client,
      getUserData: async () => {
        const answer = await world.client.getUserData()
        await insertCharge(db, { project: 'a', micros: 6000 })
        return answer
      },
    }
    await recordAccountUsage(world.db, slow)
    await db`
      insert into keyword_watch (project, store, keyword, location_code, language_code)
      select 'a', 'ios_store', n::text, 2840, 'en' from generate_series(1, 10) n`
    const plan = await planDueTasks(
      world.db,
      { maxDayMicros: 1_000_000, maxMonthMicros: null, maxRunMicros: null },
      async () => {},
    )
    assert.equal(plan.planned, 3)
  })
})
