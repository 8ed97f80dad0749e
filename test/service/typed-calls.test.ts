import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { ConfigurationError, RejectedError } from '../../src/errors.ts'
import { AppDataClient } from '../../src/service/client.ts'
import type { AnswerHead } from '../../src/service/transport.ts'
import { ask, envelope, openClient, startWireServer, taskWith } from './wire-server.ts'

const TASK_ID = '11111111-1111-4111-8111-111111111111'
const OTHER_ID = '22222222-2222-4222-8222-222222222222'

describe('a result that is read', () => {
  const answer = (result: unknown, fields: Record<string, unknown> = {}) =>
    envelope([taskWith([result], { time: '0.25 sec.', ...fields })])
  const app = { type: 'ios_store_info_organic', app_id: '7' }
  const good: [string, string, unknown, (client: AppDataClient) => Promise<{ kind: string }>][] = [
    [
      'a search',
      'ios_store/app_searches/task_get/advanced',
      { items: [] },
      (c) => c.getAppSearches('ios_store', 'id-1'),
    ],
    [
      'an app',
      'android_store/app_info/task_get/advanced',
      { items: [app] },
      (c) => c.getAppInfo('android_store', 'id-1'),
    ],
    ['a list', 'android_store/app_list/task_get/advanced', { items: [] }, (c) => c.getAppList('id-1')],
    [
      'reviews',
      'ios_store/app_reviews/task_get/advanced',
      { app_id: '7', items: [] },
      (c) => c.getAppReviews('id-1'),
    ],
    [
      'raw pages of an app',
      'android_store/app_info/task_get/html',
      { items: [] },
      (c) => c.getHtml('app_info', 'id-1'),
    ],
    [
      'raw pages of a list',
      'android_store/app_list/task_get/html',
      { items: [] },
      (c) => c.getHtml('app_list', 'id-1'),
    ],
    [
      'raw pages of a search',
      'android_store/app_searches/task_get/html',
      { items: [] },
      (c) => c.getHtml('app_searches', 'id-1'),
    ],
  ]
  for (const [name, path, result, call] of good) {
    test(`is fetched from its own endpoint: ${name}`, async (t) => {
      const { value, asked } = await ask(t, answer(result), call)
      assert.equal(asked, `GET /v3/app_data/${path}/id-1`)
      assert.equal(value.kind, 'done')
    })
  }

  test('comes with the parameters of the task, whatever their form', async (t) => {
    const data = {
      api: 'app_data',
      function: 'app_list',
      depth: '100',
      tag: 'x.1',
      app_collection: 'top',
      os: 7,
    }
    const call = (client: AppDataClient) => client.getAppList('id-1')
    const odd = (await ask(t, answer({ items: [] }, { data }), call)).value
    assert.ok(odd.kind === 'done' && odd.data.depth === null)
    const { value } = await ask(t, answer({ items: [] }, { data: { ...data, os: 'windows' } }), call)
    assert.ok(value.kind === 'done')
    assert.equal(value.timeSeconds, 0.25)
    const { api, depth, tag, appCollection, os, keyword } = value.data
    assert.deepEqual(
      [api, depth, tag, appCollection, os, keyword],
      ['app_data', 100, 'x.1', 'top', 'windows', null],
    )
  })

  test('is null when nothing was found, and pending or failed like any other', async (t) => {
    const call = (client: AppDataClient) => client.getAppReviews('id-1')
    const { value: nothing } = await ask(t, envelope([taskWith(null, { status_code: 40102 })]), call)
    assert.ok(nothing.kind === 'done' && nothing.result === null && nothing.statusCode === 40102)
    const { value: early } = await ask(t, envelope([taskWith(null, { status_code: 40602 })]), call)
    assert.deepEqual(early, { kind: 'pending', statusCode: 40602 })
    await assert.rejects(ask(t, answer({ items: [] }), call), { path: 'app_id' })
  })

  test('in a form that the store does not give is refused before it is asked for', async () => {
    const client = new AppDataClient({ baseUrl: 'http://127.0.0.1:9', login: 'a', password: 'b' })
    const html = { store: 'ios_store', fn: 'app_info', id: 'id-1', form: 'html' } as const
    await assert.rejects(client.getResult(html), ConfigurationError)
    await assert.rejects(client.listReady('ios_store', 'app_list'), /ios_store has no app_list/)
  })
})

describe('the failed tasks', () => {
  const row = {
    id: 'id-1',
    datetime: '2026-11-20 10:00:00 +00:00',
    function: 'postback_url',
    error_code: '40000',
    error_message: 'no answer',
    http_url: 'https://example.com/hook',
    http_method: 'POST',
    http_code: 500,
    http_time: 10.0001,
    http_response: 'oops',
  }

  test('are asked for with what was chosen, and every field is read', async (t) => {
    const now = new Date()
    const query = { limit: 1000, offset: 0, filteredFunction: 'postback_url', from: now, to: now }
    const { value, asked, body } = await ask(t, envelope([taskWith([row])]), (client) =>
      client.listFailedTasks(query),
    )
    assert.equal(asked, 'POST /v3/app_data/errors')
    const stamp = `${now.toISOString().slice(0, 19).replace('T', ' ')} +00:00`
    assert.deepEqual(JSON.parse(body ?? ''), [
      { limit: 1000, offset: 0, filtered_function: 'postback_url', datetime_from: stamp, datetime_to: stamp },
    ])
    assert.deepEqual(value, [
      {
        id: 'id-1',
        datetime: new Date('2026-11-20T10:00:00Z'),
        function: 'postback_url',
        errorCode: 40000,
        errorMessage: 'no answer',
        httpUrl: 'https://example.com/hook',
        httpMethod: 'POST',
        httpCode: 500,
        httpTime: 10.0001,
        httpResponse: 'oops',
      },
    ])
  })

  test('may be asked for without any choice, and may lack everything but the id', async (t) => {
    const { value, body } = await ask(t, envelope([taskWith([{ id: 'id-1' }])]), (client) =>
      client.listFailedTasks({}),
    )
    assert.deepEqual(JSON.parse(body ?? ''), [{}])
    assert.deepEqual([value[0]?.id, value[0]?.httpCode], ['id-1', null])
  })

  test('lack what cannot be read, and one without an id is left out', async (t) => {
    const odd = {
      ...row,
      error_code: 2 ** 40,
      http_code: -1,
      http_time: 1e300,
      http_url: 7,
      datetime: 'soon',
    }
    const { value } = await ask(t, envelope([taskWith([{ ...row, id: '' }, null, odd])]), (client) =>
      client.listFailedTasks({}),
    )
    assert.equal(value.length, 1)
    const { errorCode, httpCode, httpTime, httpUrl, datetime, errorMessage } = value[0] ?? {}
    assert.deepEqual([errorCode, httpCode, httpTime, httpUrl, datetime], [null, null, null, null, null])
    assert.equal(errorMessage, 'no answer')
  })
})

describe('a resend of webhooks', () => {
  const resend = (client: AppDataClient) => client.resendWebhooks([TASK_ID, OTHER_ID])
  const sent = { status_code: 20100, status_message: 'Task Created.' }
  const unsupported = { status_code: 40503, status_message: 'Not supported.' }
  const expected = [
    { id: TASK_ID, isResent: true, statusCode: 20100, message: 'Task Created.' },
    { id: OTHER_ID, isResent: false, statusCode: 40503, message: 'Not supported.' },
  ]

  test('has an answer for each id, by id in whatever order', async (t) => {
    const byId = envelope([
      { id: OTHER_ID, ...unsupported },
      { id: TASK_ID, ...sent },
    ])
    const { value, asked, body } = await ask(t, byId, resend)
    assert.equal(asked, 'POST /v3/appendix/webhook_resend')
    assert.deepEqual(JSON.parse(body ?? ''), [{ id: TASK_ID }, { id: OTHER_ID }])
    assert.deepEqual(value, expected)
  })

  test('by the id in its data, or by its place', async (t) => {
    const byData = envelope([
      { id: 'b', ...unsupported, data: { id: OTHER_ID } },
      { id: 'a', ...sent, data: { id: TASK_ID } },
    ])
    assert.deepEqual((await ask(t, byData, resend)).value, expected)
    const byPlace = envelope([
      { id: 'a', ...sent },
      { id: 'b', ...unsupported },
    ])
    assert.deepEqual((await ask(t, byPlace, resend)).value, expected)
  })

  test('of which the service says nothing is not taken for done', async (t) => {
    const { value } = await ask(t, envelope([{ id: TASK_ID, ...sent }]), resend)
    assert.deepEqual(
      value.map(({ isResent, statusCode }) => [isResent, statusCode]),
      [
        [true, 20100],
        [false, null],
      ],
    )
    await assert.rejects(ask(t, envelope(null, { status_code: 40006 }), resend), RejectedError)
  })
})

test('the categories of listings have their counts', async (t) => {
  const rows = [{ category: 'Game Action', count: '12' }]
  const { value, asked } = await ask(t, envelope([taskWith(rows)]), (client) =>
    client.listListingCategories(),
  )
  assert.equal(asked, 'GET /v3/app_data/android_store/app_listings/categories')
  assert.deepEqual(value, [{ category: 'Game Action', count: 12 }])
})

test('whoever listens is told what stands above the tasks of each answer', async (t) => {
  const heads: AnswerHead[] = []
  const server = await startWireServer(t, envelope([taskWith([])]))
  const client = openClient(t, server.baseUrl, { onAnswer: (head) => heads.push(head) })
  await client.getStatus()
  const send = { deadlineMs: performance.now() + 30_000 }
  await client.postTasks('ios_store', 'app_info', [{ tag: 'a.1', subject: '7', locationCode: 2840 }], send)
  const head = {
    httpStatus: 200,
    statusCode: 20000,
    message: 'Ok.',
    version: '0.1.20260101',
    timeSeconds: 0.1,
    costMicros: 0,
    tasksCount: 1,
    tasksError: 0,
  }
  assert.deepEqual(heads, [
    { ...head, method: 'GET', path: '/v3/appendix/status' },
    { ...head, method: 'POST', path: '/v3/app_data/ios_store/app_info/task_post' },
  ])
})
