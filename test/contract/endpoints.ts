/**
 * Rows of the endpoints themselves: each by its path, with its method, through its own function of the
 * client.
 */

import assert from 'node:assert/strict'
import type { AppDataClient } from '../../src/service/client.ts'
import type { ServiceFunction } from '../../src/service/functions.ts'
import { DAY_MS, type Json, stamp } from '../sandbox/caller.ts'
import { ask, envelope, openClient, startWireServer, taskWith } from '../service/wire-server.ts'
import { ASK } from './ask.ts'
import { bySide, covers } from './covers.ts'
import { byForm, pathInForm } from './form.ts'
import { NOTED_PATHS, PATHS, STORES, type Store } from './paths.ts'
import { KINDS, type KindName, readingOf, sampleOf } from './samples.ts'
import { openWorld, postOne, postWire, task, wireTask } from './world.ts'

const SUBJECTS: Readonly<Record<ServiceFunction, (store: Store) => [field: string, subject: string]>> = {
  app_searches: () => ['keyword', 'yoga'],
  app_info: (store) => ['app_id', store === 'ios_store' ? '1480010017' : 'com.ashlune.yoga'],
  app_list: () => ['app_collection', 'topgrossing'],
  app_reviews: () => ['app_id', '1480010017'],
}

type Parts = { method: string; path: string; store: Store; fn: ServiceFunction; action: string; form: string }
const partsOf = (endpoint: string): Parts => {
  const [method = '', path = ''] = endpoint.split(' ')
  const [, , , store, fn, action = '', form = ''] = path.split('/')
  return { method, path, store: store as Store, fn: fn as ServiceFunction, action, form }
}

const kindOf = ({ store, fn, form }: Parts): KindName => {
  const found = Object.entries(KINDS).find(
    ([, kind]) => kind.store === store && kind.fn === fn && kind.form === form,
  )
  assert.ok(found)
  return found[0] as KindName
}

/** The path with an id in it where it takes one. */
const withId = async (parts: Parts): Promise<string> =>
  parts.path.includes('{id}')
    ? parts.path.replace('{id}', (await sampleOf(kindOf(parts))).task.id)
    : parts.path

/** What plain fetch sends. */
const bodyOf = async ({ path, store, fn, action }: Parts, nowMs: number): Promise<unknown> => {
  if (action === 'task_post') {
    const [field, subject] = SUBJECTS[fn](store)
    return [{ [field]: subject, location_code: 2840, language_code: 'en' }]
  }
  if (path.endsWith('webhook_resend')) return [{ id: (await sampleOf('iosSearches')).task.id }]
  if (!path.endsWith('id_list')) return [{}]
  return [{ datetime_from: stamp(nowMs - DAY_MS), datetime_to: stamp(nowMs - byForm(0, 1000)) }]
}

/** The method of the client that is for this endpoint. */
const callHere = async (client: AppDataClient, parts: Parts, nowMs: number): Promise<unknown> => {
  const { path, store, fn, action } = parts
  if (action === 'task_post') {
    return postOne(client, { subject: SUBJECTS[fn](store)[1] }, [store, fn])
  }
  if (action === 'tasks_ready') return client.listReady(store, fn)
  if (action === 'task_get')
    return KINDS[kindOf(parts)].read(client, (await withId(parts)).split('/').at(-1) ?? '')
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    languages: () => client.listLanguages(store),
    locations: () => client.listLocations(store),
    categories: () => client.listCategories(store),
    app_listings: () => client.listListingCategories('android_store'),
    '/v3/appendix/status': () => client.getStatus(),
    '/v3/appendix/errors': () => client.listErrors(),
    '/v3/appendix/user_data': () => client.getUserData(),
    '/v3/appendix/webhook_resend': async () =>
      client.resendWebhooks([(await sampleOf('iosSearches')).task.id]),
    '/v3/app_data/errors': () => client.listFailedTasks({}),
    '/v3/app_data/id_list': () => {
      const range = { from: new Date(nowMs - DAY_MS), to: new Date(nowMs - byForm(0, 1000)) }
      return client.listTaskIds({ ...range, offset: 0, limit: 1000, sort: 'asc', includeMetadata: false })
    },
  }
  const call = calls[path] ?? calls[fn]
  assert.ok(call, path)
  return call()
}

const coverEndpoint = (rows: string | readonly string[], endpoint: string): void => {
  const parts = partsOf(endpoint)
  covers(rows, `${endpoint} is answered in the envelope, with its own path`, {
    fetch: async (world) => {
      const path = await withId(parts)
      const isPost = parts.method === 'POST'
      const body = isPost ? JSON.stringify(await bodyOf(parts, world.clock.nowMs)) : null
      const response = await world.fetch(path, { method: parts.method, body })
      const { status_code, tasks_count, tasks } = (await response.json()) as Json
      assert.deepEqual([response.status, status_code, tasks_count, tasks.length], [200, 20000, 1, 1])
      assert.match(response.headers.get('content-type') ?? '', /^application\/json; charset=utf-8$/)
      assert.equal(`/${tasks[0].path.join('/')}`, path)
      const isResult = parts.action !== 'task_post' && !path.endsWith('webhook_resend')
      // As it is sold, a ready list that is empty is null.
      const mayBeEmpty = parts.action === 'tasks_ready' && byForm(false, tasks[0].result === null)
      assert.equal(Array.isArray(tasks[0].result) || mayBeEmpty, isResult)
    },
    client: async ({ client, heads, clock }) => {
      await callHere(client, parts, clock.nowMs)
      const { method, path, httpStatus } = heads.at(-1) ?? {}
      assert.deepEqual([method, path, httpStatus], [parts.method, await withId(parts), 200])
    },
  })
}

for (const [number, endpoints] of Object.entries(PATHS)) {
  for (const endpoint of endpoints) coverEndpoint(`endpoint.${number}`, endpoint)
}
for (const endpoint of NOTED_PATHS) {
  const { store, fn, action } = partsOf(endpoint)
  const isIosSearch = store === 'ios_store' && fn === 'app_searches'
  if (isIosSearch) coverEndpoint('notes.tasks_ready_and_task_get_of_ios_store_app_searches', endpoint)
  else if (action === 'task_get') coverEndpoint('notes.advanced_results_of_android_store', endpoint)
  else if (action === 'task_post') coverEndpoint('notes.task_post_of_android', endpoint)
  else coverEndpoint('service.4', endpoint)
}
for (const store of STORES) {
  covers(`store.${store}`, 'is one of the two that paths may name', {
    fetch: async (world) => {
      assert.equal((await world.fetch(`/v3/app_data/${store}/categories`)).status, 200)
      assert.equal((await world.fetch('/v3/app_data/third_store/categories')).status, 404)
    },
    client: async ({ client }) => {
      assert.ok((await client.listCategories(store)).length > 0)
      await assert.rejects(client.listReady('third_store' as Store, 'app_info'), { code: 'configuration' })
    },
  })
}

// What the service does, in the words of its paths

covers('service.3', 'pages, charts and reviews are of these stores', {
  fetch: async (world) => {
    const isThere = async (store: Store, rest: string) =>
      (await world.fetch(`/v3/app_data/${store}/${rest}`)).status === 200
    for (const fn of ['app_searches', 'app_info', 'app_list', 'app_reviews']) {
      const isIn = (list: readonly string[]) => list.includes(fn)
      for (const store of STORES) {
        const isLess = store === 'ios_store' ? isIn(['app_list']) : isIn(['app_reviews'])
        const has = byForm(!isLess, true)
        assert.equal(await isThere(store, `${fn}/task_get/advanced/x`), has, `${fn} of ${store}`)
        const hasPages = store === 'android_store' && has
        assert.equal(await isThere(store, `${fn}/task_get/html/x`), hasPages, `pages of ${fn} of ${store}`)
      }
    }
  },
  client: async ({ client }) => {
    const pages = { store: 'ios_store', fn: 'app_info', form: 'html', id: 'x' } as const
    await assert.rejects(client.getResult(pages), { code: 'configuration' })
    for (const [store, fn] of [
      ['ios_store', 'app_list'],
      ['android_store', 'app_reviews'],
    ] as const) {
      // Those of the service as it is sold: one in the form of the specification answers that it has none.
      const outcome = await client
        .getResult({ store, fn, id: 'x' })
        .catch(({ statusCode }) => ({ statusCode }))
      assert.equal('statusCode' in outcome && outcome.statusCode, byForm(40400, 40401))
      const list = await client.listReady(store, fn).then(
        ({ length }) => length,
        ({ statusCode }) => statusCode,
      )
      assert.equal(list, byForm(40400, 0))
    }
  },
})
for (const number of [13, 14, 15, 16, 17, 18]) {
  const [endpoint = ''] = PATHS[number] ?? []
  coverEndpoint('service.5', endpoint)
}
coverEndpoint('service.4', 'GET /v3/app_data/android_store/languages')
covers('service.6', 'who asks, and with what history, changes nothing; the data can be checked', {
  fetch: async (_world, t) => {
    const [one, other] = [await openWorld(t), await openWorld(t, { login: 'other' })]
    const look = async (world: typeof one, headers: Record<string, string>) => {
      const { id } = await postWire(world)
      const path = `/v3/app_data/ios_store/app_searches/task_get/advanced/${id}`
      const login = world === one ? 'sandbox' : 'other'
      const authorization = `Basic ${btoa(`${login}:sandbox`)}`
      const response = await fetch(world.url + pathInForm(path), { headers: { ...headers, authorization } })
      return ((await response.json()) as Json).tasks[0].result[0]
    }
    await postWire(other, { keyword: 'chess' })
    const result = await look(one, {})
    assert.deepEqual(await look(one, { cookie: 'a=b', 'accept-language': 'ja', 'user-agent': 'x' }), result)
    assert.deepEqual(await look(other, {}), result)
    for (const name of ['iosInfo', 'androidInfo', 'androidSearches', 'androidList', 'iosReviews'] as const) {
      assert.match((await sampleOf(name)).result.check_url, /^https:\/\//)
    }
  },
  client: async () => {
    for (const name of ['iosInfo', 'androidInfo', 'androidSearches', 'androidList', 'iosReviews'] as const) {
      assert.match((await readingOf(name)).result.checkUrl, /^https:\/\//)
    }
  },
})
covers(
  'service.7',
  'what a task costs is taken from the balance, in dollars',
  bySide(
    async (world, side) => {
      const [answer] = await ASK[side].post(world, [{}])
      assert.deepEqual([answer?.cost, await ASK[side].readBalance(world)], [1200, 2_000_000 - 1200])
    },
    { balanceUsd: 2 },
  ),
)

// Bodies and headers

const INVALID_BODY = byForm(40500, 40503)

const SEARCH_POST = '/v3/app_data/ios_store/app_searches/task_post'

covers('statement.bodies_are_json_in_utf_8', 'both ways', {
  fetch: async (world) => {
    const { data } = await postWire(world, { keyword: 'naïve 日本語 🧘', tag: 'ß' })
    assert.deepEqual([data.keyword, data.tag], ['naïve 日本語 🧘', 'ß'])
    const response = await world.fetch('/v3/appendix/errors')
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
  },
  client: async ({ client }) => {
    const outcome = await client.getAppSearches('ios_store', await postOne(client, { tag: 'ß 日本語 🧘' }))
    assert.equal(outcome.kind === 'done' && outcome.data.tag, 'ß 日本語 🧘')
  },
})
covers('statement.post_bodies_are_a_json_array', 'of task objects, also for what takes one', {
  fetch: async (world) => {
    assert.equal((await world.post(SEARCH_POST, wireTask())).status_code, INVALID_BODY)
    assert.equal((await world.post('/v3/appendix/webhook_resend', {})).status_code, INVALID_BODY)
    for (const body of [5, 'text', null]) {
      assert.equal((await world.post('/v3/app_data/errors', body)).status_code, INVALID_BODY)
    }
    assert.equal((await world.post('/v3/app_data/errors', [{}])).tasks[0].status_code, 20000)
    assert.equal((await world.post('/v3/app_data/errors', {})).tasks[0].status_code, 20000)
  },
  client: async (_world, t) => {
    const list = (client: AppDataClient) => client.listFailedTasks({ limit: 3 })
    assert.equal((await ask(t, envelope([taskWith([])]), list)).body, '[{"limit":3}]')
    const resend = (client: AppDataClient) => client.resendWebhooks(['00000000-0000-4000-8000-000000000000'])
    assert.match((await ask(t, envelope([taskWith(null)]), resend)).body ?? '', /^\[\{"id":/)
  },
})
covers('statement.every_response_is_the_envelope', 'whatever is asked', {
  fetch: async (world) => {
    for (const path of ['/v3/appendix/errors', '/v3/nothing', '/v3/%zz', '/v3/appendix/status?a=b']) {
      assert.equal(Object.keys(await world.get(path)).length, 8, path)
    }
  },
  client: async ({ client, heads }) => {
    await client.listErrors()
    const { method: _, path: __, httpStatus: ___, ...head } = heads.at(-1) ?? {}
    assert.equal(Object.keys(head).length, 7, 'all but the tasks')
  },
})
covers('authentication.1', 'is the header of HTTP Basic authentication', {
  world: { login: 'me', password: 'pässword:with:colons' },
  fetch: async ({ url }) => {
    const encoded = Buffer.from('me:pässword:with:colons').toString('base64')
    const ask = async (authorization: string) =>
      (await fetch(`${url}/v3/appendix/errors`, { headers: { authorization } })).status
    assert.equal(await ask(`Basic ${encoded}`), 200)
    assert.equal(await ask(encoded), 401)
    assert.equal(await ask(`Bearer ${encoded}`), 401)
  },
  client: async ({ client }) => assert.equal((await client.listErrors()).length, byForm(46, 44)),
})
covers('authentication.2', 'a request with a body says that it is JSON', {
  fetch: async ({ url }) => {
    const send = async (type: Record<string, string>) => {
      const headers = { authorization: `Basic ${btoa('sandbox:sandbox')}`, ...type }
      const body = new Blob([JSON.stringify([wireTask()])])
      const response = await fetch(url + pathInForm(SEARCH_POST), { method: 'POST', headers, body })
      return ((await response.json()) as Json).status_code
    }
    assert.equal(await send({ 'content-type': 'application/json' }), 20000)
    assert.equal(await send({}), byForm(40504, 40503))
    assert.equal(await send({ 'content-type': 'text/plain' }), byForm(40504, 40503))
  },
  client: async (_world, t) => {
    const server = await startWireServer(t, envelope([taskWith([])]))
    const client = openClient(t, server.baseUrl)
    await client.listFailedTasks({})
    await client.postTasks('ios_store', 'app_searches', [task()], { deadlineMs: Infinity })
    await client.listErrors()
    const types = server.received.map(({ headers }) => headers['content-type'])
    assert.deepEqual(types, ['application/json', 'application/json', undefined])
  },
})
covers('authentication.4', 'the credentials are those of the account, and any are', {
  world: { login: '<LOGIN>', password: '<PASSWORD>' },
  fetch: async ({ url }) => {
    const headers = { authorization: `Basic ${btoa('<LOGIN>:<PASSWORD>')}` }
    assert.equal((await fetch(`${url}/v3/appendix/errors`, { headers })).status, 200)
  },
  client: async ({ client }) => assert.equal((await client.getUserData()).login, '<LOGIN>'),
})
