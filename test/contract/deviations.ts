/**
 * Rows of the service as it is sold: single ways in which it differs from its specification, by themselves.
 * Those that a row of the specification says in both forms (`byForm`) stand there.
 */

import assert from 'node:assert/strict'
import { DAY_MS, fetchTask, type Json, listReady, postTasks, stamp, USA } from '../sandbox/caller.ts'
import { deviates } from './deviates.ts'

const SEARCH = { keyword: 'yoga', location_code: USA, language_code: 'en' }
const APPLE = { store: 'apple' }
/** Found by nobody. */
const NOTHING = 'xkcdqwrt zzgrblk'

const rowOf = async (world: Parameters<typeof postTasks>[0], path: string): Promise<Json> =>
  (await world.get(path)).tasks[0].result?.[0]
const rangeBefore = (nowMs: number) => ({
  datetime_from: stamp(nowMs - DAY_MS),
  datetime_to: stamp(nowMs),
})

// Names

deviates('paths', 'the stores are apple and google wherever a path is taken or given', async (world) => {
  const [{ id, data, path }] = await postTasks(world, [SEARCH], APPLE)
  assert.deepEqual([data.se, path[2]], ['apple', 'apple'])
  const [row] = await listReady(world, APPLE)
  const fetched = `/v3/app_data/apple/app_searches/task_get/advanced/${id}`
  assert.deepEqual([row.se, row.endpoint_advanced], ['apple', fetched])
  assert.equal((await world.get(fetched)).tasks[0].status_code, 20000)
  const [listed] = (await world.post('/v3/app_data/id_list', rangeBefore(world.clock.nowMs))).tasks[0].result
  assert.equal(listed.url, `${world.url}/v3/app_data/apple/app_searches/task_post`)
  for (const store of ['ios_store', 'android_store']) {
    assert.equal((await world.fetch(`/v3/app_data/${store}/categories`)).status, 404)
  }
})
deviates('ids', 'ids are groups of digits and twelve of chance, and no UUIDs', async (world) => {
  const posted = await postTasks(world, [SEARCH, SEARCH])
  for (const { id } of posted) assert.match(id, /^10151200-\d{4}-\d{4}-0000-[0-9a-f]{12}$/)
  assert.notEqual(posted[0].id, posted[1].id)
  assert.equal((await fetchTask(world, posted[0].id)).status_code, 20000)
  const [resent] = (await world.post('/v3/appendix/webhook_resend', [{ id: posted[0].id }])).tasks
  assert.equal(resent.status_code, 40503, 'its id is read')
})
deviates(
  'types',
  'items are of app_store and google_play, charts like searches, and there are no others',
  async (world) => {
    for (const [store, name, subject, type] of [
      ['ios_store', 'app_searches', { keyword: 'puzzle' }, 'app_store_search_organic'],
      ['android_store', 'app_searches', { keyword: 'puzzle' }, 'google_play_search_organic'],
      ['android_store', 'app_list', { app_collection: 'topgrossing' }, 'google_play_search_organic'],
      ['ios_store', 'app_info', { app_id: '1480010017' }, 'app_store_info_organic'],
      ['android_store', 'app_info', { app_id: 'com.ashlune.yoga' }, 'google_play_info_organic'],
      ['ios_store', 'app_reviews', { app_id: '1480010017' }, 'app_store_reviews_search'],
    ] as const) {
      const [{ id, data }] = await postTasks(world, [{ ...SEARCH, keyword: undefined, ...subject }], {
        store,
        name,
      })
      const { items } = (await fetchTask(world, id, { store, name })).result[0]
      assert.deepEqual([...new Set(items.map((item: Json) => item.type))], [type])
      assert.equal(data.se_type, 'organic')
    }
  },
)
deviates(
  'nulls',
  'what the specification always gives may be null, and an item may stand at the right',
  async (world) => {
    const searched = async (store: string): Promise<Json> => {
      const [{ id }] = await postTasks(world, [{ ...SEARCH, depth: 100 }], { store })
      return (await fetchTask(world, id, { store })).result[0]
    }
    const [ios, android] = [await searched('ios_store'), await searched('android_store')]
    assert.deepEqual([ios.check_url, android.se_results_count], [null, 0])
    for (const { items } of [ios, android]) {
      assert.deepEqual([...new Set(items.map(({ position }: Json) => position))].sort(), ['left', 'right'])
    }
    assert.ok(
      android.items.some(({ rating, reviews_count: count }: Json) => rating === null && count === null),
    )
    assert.ok(android.items.every(({ price }: Json) => price.currency === null))
    const info = { name: 'app_info' }
    const [{ id }] = await postTasks(world, [{ ...SEARCH, keyword: undefined, app_id: '1480010017' }], info)
    assert.equal((await fetchTask(world, id, info)).result[0].items[0].released_date, null)
  },
)

// Lists

deviates(
  'statuses',
  'id_list gives messages, and what the service added to the parameters',
  async (world) => {
    await postTasks(world, [
      { ...SEARCH, tag: 'mine' },
      { ...SEARCH, keyword: NOTHING },
    ])
    const query = { ...rangeBefore(world.clock.nowMs), include_metadata: true }
    const rows: Json[] = (await world.post('/v3/app_data/id_list', query)).tasks[0].result
    assert.deepEqual(rows.map(({ status }) => status).sort(), ['No Search Results.', 'Ok.'])
    const added = { api: 'app_data', function: 'app_searches', se: 'ios_store', se_type: 'organic' }
    const mine = rows.find(({ metadata }) => metadata.tag === 'mine')
    assert.deepEqual(mine.metadata, { ...added, ...SEARCH, tag: 'mine' })
  },
)
deviates(
  'lagging-ready',
  'a task is listed a second after it is done, and an empty list is null',
  async (world) => {
    const readyRows = async () =>
      (await world.get('/v3/app_data/ios_store/app_searches/tasks_ready')).tasks[0]
    const [{ id }] = await postTasks(world, [SEARCH])
    world.clock.nowMs += 999
    const { result, result_count, status_code } = await readyRows()
    assert.deepEqual([result, result_count, status_code], [null, 0, 20000])
    world.clock.nowMs += 1
    assert.deepEqual(
      (await readyRows()).result.map((row: Json) => row.id),
      [id],
    )
  },
)
deviates('all-apis', 'the status names APIs that are not ours, one of them in trouble', async (world) => {
  const rows: Json[] = (await world.get('/v3/appendix/status')).tasks[0].result
  assert.deepEqual(
    rows.map(({ api, status }) => `${api} ${status}`),
    ['serp ok', 'keywords_data partial_outage', 'on_page ok', 'app_data ok', 'appendix ok'],
  )
})
deviates(
  'many-locations',
  'the android_store has about 100,000 locations, and takes each of them',
  async (world) => {
    const body = await (await world.fetch('/v3/app_data/android_store/locations')).text()
    const rows: Json[] = JSON.parse(body).tasks[0].result
    assert.ok(rows.length > 95_000 && rows.length < 105_000, String(rows.length))
    assert.ok(body.length > 14_000_000 && body.length < 20_000_000, String(body.length))
    const city = rows.at(-1)
    assert.equal(new Set(rows.map(({ location_code: code }) => code)).size, rows.length)
    assert.equal(new Set(rows.map(({ location_name: name }) => name)).size, rows.length)
    const store = { store: 'android_store' }
    const [byCode] = await postTasks(world, [{ ...SEARCH, location_code: city.location_code }], store)
    const named = { keyword: 'yoga', language_code: 'en', location_name: city.location_name }
    const [byName] = await postTasks(world, [named], store)
    assert.deepEqual([byCode.status_code, byName.data.location_code], [20100, city.location_code])
    assert.equal((await rowOf(world, '/v3/app_data/ios_store/locations')).location_type, 'Country')
  },
)

// Posting

deviates(
  'languages',
  'a language is needed but for searches of the android_store, and some name a region',
  async (world) => {
    const { language_code: _, ...without } = SEARCH
    const [refused] = await postTasks(world, [without])
    assert.equal(`${refused.status_code} ${refused.status_message}`, "40501 Invalid Field: 'language_name'.")
    const android = { store: 'android_store' }
    const [free, regional] = await postTasks(
      world,
      [without, { ...SEARCH, language_code: 'es-419' }],
      android,
    )
    assert.deepEqual([free.status_code, regional.status_code], [20100, 20100])
    const [elsewhere] = await postTasks(world, [{ ...SEARCH, language_code: 'es-419' }])
    assert.equal(elsewhere.status_code, 40501)
  },
)
