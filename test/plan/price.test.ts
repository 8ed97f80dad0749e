/** Prices: the account's own list where it has one, else the specification's. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { recordAccountUsage } from '../../src/plan/account.ts'
import { planDueTasks } from '../../src/plan/plan.ts'
import { accountPrices, priceList, readPrices } from '../../src/plan/price.ts'
import { createWorld, type World } from '../support/world.ts'

describe('the price list', () => {
  const of = (prices: ReturnType<typeof priceList>, store: string, name: string) => {
    const { normalMicros, highMicros, billingUnitResults } =
      prices.find((price) => price.store === store && price.function === name) ?? {}
    return [normalMicros, highMicros, billingUnitResults]
  }

  test("is the specification's while the account's is unknown", () => {
    const prices = priceList([])
    assert.deepEqual(of(prices, 'ios_store', 'app_searches'), [1200, 2400, 100])
    assert.deepEqual(of(prices, 'android_store', 'app_searches'), [1200, 2400, 30])
    assert.deepEqual(of(prices, 'ios_store', 'app_info'), [600, 1200, 1])
    assert.deepEqual(of(prices, 'android_store', 'app_list'), [1200, 2400, 100])
    assert.deepEqual(of(prices, 'ios_store', 'app_reviews'), [750, 1500, 50])
  })

  test('has a price for everything that a store sells, and none for what it does not', () => {
    assert.deepEqual(
      priceList([]).map((price) => `${price.store} ${price.function}`),
      [
        'ios_store app_searches',
        'ios_store app_info',
        'ios_store app_reviews',
        'android_store app_searches',
        'android_store app_info',
        'android_store app_list',
      ],
    )
  })

  test("is the account's where it has a price, and doubles the normal one where it has no high one", () => {
    const prices = priceList([{ function: 'app_searches', normalMicros: 900, highMicros: null }])
    assert.deepEqual(of(prices, 'ios_store', 'app_searches'), [900, 1800, 100])
    assert.deepEqual(of(prices, 'android_store', 'app_searches'), [900, 1800, 30])
    assert.deepEqual(of(prices, 'ios_store', 'app_info'), [600, 1200, 1])
  })

  test("takes the account's high price as it is, and no price at all for one that is unknown", () => {
    const prices = priceList([
      { function: 'app_searches', normalMicros: null, highMicros: 5000 },
      { function: 'app_info', normalMicros: 0, highMicros: 0 },
    ])
    assert.deepEqual(of(prices, 'ios_store', 'app_searches'), [1200, 5000, 100])
    assert.deepEqual(of(prices, 'ios_store', 'app_info'), [0, 0, 1])
  })
})

describe('the account', () => {
  let world: World
  before(async () => {
    world = await createWorld({ sandbox: { balanceUsd: 0.01, costLimitPerDayUsd: 0.5 } })
  })
  after(() => world.close())

  test('reports its balance, its limits and its prices, which become ours', async () => {
    const usage = await recordAccountUsage(world.db, world.client)
    assert.deepEqual(
      [
        usage.login,
        usage.balanceMicros,
        usage.dayLimitMicros,
        usage.daySpentMicros,
        usage.callsPerMinuteLimit,
      ],
      ['sandbox', 10_000, 500_000, 0, 2000],
    )
    assert.deepEqual(accountPrices.parse(usage.prices), [
      { function: 'app_searches', normalMicros: 1200, highMicros: 2400 },
      { function: 'app_info', normalMicros: 600, highMicros: 1200 },
      { function: 'app_list', normalMicros: 1200, highMicros: 2400 },
      { function: 'app_reviews', normalMicros: 750, highMicros: 1500 },
    ])
    await world.db
      .sql`update account_usage set prices = '[{"function":"app_info","normalMicros":70,"highMicros":90}]'`
    const info = (await readPrices(world.db)).filter((price) => price.function === 'app_info')
    assert.deepEqual(
      info.map((price) => [price.normalMicros, price.highMicros]),
      [
        [70, 90],
        [70, 90],
      ],
    )
  })

  test('is stamped before it is asked: a charge while the answer travels is not taken for part of it', async () => {
    const { sql } = world.db
    await sql`insert into project (name) values ('a')`
    const slow = {
      ...world.client,
      getUserData: async () => {
        const answer = await world.client.getUserData()
        await sql`
          insert into charge (kind, project, amount_micros, task_id, attempt, target_id, slot, service_id)
          values ('charge', 'a', 6000, uuid_v7(), 1, 0, now(), 'charged meanwhile')`
        return answer
      },
    }
    await recordAccountUsage(world.db, slow)
    await sql`
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
