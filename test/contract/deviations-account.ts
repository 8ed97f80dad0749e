/**
 * Rows of the service as it is sold, further: the account, its codes, and the endpoints that the
 * specification does not have.
 */

import assert from 'node:assert/strict'
import { parseListingResult } from '../../src/service/listings.ts'
import { type Caller, fetchTask, type Json, postTasks, stamp, USA } from '../sandbox/caller.ts'
import { deviates } from './deviates.ts'
import { postOne } from './world.ts'

const PLACE = { location_code: USA, language_code: 'en' }
const SEARCH = { keyword: 'yoga', ...PLACE }

const readAccount = async (world: Caller): Promise<Json> =>
  (await world.get('/v3/appendix/user_data')).tasks[0].result[0]

// The account

deviates(
  'money-beside-rates',
  'money and price stand beside rates, with tables of other APIs',
  async (world) => {
    await postTasks(world, [SEARCH])
    const { rates, money, price } = await readAccount(world)
    assert.deepEqual(Object.keys(rates), ['limits', 'statistics'])
    assert.deepEqual(
      [money.balance, price.app_data.app_searches.task_post.priority_normal[0].cost],
      [999.9988, 0.0012],
    )
    for (const table of [
      rates.limits.day,
      rates.statistics.minute,
      money.limits.minute,
      money.statistics.day,
    ]) {
      assert.ok('total_serp' in table && 'total_appendix' in table && table.serp.task_post === 0)
    }
    assert.ok(price.serp.task_post.priority_normal[0].cost > 0)
  },
)

// Codes

deviates(
  'codes',
  'codes and messages are those of the service, and how a task ends is no error of the envelope',
  async (world) => {
    const codes: Json[] = (await world.get('/v3/appendix/errors')).tasks[0].result
    assert.equal(codes.length, 44)
    assert.ok(codes.some(({ code, message }) => code === 40506 && message === 'Unknown Fields in POST Data.'))
    const [{ id }, unknown] = await postTasks(world, [SEARCH, { ...SEARCH, extra: 1 }])
    assert.deepEqual([unknown.status_code, unknown.cost], [40506, 0])
    const path = `/v3/app_data/ios_store/app_searches/task_get/advanced/${id}`
    const { tasks, tasks_error } = await world.get(path)
    assert.equal(
      `${tasks[0].status_code} ${tasks[0].status_message} ${tasks_error}`,
      '40103 Task execution failed, please try to resubmit the task. 0',
    )
    await world.get('/v3/appendix/status')
    const refused = await world.get('/v3/appendix/status')
    assert.deepEqual(
      [refused.status_code, refused.tasks[0].status_code, refused.tasks_error],
      [40202, 40202, 0],
    )
  },
  { faults: { executionFailed: { times: 1 } }, statusPerMinute: 1 },
)

// Endpoints

/** What one task finds, posted and fetched by plain fetch. */
const measure = async (world: Caller, store: string, name: string, fields: Json): Promise<Json> => {
  const [posted] = await postTasks(world, [{ ...PLACE, ...fields }], { store, name })
  if (posted.status_code !== 20100) return posted.status_message
  return (await fetchTask(world, posted.id, { store, name })).result?.[0] ?? null
}
const stampsOf = (result: Json): string[] => result.items.map(({ timestamp }: Json) => timestamp)
const APP = { ios_store: { app_id: '1480010017' }, android_store: { app_id: 'com.ashlune.yoga' } }

deviates('endpoints', 'charts of both stores have collections of their own, and none but these', {
  fetch: async (world) => {
    const chart = async (store: string, fields: Json) => {
      const found = await measure(world, store, 'app_list', fields)
      return found?.items?.length ?? found
    }
    const deep = { app_collection: 'top_free_ios', app_category: 'games', depth: 1000 }
    assert.ok((await chart('ios_store', deep)) > 100)
    assert.equal(
      await chart('ios_store', { app_collection: 'topselling_free' }),
      "Invalid Field: 'app_collection'.",
    )
    assert.equal(
      await chart('android_store', { app_collection: 'top_free_ios' }),
      "Invalid Field: 'app_collection'.",
    )
    const featured = { app_collection: 'featured', app_category: 'game' }
    assert.equal(await chart('android_store', featured), "Invalid Field: 'app_category'.")
    const aged = { app_collection: 'topselling_free', app_category: 'family', age_rating: 'ages_6_8' }
    assert.ok((await chart('android_store', aged)) > 0)
    assert.equal(
      await chart('android_store', { ...aged, app_category: 'game' }),
      "Invalid Field: 'age_rating'.",
    )
  },
  client: async (client) => {
    const kind = ['ios_store', 'app_list'] as const
    const id = await postOne(client, { subject: 'top_free_ios', category: 'games', depth: 200 }, kind)
    const chart = await client.getAppList('ios_store', id)
    assert.ok(chart.kind === 'done' && chart.result)
    assert.deepEqual([chart.result.collection, chart.result.items.length], ['top_free_ios', 200])
  },
})
deviates(
  'endpoints',
  'reviews of both stores come in an order, those of the android_store with what was answered',
  {
    fetch: async (world) => {
      const reviews = async (store: 'ios_store' | 'android_store', fields: Json): Promise<Json> =>
        measure(world, store, 'app_reviews', { ...APP[store], ...fields })
      const newest = await reviews('android_store', { sort_by: 'newest', depth: 100 })
      assert.deepEqual(stampsOf(newest), stampsOf(newest).toSorted().reverse())
      const helpful = (await reviews('android_store', { depth: 100 })).items.map(
        (item: Json) => item.helpful_count,
      )
      assert.deepEqual(
        helpful,
        helpful.toSorted((left: number, right: number) => right - left),
      )
      assert.ok(newest.items.every(({ title }: Json) => title === null))
      const answered = newest.items.filter(({ responses }: Json) => responses !== null)
      assert.ok(answered.length > 5 && answered.length < 95)
      assert.deepEqual(Object.keys(answered[0].responses[0]), ['author', 'title', 'text', 'timestamp'])
      const fours = await reviews('android_store', { rating: 4, depth: 5 })
      assert.ok(fours.items.every(({ rating }: Json) => rating.value === 4))
      assert.equal(await reviews('ios_store', { sort_by: 'newest' }), "Invalid Field: 'sort_by'.")
      const ios = await reviews('ios_store', { sort_by: 'most_recent' })
      assert.deepEqual(stampsOf(ios), stampsOf(ios).toSorted().reverse())
      assert.notDeepEqual(stampsOf(await reviews('ios_store', {})), stampsOf(ios))
    },
    client: async (client) => {
      const kind = ['android_store', 'app_reviews'] as const
      const id = await postOne(
        client,
        { subject: APP.android_store.app_id, sortBy: 'newest', depth: 100 },
        kind,
      )
      const outcome = await client.getAppReviews('android_store', id)
      assert.ok(outcome.kind === 'done' && outcome.result)
      assert.equal(outcome.result.items.length, 100)
      assert.ok(outcome.result.items.some(({ responses }) => responses?.[0]?.text))
      const info = await client.getAppInfo(
        'ios_store',
        await postOne(client, { subject: '1480010017' }, ['ios_store', 'app_info']),
      )
      assert.ok(info.kind === 'done' && typeof info.result?.items[0]?.subtitle === 'string')
    },
  },
)
deviates('endpoints', 'one ready list has the tasks of all functions, in the order of completion', {
  fetch: async (world) => {
    const posted = [
      ...(await postTasks(world, [SEARCH])),
      ...(await postTasks(world, [SEARCH], { store: 'android_store' })),
      ...(await postTasks(world, [{ ...PLACE, ...APP.ios_store }], { name: 'app_info' })),
    ]
    const { data, result } = (await world.get('/v3/app_data/tasks_ready')).tasks[0]
    assert.deepEqual(data, { api: 'app_data', function: 'tasks_ready' })
    assert.deepEqual(result.map(({ id }: Json) => id).sort(), posted.map(({ id }) => id).sort())
    const all = await Promise.all(result.map(({ endpoint_advanced: path }: Json) => world.get(path)))
    assert.ok(all.every(({ tasks }) => tasks[0].status_code === 20000))
  },
  client: async (client) => {
    const ids = [await postOne(client), await postOne(client, {}, ['android_store', 'app_searches'])]
    const ready = await client.listAllReady()
    assert.deepEqual(ready?.map(({ id }) => id).sort(), ids.sort())
  },
})
deviates('endpoints', 'categories of listings and the locations of a country are lists of their own', {
  fetch: async (world) => {
    const rows = async (path: string): Promise<Json[]> =>
      (await world.get(`/v3/app_data/${path}`)).tasks[0].result
    assert.ok((await rows('ios_store/app_listings/categories')).every(({ count }) => count > 0))
    const german = await rows('android_store/locations/de')
    assert.deepEqual([...new Set(german.map(({ country_iso_code: iso }) => iso))], ['DE'])
    const [unknown] = (await world.get('/v3/app_data/android_store/locations/xx')).tasks
    assert.equal(unknown.status_code, 40501)
    assert.equal((await world.fetch('/v3/app_data/ios_store/locations/de')).status, 404)
  },
  client: async (client) => {
    assert.ok((await client.listListingCategories('ios_store')).length > 20)
  },
})

const LIVE = '/v3/app_data/android_store/app_listings/search/live'
deviates('endpoints', 'the search in listings answers at once, for a price per call and per result', {
  fetch: async (world) => {
    const query = {
      title: 'yoga',
      filters: [['item.rating.value', '>', 4], 'and', ['item.is_free', '=', true]],
      order_by: ['item.rating.value,desc'],
      limit: 10,
      tag: 'mine',
    }
    const { tasks, cost } = await world.post(LIVE, [query])
    const [{ total_count, count, items, offset_token }] = tasks[0].result
    assert.deepEqual([count, items.length, cost, tasks[0].cost], [10, 10, 0.011, 0.011])
    assert.ok(total_count > 10)
    const ratings = items.map(({ item }: Json) => item.rating.value)
    assert.deepEqual(
      ratings,
      ratings.toSorted((left: number, right: number) => right - left),
    )
    assert.ok(
      items.every(({ item }: Json) => /yoga/i.test(item.title) && item.is_free && item.rating.value > 4),
    )
    const next = (await world.post(LIVE, [{ ...query, offset_token }])).tasks[0].result[0]
    assert.deepEqual([next.offset, next.items[0].app_id === items[0].app_id], [10, false])
    const other = (await world.post(LIVE, [{ ...query, title: 'chess', offset_token }])).tasks[0]
    assert.equal(other.status_message, "Invalid Field: 'offset_token'.")
    const { nowMs } = world.clock
    const range = { datetime_from: stamp(nowMs), datetime_to: stamp(nowMs), include_metadata: true }
    const rows: Json[] = (await world.post('/v3/app_data/id_list', range)).tasks[0].result
    assert.deepEqual(
      rows.map(({ url, cost: paid, metadata }) => [url, paid, metadata.tag]),
      [
        [LIVE, 0.011, 'mine'],
        [LIVE, 0.011, 'mine'],
      ],
    )
    assert.equal((await readAccount(world)).rates.money.balance, 1000 - 0.022)
    assert.equal((await world.get('/v3/app_data/tasks_ready')).tasks[0].result.length, 0)
  },
  client: async (client) => {
    const { prices } = await client.getUserData()
    const live = prices.filter(
      ({ call, priority }) => call === 'app_listings.search.live' && priority === 'priority_normal',
    )
    assert.deepEqual(
      live.map(({ costType, costMicros }) => [costType, costMicros]),
      [
        ['per_request', 10_000],
        ['per_result', 100],
      ],
    )
    const query = { tag: 'a search', title: 'yoga', orderBy: ['item.rating.value,desc'], limit: 10 }
    const found = await client.searchListings('android_store', query, {
      deadlineMs: Number.POSITIVE_INFINITY,
    })
    assert.ok(found.kind === 'done')
    const { items, totalCount, refused } = parseListingResult(found.result)
    assert.deepEqual([found.costMicros, items.length, refused.length], [11_000, 10, 0])
    assert.ok((totalCount ?? 0) > 10 && items.every(({ appId, item }) => appId === item.appId))
  },
})
