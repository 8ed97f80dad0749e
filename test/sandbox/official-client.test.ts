/**
 * The service's official client talks to the sandbox as it is sold, through every call of App Data and of the
 * appendix: what it declares is the only description of the service's answers that nobody here wrote.
 */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { AppDataApi, AppendixApi } from 'dataforseo-client'
import { authorize, type Caller, type Json, openSandbox, stamp, USA } from './caller.ts'
import { compareValue, type Disagreement } from './typed-answer.ts'

const PLACE = { location_code: USA, language_code: 'en' }

const ends: (() => unknown)[] = []
let world: Caller
let sent: Json
const found: Disagreement = { wrong: [], absent: new Set() }

after(async () => {
  for (const end of ends) await end()
})

/** Keeps each body as it was on the wire. */
const http = {
  fetch: async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const headers = {
      ...(init?.headers as Record<string, string>),
      authorization: authorize('sandbox', 'sandbox'),
    }
    const response = await fetch(url, { ...init, headers })
    const text = await response.text()
    sent = JSON.parse(text)
    return new Response(text, { status: response.status, headers: response.headers })
  },
}

type Api = Record<string, (argument?: unknown) => Promise<Json>>
const called = new Set<string>()
let apis: readonly [Api, Api]
/** Makes a call by the name of its method, and compares what came with what the client holds. */
const call = async (name: string, argument?: unknown, code = 20000): Promise<Json> => {
  const api =
    apis.find((each) => typeof each[name] === 'function') ?? assert.fail(`There is no method ${name}.`)
  called.add(name)
  const typed = await api[name]?.(argument)
  const before = found.wrong.length
  compareValue(sent, typed, name, found)
  assert.deepEqual(found.wrong.slice(before), [])
  assert.equal(sent.tasks[0].status_code, code, sent.tasks[0].status_message)
  return typed.tasks[0]
}

/** Every kind of task: the name in the client's methods, what it asks for, and the forms of its results. */
const TASKS = [
  ['appleAppSearches', { keyword: 'yoga', depth: 100 }, ['Advanced']],
  ['appleAppInfo', { app_id: '1480010017' }, ['Advanced']],
  ['appleAppList', { app_collection: 'top_free_ios', app_category: 'games' }, ['Advanced']],
  ['appleAppReviews', { app_id: '1480010017', sort_by: 'most_recent' }, ['Advanced']],
  ['googleAppSearches', { keyword: 'yoga', depth: 100 }, ['Advanced', 'Html']],
  ['googleAppInfo', { app_id: 'com.ashlune.yoga' }, ['Advanced', 'Html']],
  ['googleAppList', { app_collection: 'topselling_free', app_category: 'game' }, ['Advanced', 'Html']],
  ['googleAppReviews', { app_id: 'com.ashlune.yoga', sort_by: 'newest', rating: 5 }, ['Advanced', 'Html']],
] as const

/** Fields that the client declares and the sandbox does not send, by the end of their paths, and why. */
const NOT_SENT: readonly (readonly [path: RegExp, reason: string])[] = [
  [
    /^userData\.tasks\[\]\.result\[\]\.(rates|money|price)\./,
    'one class serves the tables of every API, and has the functions of all of them',
  ],
]

describe('the official client', () => {
  before(async () => {
    world = await openSandbox({ after: (end) => ends.push(end) }, { asSold: true, readyMs: 0 })
    apis = [new AppDataApi(world.url, http), new AppendixApi(world.url, http)] as unknown as typeof apis
  })

  for (const [name, subject, forms] of TASKS) {
    test(`posts, finds and reads ${name}`, async () => {
      const { id } = await call(`${name}TaskPost`, [{ ...PLACE, tag: 'mine', ...subject }], 20100)
      world.clock.nowMs += 1000
      const { result } = await call(`${name}TasksReady`)
      assert.deepEqual(
        result.map((row: Json) => [row.id, row.tag]),
        [[id, 'mine']],
      )
      assert.equal((await call('appDataTasksReady')).result.length, 1)
      for (const form of forms) {
        const { result: fetched } = await call(`${name}TaskGet${form}`, id)
        assert.ok(fetched[0].items.length > 0)
        assert.equal(fetched[0].items[0].constructor.name === 'Object', false, 'its items have a class')
      }
    })
  }

  test('reads the lists of places, languages, categories and listings', async () => {
    const names = [
      'appDataGoogleLocations',
      'appDataGoogleLanguages',
      'googleCategories',
      'googleAppListingsCategories',
    ]
    for (const name of names) await call(name)
    for (const name of ['appleLocations', 'appleLanguages', 'appleCategories', 'appleAppListingsCategories'])
      await call(name)
    await call('appDataGoogleLocationsCountry', 'us')
  })

  test('searches in listings', async () => {
    for (const name of ['appleAppListingsSearchLive', 'googleAppListingsSearchLive']) {
      const { result, cost } = await call(name, [{ title: 'yoga', limit: 3, tag: 'mine' }])
      assert.deepEqual([result[0].items.length, cost], [3, 0.0103])
    }
  })

  test('reads what was posted and what failed', async () => {
    await call('appleAppSearchesTaskPost', [{ ...PLACE, keyword: 'xkcdqwrt zzgrblk' }], 20100)
    world.clock.nowMs += 1000
    const range = {
      datetime_from: '2026-10-15 00:00:00 +00:00',
      datetime_to: stamp(world.clock.nowMs - 1000),
    }
    const { result } = await call('appDataIdList', [{ ...range, include_metadata: true }])
    assert.ok(result.length > TASKS.length)
    assert.equal((await call('appDataErrors', [{ limit: 10 }])).result.length, 1)
  })

  test('reads the account, the status and the codes, and has webhooks sent again', async () => {
    assert.equal((await call('userData')).result[0].login, 'sandbox')
    assert.equal((await call('errors')).result.length, 44)
    assert.ok((await call('appendixStatus')).result.some((row: Json) => row.api === 'app_data'))
    const [{ id }] = (await world.get('/v3/app_data/tasks_ready')).tasks[0].result
    await call('webhookResend', [{ id }], 40503)
  })

  test('has no call that is not tried', () => {
    const methods = [AppDataApi, AppendixApi].flatMap(({ prototype }) =>
      Object.getOwnPropertyNames(prototype),
    )
    const calls = methods.filter((name) => name !== 'constructor' && !name.startsWith('process'))
    assert.deepEqual(
      calls.filter((name) => !called.has(name)),
      [],
    )
  })

  test('knows no field that is not sent, but for those that are left out with a reason', () => {
    const unexplained = [...found.absent].filter((path) => !NOT_SENT.some(([pattern]) => pattern.test(path)))
    assert.deepEqual(unexplained, [])
  })
})
