import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { RejectedError } from '../../src/errors.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import { ask, envelope, taskWith } from './wire-server.ts'

const TASK_ID = '11111111-1111-4111-8111-111111111111'
/** As the service gives them: they look like UUIDs, and are none. */
const OTHER_ID = '11081554-0696-0066-0000-27e68ec15871'

describe('a result that is read', () => {
  const answer = (result: unknown, fields: Record<string, unknown> = {}) =>
    envelope([taskWith([result], { time: '0.25 sec.', ...fields })])
  test('comes with the parameters of the task, whatever their form', async (t) => {
    const data = { api: 'app_data', depth: '100', tag: 'x.1', app_collection: 'top', os: 7 }
    const call = (client: AppDataClient) => client.getAppList('android_store', 'id-1')
    const odd = (await ask(t, answer({ items: [] }, { data }), call)).value
    assert.ok(odd.kind === 'done' && odd.data.depth === null)
    const { value } = await ask(t, answer({ items: [] }, { data: { ...data, os: 'windows' } }), call)
    assert.ok(value.kind === 'done')
    assert.equal(value.timeSeconds, 0.25)
    const expected = {
      api: 'app_data',
      depth: 100,
      tag: 'x.1',
      appCollection: 'top',
      os: 'windows',
      keyword: null,
    }
    assert.partialDeepStrictEqual(value.data, expected)
  })
})

describe('the failed tasks', () => {
  test('lack what cannot be read, and one without an id is left out', async (t) => {
    const wrong = { error_code: 2 ** 40, http_code: -1, http_time: 1e300, http_url: 7, datetime: 'soon' }
    const odd = { id: 'id-1', error_message: 'no answer', ...wrong }
    const rows = [{ ...odd, id: '' }, null, odd, { id: 'id-2' }]
    const call = (client: AppDataClient) => client.listFailedTasks({})
    const [first, second, ...more] = (await ask(t, envelope([taskWith(rows)]), call)).value
    assert.deepEqual([first?.id, second?.id, more], ['id-1', 'id-2', []])
    const none = { errorCode: null, httpCode: null, httpTime: null, httpUrl: null, datetime: null }
    assert.partialDeepStrictEqual(first, { ...none, errorMessage: 'no answer' })
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
