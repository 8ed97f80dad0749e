/** Rows of the account: limits, statistics, money and prices, and what the service says of itself. */

import assert from 'node:assert/strict'
import type { PriceEntry, UsageTable, UserData } from '../../src/service/account.ts'
import type { Json } from '../sandbox/caller.ts'
import { bySide, covers, type Side } from './covers.ts'
import { coverFields, listed, nullOr, oneOf, type Source } from './fields.ts'
import { byForm } from './form.ts'
import { everyTest, once, openSharedWorld, openWorld, postOne, ratesOf, type World } from './world.ts'

const DAY_USD = 5
const MINUTE_USD = 3
const SPENT_USD = 0.0024 + 0.0006 + 0.00075

/** The record of an account that has posted, fetched and listed, first by plain fetch, then by the client. */
const openAccount = once(async (): Promise<{ sent: Json; read: UserData }> => {
  const world = await openWorld(everyTest, {
    login: 'holder',
    balanceUsd: 7,
    costLimitPerDayUsd: DAY_USD,
    costLimitPerMinuteUsd: MINUTE_USD,
  })
  const { client } = world
  await client.getAppSearches('ios_store', await postOne(client, { depth: 200 }))
  const info = { subject: 'com.ashlune.yoga' }
  await client.getHtml('app_info', await postOne(client, info, ['android_store', 'app_info']))
  await postOne(client, { subject: '1480010017' }, ['ios_store', 'app_reviews'])
  await client.listReady('android_store', 'app_list')
  await client.listLanguages('ios_store')
  await client.listLocations('ios_store')
  await client.listCategories('ios_store')
  await client.listListingCategories('android_store')
  await client.listFailedTasks({})
  const record = (await world.get('/v3/appendix/user_data')).tasks[0].result[0]
  const sent = { ...record, rates: ratesOf(record) }
  return { sent, read: await client.getUserData() }
})

const sentRecord = async (): Promise<Json> => (await openAccount()).sent
const readRecord = async (): Promise<UserData> => (await openAccount()).read

covers('user_data.login', 'is that of the account', {
  fetch: async () => assert.equal((await sentRecord()).login, 'holder'),
  client: async () => assert.equal((await readRecord()).login, 'holder'),
})
covers('user_data.timezone', 'is text', {
  fetch: async () => assert.equal((await sentRecord()).timezone, 'UTC'),
  client: async () => assert.equal((await readRecord()).timezone, 'UTC'),
})
covers('user_data.rates', 'has four sections, of which two may stand beside it', {
  fetch: async () => {
    assert.deepEqual(Object.keys((await sentRecord()).rates), ['limits', 'statistics', 'money', 'price'])
  },
  client: async () => {
    const { callLimits, callStatistics, moneyLimits, balanceMicros, prices } = await readRecord()
    for (const table of [callLimits, callStatistics, moneyLimits]) assert.ok(table.day && table.minute)
    assert.ok(balanceMicros !== null && prices.length > 0)
  },
})

/** Every value under a key, at whatever depth, by its path. */
const findKey = (value: Json, key: string, path: readonly string[] = []): [path: string, value: Json][] =>
  Object.entries(value).flatMap(([name, child]): [string, Json][] => {
    const here = [...path, name]
    if (name === key) return [[here.join('.'), child]]
    return typeof child === 'object' && child !== null ? findKey(child, key, here) : []
  })

/** How often each key stands in one period, and whether a number stands there. */
const LAYOUT: Readonly<Record<string, readonly [times: number, holds: 'number' | 'object' | 'string']>> = {
  app_data: [1, 'object'],
  total: [1, 'number'],
  total_app_data: [1, 'number'],
  value: [1, 'string'],
  app_info: [1, 'object'],
  app_list: [1, 'object'],
  app_searches: [1, 'object'],
  app_reviews: [1, 'object'],
  task_post: [4, 'number'],
  // As it is sold, there is one ready list for all functions beside those of each.
  tasks_ready: [byForm(4, 5), 'number'],
  task_get: [4, 'object'],
  advanced: [4, 'number'],
  html: [3, 'number'],
  errors: [1, 'number'],
  languages: [1, 'number'],
  locations: [1, 'number'],
  categories: [1, 'number'],
}
const PERIODS = ['day', 'minute'] as const

/** `toOurs` gives undefined for a limit of 0, which is none. */
type Table = readonly [
  row: string,
  sentIn: (rates: Json) => Json,
  readIn: (read: UserData) => UsageTable,
  toOurs: (sent: number) => number | undefined,
]
const toMicros = (usd: number): number => Math.round(usd * 1_000_000)
const TABLES: readonly Table[] = [
  ['limits', ({ limits }) => limits, ({ callLimits }) => callLimits, (calls) => calls || undefined],
  ['statistics', ({ statistics }) => statistics, ({ callStatistics }) => callStatistics, (calls) => calls],
  [
    'money.limits',
    ({ money }) => money.limits,
    ({ moneyLimits }) => moneyLimits,
    (usd) => toMicros(usd) || undefined,
  ],
  ['money.statistics', ({ money }) => money.statistics, ({ moneyStatistics }) => moneyStatistics, toMicros],
]

/** What is ours in a table: as it is sold, other APIs have theirs beside it. */
const oursIn = ({ app_data, total, total_app_data, value }: Json): Json => ({
  app_data,
  total,
  total_app_data,
  value,
})

const checkSentKey = (period: Json, key: string): void => {
  const [times, holds] = LAYOUT[key] ?? [1, 'object']
  const found = findKey(oursIn(period), key)
  assert.equal(found.length, times, `${key} stands there ${found.length} times`)
  for (const [path, value] of found) assert.equal(typeof value, holds, path)
}

/** `shift` is what the calls between the two readings add to the total. */
const checkReadKey = (
  sent: Json,
  read: UsageTable['day'],
  key: string,
  toOurs: Table[3],
  shift: number,
): void => {
  assert.ok(read)
  if (key === 'value') assert.equal(read.period, sent.value)
  else if (key === 'total') assert.equal(read.total ?? 0, (toOurs(sent.total) ?? 0) + shift)
  else if (key === 'total_app_data') assert.equal(read.totalAppData ?? 0, toOurs(sent.total_app_data) ?? 0)
  else {
    for (const [path, value] of findKey(sent.app_data, key)) {
      if (typeof value === 'number') assert.equal(read.byCall[path], toOurs(value), path)
      else {
        const isKnown = Object.keys(read.byCall).some((each) => each.startsWith(path))
        assert.ok(isKnown || toOurs(0) === undefined, path)
      }
    }
  }
}

const coverKey = ([row, sentIn, readIn, toOurs]: Table, name: string, keys: readonly string[]): void => {
  covers(`user_data.${name}`, `is laid out in ${row} by day and minute`, {
    fetch: async () => {
      const table = sentIn((await sentRecord()).rates)
      assert.deepEqual(Object.keys(table), PERIODS)
      for (const period of PERIODS) for (const key of keys) checkSentKey(table[period], key)
    },
    client: async () => {
      const { sent, read } = await openAccount()
      const shift = row === 'statistics' ? 1 : 0
      for (const period of PERIODS) {
        for (const key of keys)
          checkReadKey(sentIn(sent.rates)[period], readIn(read)[period], key, toOurs, shift)
      }
    },
  })
}

for (const table of TABLES) {
  const [row] = table
  const keys = Object.keys(LAYOUT).filter((key) => key !== 'value' || row.endsWith('statistics'))
  if (row.startsWith('money')) coverKey(table, row, keys)
  else for (const period of PERIODS) coverKey(table, `${row}.${period}`, keys)
  if (!row.startsWith('money')) for (const key of keys) coverKey(table, `${row}.${key}`, [key])
}

covers('user_data.limits.total', 'is the limit of calls, for a minute and for the minutes of a day', {
  fetch: async () => {
    const { limits } = (await sentRecord()).rates
    assert.deepEqual([limits.minute.total, limits.day.total], byForm([2000, 2000 * 1440], [0, 0]))
  },
  client: async () => assert.equal((await readRecord()).callLimits.minute?.total ?? null, byForm(2000, null)),
})
covers('user_data.statistics.task_post', 'counts calls, not tasks', {
  fetch: async () =>
    assert.equal((await sentRecord()).rates.statistics.day.app_data.app_searches.task_post, 1),
  client: async () =>
    assert.equal((await readRecord()).callStatistics.day?.byCall['app_searches.task_post'], 1),
})
for (const [period, value] of [
  ['day', '2026-10-15'],
  ['minute', '2026-10-15 12:00'],
] as const) {
  covers('user_data.statistics.value', `names the ${period} that is counted`, {
    fetch: async () => assert.equal((await sentRecord()).rates.statistics[period].value, value),
    client: async () => assert.equal((await readRecord()).callStatistics[period]?.period, value),
  })
}

// Money

covers('user_data.money.total', 'is what was paid in', {
  fetch: async () => assert.equal((await sentRecord()).rates.money.total, 7),
  client: async () => assert.equal((await readRecord()).depositedMicros, 7_000_000),
})
covers('user_data.money.balance', 'is what is left', {
  fetch: async () => assert.equal((await sentRecord()).rates.money.balance, 7 - SPENT_USD),
  client: async () => assert.equal((await readRecord()).balanceMicros, 7_000_000 - 3750),
})
covers('user_data.money.limits', 'are those of the account', {
  fetch: async () => {
    const { limits } = (await sentRecord()).rates.money
    assert.deepEqual([limits.day.total, limits.minute.total], byForm([DAY_USD, MINUTE_USD], [0, 0]))
  },
  client: async () => {
    assert.equal((await readRecord()).moneyLimits.day?.total ?? null, byForm(DAY_USD * 1_000_000, null))
  },
})
covers('user_data.money.statistics', 'are what was spent, by function', {
  fetch: async () => {
    const { app_data, total } = (await sentRecord()).rates.money.statistics.minute
    assert.deepEqual([total, app_data.app_searches.task_post], [SPENT_USD, 0.0024])
  },
  client: async () => {
    const { day } = (await readRecord()).moneyStatistics
    assert.equal(day?.byCall['app_reviews.task_post'], 750)
  },
})

// Prices

const pricesUnder = async (api: string, call: string): Promise<Json> =>
  call.split('.').reduce((price, key) => price[key], (await sentRecord()).rates.price[api])
const entriesOf = async (api: string, call: string): Promise<PriceEntry[]> =>
  (await readRecord()).prices.filter((entry) => entry.api === api && entry.call === call)

/** Dollars for a task of normal and of high priority. */
const coverPrice = (
  rows: readonly string[],
  api: string,
  call: string,
  normal: number,
  high: number,
): void => {
  covers(
    rows.map((row) => `user_data.price.${row}`),
    `${call} of ${api} costs $${normal}, and $${high} at high priority`,
    {
      fetch: async () => {
        const entry = (cost: number) => [{ cost_type: 'per_request', cost }]
        assert.deepEqual(await pricesUnder(api, call), {
          priority_low: entry(normal),
          priority_normal: entry(normal),
          priority_high: entry(high),
        })
      },
      client: async () => {
        assert.deepEqual(
          (await entriesOf(api, call)).map(({ priority, costType, costMicros }) => [
            priority,
            costType,
            costMicros,
          ]),
          [
            ['priority_low', 'per_request', normal * 1_000_000],
            ['priority_normal', 'per_request', normal * 1_000_000],
            ['priority_high', 'per_request', high * 1_000_000],
          ],
        )
      },
    },
  )
}
coverPrice(['app_info'], 'app_data', 'app_info.task_post', 0.0006, 0.0012)
coverPrice(['app_list'], 'app_data', 'app_list.task_post', 0.0012, 0.0024)
coverPrice(['app_searches'], 'app_data', 'app_searches.task_post', 0.0012, 0.0024)
const ENTRY = ['priority_low', 'priority_normal', 'priority_high', 'cost_type', 'cost', 'per_request']
coverPrice(['app_reviews', ...ENTRY], 'app_data', 'app_reviews.task_post', 0.00075, 0.0015)
for (const fn of ['app_info', 'app_list', 'app_searches', 'app_reviews']) {
  coverPrice(['tasks_ready'], 'app_data', `${fn}.tasks_ready`, 0, 0)
  coverPrice(['task_get'], 'app_data', `${fn}.task_get.advanced`, 0, 0)
  if (fn !== 'app_reviews') coverPrice(['task_get'], 'app_data', `${fn}.task_get.html`, 0, 0)
}
for (const list of ['languages', 'locations', 'categories', 'errors'])
  coverPrice([list], 'app_data', list, 0, 0)
coverPrice(['user_data'], 'appendix', 'user_data', 0, 0)
covers(
  'user_data.price.per_result',
  'is the other kind of cost, and of what only the service as it is sold has',
  {
    fetch: async () => {
      const costs = findKey((await sentRecord()).rates.price, 'cost_type').map(([, type]) => type)
      assert.deepEqual([...new Set(costs)].sort(), byForm(['per_request'], ['per_request', 'per_result']))
    },
    client: async () => {
      const { prices } = await readRecord()
      const perResult = prices.filter(({ costType }) => costType !== 'per_request').map(({ call }) => call)
      assert.deepEqual([...new Set(perResult)], byForm([], ['app_listings.search.live']))
    },
  },
)
for (const api of ['appendix', 'app_data']) {
  covers(`user_data.price.${api}`, 'has prices of its own', {
    fetch: async () => assert.ok(Object.keys((await sentRecord()).rates.price[api]).length > 0),
    client: async () => assert.ok((await readRecord()).prices.some((entry) => entry.api === api)),
  })
}

covers('statement.account_level_call_limits_and_spending_limits', 'are reported by day and by minute', {
  fetch: async () => {
    const { limits, money } = (await sentRecord()).rates
    for (const table of [limits, money.limits]) assert.deepEqual(Object.keys(table), ['day', 'minute'])
  },
  client: async () => {
    const { callLimits, moneyLimits } = await readRecord()
    for (const { day, minute } of [callLimits, moneyLimits]) assert.ok(day && minute)
  },
})

// Status

const status = listed('the status', openSharedWorld, {
  fetch: async (world) => (await world.get('/v3/appendix/status')).tasks[0].result,
  client: ({ client }) => client.getStatus(),
})
const parts: Source = {
  of: 'the endpoints of the status',
  sent: async () => (await status.sent()).flatMap(({ endpoints }) => endpoints ?? []),
  read: async () => (await status.read()).flatMap(({ endpoints }) => endpoints),
}
/** What is said of our API: as it is sold, others stand before it. */
const ourPart = (records: readonly Json[]): Json => records.find(({ api }) => api === 'app_data')

const NAMES = ['task_get', 'task_post', 'live', 'postback/pingback'] as const
const STATUSES = [
  ...['ok', 'major_outage', 'partial_outage', 'long_response_time'],
  ...['long_execution_time', 'webhook_delay', 'send_delay'],
] as const

coverFields('status', [status], {
  api: oneOf('app_data', 'appendix', ...byForm([], ['serp', 'keywords_data', 'on_page'])),
  status: oneOf(...STATUSES),
  endpoints: {
    ...nullOr({ what: 'a list', fits: Array.isArray, read: (sent) => sent }),
    read: (sent) => sent ?? [],
  },
})
coverFields('status.endpoints', [parts], { endpoint: oneOf(...NAMES), status: oneOf(...STATUSES) })
for (const name of NAMES) {
  covers(`status.endpoint.${name.replace('/', '_')}`, 'is one of the parts of app_data', {
    fetch: async () => assert.ok((await parts.sent()).some(({ endpoint }) => endpoint === name)),
    client: async () => assert.ok((await parts.read()).some(({ endpoint }) => endpoint === name)),
  })
}
const readStatus = {
  fetch: async ({ get }: World) => ourPart((await get('/v3/appendix/status')).tasks[0].result),
  client: async ({ client }: World) => ourPart(await client.getStatus()),
}
for (const value of STATUSES) {
  const check = async (world: World, side: Side) => {
    const { status: whole, endpoints } = await readStatus[side](world)
    const said = endpoints.find(({ endpoint }: Json) => endpoint === 'task_post')?.status
    assert.deepEqual([whole, said], [value, value])
  }
  const sentence = 'can be said of a part, and of the whole when no part is worse'
  covers(`status.value.${value}`, sentence, bySide(check, { faults: { status: { task_post: value } } }))
}
