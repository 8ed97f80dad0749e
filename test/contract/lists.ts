/** Rows of the records in lists: what is ready, references, what failed, what was ever posted. */

import assert from 'node:assert/strict'
import { DAY_MS, type Json, stamp } from '../sandbox/caller.ts'
import { openReceiver, until } from '../sandbox/receiver.ts'
import { CATEGORY_VALUES } from './category-values.ts'
import { covers } from './covers.ts'
import {
  anyText,
  coverFields,
  coverShape,
  dollars,
  listed,
  nullOr,
  number,
  oneOf,
  record,
  type Source,
  text,
  timestamp,
  whole,
} from './fields.ts'
import { byForm } from './form.ts'
import { STORES } from './paths.ts'
import {
  AMPLE,
  everyTest,
  listHere,
  once,
  openSharedWorld,
  openWorld,
  postOne,
  postWire,
  presentOf,
} from './world.ts'

// Ready lists

const READY = [
  ['ios_store', 'app_searches', 'yoga'],
  ['ios_store', 'app_info', '1480010017'],
  ['ios_store', 'app_reviews', '1480010017'],
  ['android_store', 'app_searches', 'yoga'],
  ['android_store', 'app_info', 'com.ashlune.yoga'],
  ['android_store', 'app_list', 'topgrossing'],
] as const

const openReady = once(async () => {
  const world = await openWorld(everyTest, AMPLE)
  for (const [store, fn, subject] of READY) {
    await postOne(world.client, { subject, tag: `${store} ${fn}` }, [store, fn])
  }
  await postWire(world)
  world.later()
  return world
})
const ready = listed('every ready list', openReady, {
  fetch: async (world) => {
    const lists = READY.map(async ([store, fn]) => {
      return (await world.get(`/v3/app_data/${store}/${fn}/tasks_ready`)).tasks[0].result as Json[]
    })
    return (await Promise.all(lists)).flat()
  },
  client: async ({ client }) => {
    const lists = READY.map(([store, fn]) => client.listReady(store, fn))
    return (await Promise.all(lists)).flat()
  },
})
const path = {
  ...text,
  what: 'the path of its result',
  fits: (sent: unknown) => /^\/v3\/\S+$/.test(String(sent)),
}

coverShape(['ready.id', 'notes.tasks_ready_rows'], 'tasks_ready', [ready])
for (const prefix of ['ready', 'tasks_ready']) {
  coverFields(prefix, [ready], {
    id: text,
    endpoint_advanced: [path, 'path'],
    endpoint_html: [nullOr(path), 'htmlPath'],
  })
}
// What the client does not act on it gives as the service does.
coverFields('tasks_ready', [ready], { se: oneOf(...STORES) }, { client: ['paths'] })
coverFields('tasks_ready', [ready], {
  se_type: oneOf(...byForm(['organic', 'app_info', 'app_list', 'app_reviews'], ['organic'])),
  date_posted: timestamp,
  tag: nullOr(text),
})
for (const form of ['advanced', 'html'] as const) {
  covers(`ready.endpoint_${form}`, 'can be requested with GET as it is', {
    world: AMPLE,
    fetch: async (world) => {
      const { id } = await postWire(world, {}, '/v3/app_data/android_store/app_searches/task_post')
      world.later()
      const rows = (await world.get('/v3/app_data/android_store/app_searches/tasks_ready')).tasks[0].result
      const row = rows.find((each: Json) => each.id === id)
      const [fetched] = (await world.get(row[`endpoint_${form}`])).tasks
      assert.deepEqual([fetched.id, fetched.status_code], [id, 20000])
    },
    client: async ({ client, later }) => {
      const id = await postOne(client, {}, ['android_store', 'app_searches'])
      later()
      const row = (await client.listReady('android_store', 'app_searches')).find((each) => each.id === id)
      const outcome = await client.getResult((form === 'html' ? row?.htmlPath : row?.path) ?? '')
      assert.ok(outcome.kind === 'done')
      assert.equal(outcome.serviceId, id)
    },
  })
}

// References

const reference = (store: string, list: string, ask: Parameters<typeof listed>[2]['client']): Source =>
  listed(`the ${list} of ${store}`, openSharedWorld, {
    fetch: async (world) => (await world.get(`/v3/app_data/${store}/${list}`)).tasks[0].result,
    client: ask,
  })
const [iosLocations, androidLocations] = STORES.map((store) =>
  reference(store, 'locations', ({ client }) => client.listLocations(store)),
) as [Source, Source]
const languages = STORES.map((store) =>
  reference(store, 'languages', ({ client }) => client.listLanguages(store)),
)
const listings = reference('android_store', 'app_listings/categories', ({ client }) =>
  client.listListingCategories('android_store'),
)

coverShape('reference.locations.location_code', 'reference.locations', [iosLocations, androidLocations])
coverShape('reference.languages.language_code', 'reference.languages', languages)
coverShape('reference.app_listings_categories.category', 'reference.app_listings_categories', [listings])

coverFields('reference.languages', languages, {
  language_name: text,
  // As it is sold, some name a region.
  language_code: {
    ...text,
    what: 'a code of ISO 639-1',
    fits: (sent) => byForm(/^[a-z]{2}$/, /^[a-z]{2}(-[A-Z0-9]{2,3})?$/).test(String(sent)),
  },
})
coverFields('reference.locations', [iosLocations, androidLocations], {
  location_code: whole,
  location_name: text,
  country_iso_code: {
    ...text,
    what: 'a code of ISO 3166-1',
    fits: (sent) => /^[A-Z]{2}$/.test(String(sent)),
  },
  location_type: text,
})
coverFields('reference.locations', [iosLocations], { location_name_parent: oneOf(null) })
coverFields('reference.locations', [androidLocations], { location_name_parent: nullOr(text) })
covers('notes.locations_of_android_store', 'a region names what it lies in', {
  fetch: async () => {
    const rows = await androidLocations.sent()
    const names = new Set(rows.map(({ location_name }) => location_name))
    const regions = rows.filter(({ location_name_parent }) => location_name_parent !== null)
    assert.ok(regions.length > 0 && regions.every((each) => names.has(each.location_name_parent)))
  },
  client: async () => {
    const rows = await androidLocations.read()
    const region = rows.find(({ locationCode }) => locationCode === 21137)
    assert.deepEqual(
      [region?.locationName, region?.locationNameParent],
      ['California,United States', 'United States'],
    )
  },
})
coverFields('reference.app_listings_categories', [listings], { category: text, count: whole })

for (const store of STORES) {
  covers(
    ['reference.categories.categories', `statement.allowed_category_values_${store}`],
    `is one list of the category values of ${store}`,
    {
      fetch: async (world) => {
        const { result } = (await world.get(`/v3/app_data/${store}/categories`)).tasks[0]
        assert.deepEqual(result, [{ categories: CATEGORY_VALUES[store] }])
      },
      client: async (world) =>
        assert.deepEqual(await world.client.listCategories(store), CATEGORY_VALUES[store]),
    },
  )
}

const UNSUPPORTED = { RU: ['Russia', 2643], BY: ['Belarus', 2112] } as const
for (const [iso, [name, code]] of Object.entries(UNSUPPORTED)) {
  covers('statement.locations_in_two_countries', `${name} is neither listed nor taken`, {
    fetch: async (world) => {
      for (const source of [iosLocations, androidLocations]) {
        const isThere = (await source.sent()).some((each) => each.country_iso_code === iso)
        assert.equal(isThere, false, source.of)
      }
      const byName = { location_code: undefined, location_name: name }
      assert.equal((await postWire(world, { location_code: code })).status_code, 40501)
      assert.equal((await postWire(world, byName)).status_code, 40501)
    },
    client: async ({ client }) => {
      await assert.rejects(postOne(client, { locationCode: code }), /which the service does not support/)
      const byName = { tag: 'x', subject: 'yoga', locationName: name }
      const outcome = await client.postTasks('ios_store', 'app_searches', [byName], { deadlineMs: Infinity })
      assert.ok(outcome.kind === 'answered')
      assert.equal(outcome.answers[0]?.statusCode, 40501)
    },
  })
}

// Failures

const openFailed = once(async () => {
  const [world, receiver] = [await openWorld(everyTest, AMPLE), await openReceiver(everyTest)]
  receiver.answer = (response) => void response.writeHead(503).end('not now')
  await postOne(world.client, { subject: 'xkcdqwrt zzgrblk' })
  await postOne(world.client, { postbackUrl: `${receiver.url}/$id`, postbackData: 'advanced' })
  await postOne(world.client, { pingbackUrl: `${receiver.url}/$id` })
  await until(async () => (await world.client.listFailedTasks({})).length === 3)
  return world
})
const failures = listed('the failed tasks', openFailed, {
  fetch: async (world) => (await world.post('/v3/app_data/errors', [{}])).tasks[0].result,
  client: ({ client }) => client.listFailedTasks({}),
})

coverShape('failed_task.id', 'failed_task', [failures])
coverFields('failed_task', [failures], {
  id: text,
  datetime: timestamp,
  function: oneOf('pingback_url', 'postback_url', 'app_data/task_get/advanced'),
  error_code: whole,
  error_message: text,
  http_method: oneOf('GET', 'POST'),
  http_code: oneOf(503, 200),
  http_time: number,
  http_response: byForm(anyText, nullOr(anyText)),
})

coverFields('failed_task', [failures], { http_url: text }, { client: ['paths'] })

// The history of tasks

const openHistory = once(async () => {
  const world = await openWorld(everyTest, { ...AMPLE, readyMs: 60_000 })
  await postOne(world.client, { tag: 'finished', depth: 200 })
  await postOne(world.client, { tag: 'failed', subject: 'xkcdqwrt zzgrblk' })
  world.clock.nowMs += 60_000
  await postOne(world.client, { tag: 'unfinished' })
  world.later()
  return world
})
const history = listed('the history of tasks', openHistory, {
  fetch: async (world) => {
    const [from, to] = [stamp(world.clock.nowMs - DAY_MS), stamp(presentOf(world))]
    const fields = { datetime_from: from, datetime_to: to, include_metadata: true }
    return (await world.post('/v3/app_data/id_list', [fields])).tasks[0].result
  },
  client: (world) => listHere(world),
})

const isPostUrl = (sent: unknown): boolean =>
  byForm(/^/, /^http:\/\/127\.0\.0\.1:\d+/).test(String(sent)) &&
  String(sent).endsWith('/v3/app_data/ios_store/app_searches/task_post')

coverShape('id_history.id', 'id_history', [history])
coverFields('id_history', [history], {
  id: text,
  url: {
    what: 'the path of the call, as it is sold with the host',
    fits: isPostUrl,
    read: (sent) => new URL(sent, 'http://127.0.0.1').pathname,
  },
  datetime_posted: timestamp,
  datetime_done: nullOr(timestamp),
  status: oneOf(...byForm(['20000', '40102', '40601'], ['Ok.', 'No Search Results.', 'Task Handed.'])),
  cost: [dollars, 'costMicros'],
})
coverFields('id_history', [history], { metadata: { ...record, read: (sent) => sent } }, { client: ['paths'] })
