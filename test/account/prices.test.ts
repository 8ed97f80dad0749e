/** Prices: the account's own list where it has one, else the specification's. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type AccountPrices, type Price, readPrices } from '../../src/account/prices.ts'
import { recordAccountUsage } from '../../src/account/usage.ts'
import { sql } from '../../src/db/sql.ts'
import { planDueTasks } from '../../src/plan/plan.ts'
import { FUNCTION_RULES, type FunctionRule } from '../../src/service/functions.ts'
import { lasting } from '../support/lasting.ts'
import { insertCharge } from '../support/ledger.ts'
import { createPlanning } from '../support/planning.ts'
import { createWorld } from '../support/world.ts'

describe('the price list', () => {
  const planning = lasting(createPlanning)

  /** The prices as they are when the account has this list and these were the last charges. */
  const priceList = async (account: AccountPrices | null, charged: readonly object[] = []) => {
    const { sql: db } = planning.db
    await db`delete from account_usage`
    await db`delete from charged_price`
    if (account !== null) {
      await db`insert into account_usage (login, prices)
        values ('me', ${JSON.stringify(account)}::text::jsonb)`
    }
    for (const row of charged) await db`insert into charged_price ${sql.row({ ...row })}`
    return readPrices(db)
  }
  const of = (prices: readonly Price[], store: string, name: string) => {
    const { normalMicros, highMicros, billingUnitResults } =
      prices.find((price) => price.store === store && price.function === name) ?? {}
    return [normalMicros, highMicros, billingUnitResults]
  }

  test(
    "is the specification's while the account's is unknown: a price for all that a store sells, and for " +
      'nothing else',
    async () => {
      const rules = Object.entries(FUNCTION_RULES).flatMap(([store, functions]) =>
        Object.entries<FunctionRule>(functions).map(([name, { unitCostMicros, billingUnitResults }]) => ({
          store,
          function: name,
          billingUnitResults,
          normalMicros: unitCostMicros,
          highMicros: unitCostMicros * 2,
        })),
      )
      const key = (price: { store: string; function: string }) => `${price.store} ${price.function}`
      const sorted = <T extends { store: string; function: string }>(prices: readonly T[]) =>
        prices.toSorted((a, b) => key(a).localeCompare(key(b)))
      for (const account of [null, []]) {
        assert.deepEqual(sorted([...(await priceList(account))]), sorted(rules))
      }
    },
  )

  test("is the account's where its list says more, twice the normal one where no high one is", async () => {
    const prices = await priceList([{ function: 'app_searches', normalMicros: 1900, highMicros: null }])
    assert.deepEqual(of(prices, 'ios_store', 'app_searches'), [1900, 3800, 100])
    assert.deepEqual(of(prices, 'android_store', 'app_searches'), [1900, 3800, 30])
    assert.deepEqual(of(prices, 'ios_store', 'app_info'), [600, 1200, 1])
  })

  test("takes the account's high price as it is, and never less than the specification's", async () => {
    const prices = await priceList([
      { function: 'app_searches', normalMicros: null, highMicros: 5000 },
      { function: 'app_info', normalMicros: 0, highMicros: 0 },
    ])
    assert.deepEqual(of(prices, 'ios_store', 'app_searches'), [1200, 5000, 100])
    assert.deepEqual(of(prices, 'ios_store', 'app_info'), [600, 1200, 1])
  })

  test('is never less than what was charged last, for its store and priority', async () => {
    const charged = { store: 'ios_store', function: 'app_searches', priority: 1, unit_micros: 1500 }
    const prices = await priceList([], [charged])
    assert.deepEqual(of(prices, 'ios_store', 'app_searches'), [1500, 2400, 100])
    assert.deepEqual(of(prices, 'android_store', 'app_searches'), [1200, 2400, 30])
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
    await world.db
      .sql`update account_usage set prices = '[{"function":"app_info","normalMicros":700,"highMicros":1300}]'`
    const info = (await readPrices(world.db.sql)).filter((price) => price.function === 'app_info')
    assert.deepEqual(
      info.map((price) => [price.normalMicros, price.highMicros]),
      [
        [700, 1400],
        [700, 1400],
      ],
    )
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
