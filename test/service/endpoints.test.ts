import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RejectedError, UnavailableError, UnreadableError } from '../../src/errors.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import { type Answer, ask, envelope, plainBody, taskWith } from './wire-server.ts'

const DAY_MS = 24 * 3_600_000

describe('the ready list', () => {
  const list = (client: AppDataClient) => client.listReady('ios_store', 'app_searches')
  const good = '/v3/app_data/ios_store/app_searches/task_get/advanced/a-1'

  test('gives the advanced endpoint where there is one, else the html one', async (t) => {
    const html = '/v3/app_data/android_store/app_searches/task_get/html/b-2'
    const rows = [
      { id: 'a-1', tag: 'x.1', se: 'ios_store', endpoint_advanced: good, endpoint_html: html },
      { id: 'b-2', endpoint_advanced: null, endpoint_html: html },
    ]
    const { value, asked } = await ask(t, envelope([taskWith(rows)]), list)
    assert.equal(asked, 'GET /v3/app_data/ios_store/app_searches/tasks_ready')
    const none = { seType: null, datePosted: null }
    const expected = [
      { ...none, id: 'a-1', tag: 'x.1', se: 'ios_store', path: good, kind: 'advanced', htmlPath: null },
      { ...none, id: 'b-2', tag: null, se: null, path: html, kind: 'html', htmlPath: html },
    ]
    assert.deepEqual([[...value], value.dropped], [expected, 0])
  })

  test('drops and counts rows that lead elsewhere or nowhere', async (t) => {
    const paths = [`https://evil.example.com${good}`, `//evil.example.com${good}`, '/v3/../admin/a-1']
    const others = ['/v3/x?y=/a-1', '/v2/x/a-1', '/v3/x\r\nHost: evil/a-1']
    const leading = [good, ...paths, ...others].map((path) => ({ id: 'a-1', endpoint_advanced: path }))
    const nowhere = [null, { id: 'a-1' }, { endpoint_advanced: good }]
    const rows = [...nowhere, { id: 'other', endpoint_advanced: good }, ...leading]
    const { value } = await ask(t, envelope([taskWith(rows)]), list)
    assert.deepEqual([value.length, value.dropped], [1, rows.length - 1])
  })

  test('is empty when the service counts none, and an error when a list is missing', async (t) => {
    assert.equal((await ask(t, envelope([taskWith([])]), list)).value.length, 0)
    assert.equal((await ask(t, envelope([taskWith(null, { result_count: 0 })]), list)).value.length, 0)
    await assert.rejects(ask(t, envelope([taskWith(null)]), list), UnreadableError)
    await assert.rejects(ask(t, envelope(null), list), { code: 'unavailable' })
  })
})

describe('a result', () => {
  const byId = (client: AppDataClient) =>
    client.getResult({ store: 'ios_store', fn: 'app_searches', id: 'id-1' })

  test('is fetched by id in advanced form, and by path as the ready list gave it', async (t) => {
    const answer = envelope([taskWith([{ keyword: 'yoga' }], { data: { tag: 'x.1' }, cost: 0.0012 })])
    const first = await ask(t, answer, byId)
    assert.equal(first.asked, 'GET /v3/app_data/ios_store/app_searches/task_get/advanced/id-1')
    assert.ok(first.value.kind === 'done')
    const { rawBytes, answeredAt, ...outcome } = first.value
    assert.ok(rawBytes > 100 && answeredAt instanceof Date)
    assert.deepEqual(outcome, {
      ...{ kind: 'done', serviceId: 'id-1', tag: 'x.1', statusCode: 20000 },
      ...{ result: { keyword: 'yoga' }, echo: { tag: 'x.1' }, path: null, results: 1 },
    })
    const path = '/v3/app_data/android_store/app_info/task_get/html/id-1'
    const second = await ask(t, answer, (client) => client.getResult(path))
    assert.equal(second.asked, `GET ${path}`)
  })

  test('that is refused without a task is failed with the general code', async (t) => {
    const [statusCode, message] = [40401, 'Task Not Found.']
    const refused = envelope(null, { status_code: statusCode, status_message: message })
    assert.partialDeepStrictEqual((await ask(t, refused, byId)).value, {
      kind: 'failed',
      statusCode,
      message,
    })
  })

  test('of another task is never taken, neither as data nor as a failure', async (t) => {
    for (const fields of [{ id: 'id-2' }, { id: null }, { id: 'id-2', status_code: 40403 }]) {
      await assert.rejects(ask(t, envelope([taskWith([{ a: 1 }], fields)]), byId), { path: 'tasks[0].id' })
    }
  })

  test('that is done and empty cannot be read', async (t) => {
    for (const result of [null, [], [null], {}]) {
      await assert.rejects(ask(t, envelope([taskWith(result)]), byId), { path: 'tasks[0].result' })
    }
  })

  test('with a code outside the contract says nothing about the task', async (t) => {
    await assert.rejects(ask(t, envelope([taskWith(null, { status_code: 12345 })]), byId), UnavailableError)
    await assert.rejects(ask(t, envelope(null), byId), UnavailableError)
  })

  test('is never asked for outside the service', async (t) => {
    const outside = (client: AppDataClient) => client.getResult('//evil.example.com/v3/x')
    await assert.rejects(ask(t, envelope([]), outside), RejectedError)
  })
})

describe('the task history', () => {
  // The service tells of the past month only.
  const to = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS)
  const from = new Date(to.getTime() - DAY_MS)
  const day = from.toISOString().slice(0, 10)
  const range = { from: new Date(from.getTime() + 900), to, includeMetadata: true }
  const list = (client: AppDataClient) =>
    client.listTaskIds({ ...range, offset: 1000, limit: 1000, sort: 'asc' })
  const row = {
    id: 'id-1',
    url: '/v3/app_data/ios_store/app_searches/task_post',
    datetime_posted: `${day} 10:00:00 +00:00`,
    datetime_done: null,
    status: '40602',
    cost: 0.0012,
    metadata: { tag: 'x.1', keyword: 'yoga' },
  }

  test('is asked for with an explicit order and range', async (t) => {
    const { asked, body } = await ask(t, envelope([taskWith([])]), list)
    assert.equal(asked, 'POST /v3/app_data/id_list')
    const datetime_to = `${to.toISOString().slice(0, 10)} 00:00:00 +00:00`
    const asks = { datetime_from: `${day} 00:00:00 +00:00`, datetime_to, include_metadata: true }
    assert.deepEqual(JSON.parse(body ?? ''), [{ ...asks, limit: 1000, offset: 1000, sort: 'asc' }])
  })

  test('lacks what nothing hangs on where it cannot be read or is nested too deep', async (t) => {
    const odd = { ...row, url: 7, status: { code: 1 }, cost: -1, datetime_done: '9999-01-01 00:00:00 +00:00' }
    const long = { ...row, status: 'x'.repeat(1_000), metadata: { tag: 'x.1', deep: 'DEEP' } }
    const number = { ...row, status: 20000 }
    const text = JSON.stringify({ status_code: 20000, tasks: [taskWith([odd, long, number])] })
    const deepText = text.replace('"DEEP"', `${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`)
    const [first, second, third] = (await ask(t, plainBody(200, deepText), list)).value
    const none = { url: null, status: '', costMicros: null, datetimeDone: null }
    assert.partialDeepStrictEqual(first, none)
    assert.deepEqual([second?.status.length, second?.tag, third?.status], [500, 'x.1', '20000'])
    assert.match(JSON.stringify(second?.metadata), /"…"\}+$/)
  })

  test('fails as a whole when one row cannot be read: a scan with holes proves nothing', async (t) => {
    await assert.rejects(ask(t, envelope([taskWith([row, { ...row, id: null }])]), list), {
      path: 'tasks[0].result[1].id',
    })
    await assert.rejects(ask(t, envelope([taskWith(null)]), list), UnreadableError)
  })
})

describe('references', () => {
  test('a record that cannot be read is left out; a list of nothing else is refused', async (t) => {
    const language = { language_name: 'English', language_code: 'en' }
    const list = (client: AppDataClient) => client.listLanguages('android_store')
    const { value } = await ask(t, envelope([taskWith([null, language, { language_name: 7 }])]), list)
    assert.deepEqual(value, [{ languageName: 'English', languageCode: 'en' }])
    await assert.rejects(ask(t, envelope([taskWith([{ language_name: 7 }, null])]), list), {
      name: 'UnreadableError',
      path: 'tasks[0].result[0].language_name',
      message: /^The answer to GET \/v3\/app_data\/android_store\/languages cannot be read at /,
    })
  })

  test('the time of the service is the date of an answer, and unknown without one', async (t) => {
    const readTime = async (date: string | null) => {
      const dated: Answer = (request, response, socket) => {
        response.sendDate = false
        if (date !== null) response.setHeader('date', date)
        envelope([taskWith([])])(request, response, socket)
      }
      return (await ask(t, dated, (client) => client.readServiceTime())).value
    }
    assert.deepEqual(await readTime('Sat, 21 Nov 2026 08:00:00 GMT'), new Date('2026-11-21T08:00:00Z'))
    for (const date of [null, '1', 'Sat, 13 Sep 275760 00:00:00 GMT', '2026-11-21T08:00:00Z'])
      await assert.rejects(readTime(date), { code: 'unreadable', path: 'date' })
  })

  test('a part of the status that cannot be read is left out', async (t) => {
    const health = { api: 'app_data', status: 'ok' }
    const odd = [
      null,
      { api: 'app_data' },
      { ...health, endpoints: [null, { endpoint: 'live' }, { endpoint: 'task_get', status: 'ok' }] },
    ]
    const partly = await ask(t, envelope([taskWith(odd)]), (client) => client.getStatus())
    assert.deepEqual(partly.value, [{ ...health, endpoints: [{ endpoint: 'task_get', status: 'ok' }] }])
  })
})

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
