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
      {
        id: 'a-1',
        tag: 'x.1',
        se: 'ios_store',
        se_type: null,
        date_posted: '2026-11-20 10:00:00 +00:00',
        endpoint_advanced: good,
        endpoint_html: html,
      },
      { id: 'b-2', endpoint_advanced: null, endpoint_html: html },
    ]
    const { value, asked } = await ask(t, envelope([taskWith(rows)]), list)
    const row = { se: 'ios_store', seType: null, datePosted: new Date('2026-11-20T10:00:00Z') }
    assert.equal(asked, 'GET /v3/app_data/ios_store/app_searches/tasks_ready')
    assert.deepEqual(
      [...value],
      [
        { ...row, id: 'a-1', tag: 'x.1', path: good, kind: 'advanced', htmlPath: null },
        {
          ...row,
          id: 'b-2',
          tag: null,
          path: html,
          kind: 'html',
          htmlPath: html,
          se: null,
          datePosted: null,
        },
      ],
    )
    assert.equal(value.dropped, 0)
  })

  test('drops and counts rows that lead elsewhere or nowhere', async (t) => {
    const strays = [
      null,
      { id: 'a-1' },
      { endpoint_advanced: good },
      { id: 'other', endpoint_advanced: good },
      { id: 'a-1', endpoint_advanced: `https://evil.example.com${good}` },
      { id: 'a-1', endpoint_advanced: `//evil.example.com${good}` },
      { id: 'a-1', endpoint_advanced: '/v3/../admin/a-1' },
      { id: 'a-1', endpoint_advanced: '/v3/x?y=/a-1' },
      { id: 'a-1', endpoint_advanced: '/v2/x/a-1' },
      { id: 'a-1', endpoint_advanced: '/v3/x\r\nHost: evil/a-1' },
    ]
    const { value } = await ask(
      t,
      envelope([taskWith([...strays, { id: 'a-1', endpoint_advanced: good }])]),
      list,
    )
    assert.equal(value.length, 1)
    assert.equal(value.dropped, strays.length)
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
    assert.equal(first.value.kind, 'done')
    const rawBytes = first.value.kind === 'done' ? first.value.rawBytes : 0
    assert.ok(rawBytes > 100)
    assert.deepEqual(first.value, {
      kind: 'done',
      serviceId: 'id-1',
      tag: 'x.1',
      statusCode: 20000,
      result: { keyword: 'yoga' },
      ...{ echo: { tag: 'x.1' }, path: null, results: 1 },
      answeredAt: first.value.kind === 'done' ? first.value.answeredAt : null,
      rawBytes,
    })
    const path = '/v3/app_data/android_store/app_info/task_get/html/id-1'
    const second = await ask(t, answer, (client) => client.getResult(path))
    assert.equal(second.asked, `GET ${path}`)
  })

  test('that is refused without a task is failed with the general code', async (t) => {
    const { value } = await ask(
      t,
      envelope(null, { status_code: 40401, status_message: 'Task Not Found.' }),
      byId,
    )
    assert.partialDeepStrictEqual(value, { kind: 'failed', statusCode: 40401, message: 'Task Not Found.' })
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
  const query = {
    from: new Date(from.getTime() + 900),
    to,
    offset: 1000,
    limit: 1000,
    includeMetadata: true,
    sort: 'asc',
  } as const
  const list = (client: AppDataClient) => client.listTaskIds(query)
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
    assert.deepEqual(JSON.parse(body ?? ''), [
      {
        datetime_from: `${day} 00:00:00 +00:00`,
        datetime_to: `${to.toISOString().slice(0, 10)} 00:00:00 +00:00`,
        limit: 1000,
        offset: 1000,
        sort: 'asc',
        include_metadata: true,
      },
    ])
  })

  test('lacks what nothing hangs on where it cannot be read or is nested too deep', async (t) => {
    const deep = JSON.parse(`${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`)
    const odd = { ...row, url: 7, status: { code: 1 }, cost: -1, datetime_done: '9999-01-01 00:00:00 +00:00' }
    const long = { ...row, status: 'x'.repeat(1_000), metadata: { tag: 'x.1', deep: 'DEEP' } }
    const number = { ...row, status: 20000 }
    const text = JSON.stringify({ status_code: 20000, tasks: [taskWith([odd, long, number])] })
    const deepText = text.replace('"DEEP"', `${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`)
    const { value } = await ask(t, plainBody(200, deepText), list)
    const [first, second] = value
    assert.deepEqual(
      [first?.url, first?.status, first?.costMicros, first?.datetimeDone],
      [null, '', null, null],
    )
    assert.deepEqual([second?.status.length, second?.tag, value[2]?.status], [500, 'x.1', '20000'])
    assert.throws(() => JSON.stringify(deep), RangeError)
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

  test('a date that is none is no time of the service', async (t) => {
    for (const date of ['1', 'Sat, 13 Sep 275760 00:00:00 GMT', '2026-11-21T08:00:00Z']) {
      const dated: Answer = (request, response, socket) => {
        response.setHeader('date', date)
        envelope([taskWith([])])(request, response, socket)
      }
      await assert.rejects(
        ask(t, dated, (client) => client.readServiceTime()),
        { path: 'date' },
      )
    }
  })

  test("the service's own time is the date of an answer, and unknown without one", async (t) => {
    const answer = envelope([taskWith([])])
    const dated: Answer = (request, response, socket) => {
      response.setHeader('date', 'Sat, 21 Nov 2026 08:00:00 GMT')
      answer(request, response, socket)
    }
    const { value } = await ask(t, dated, (client) => client.readServiceTime())
    assert.deepEqual(value, new Date('2026-11-21T08:00:00Z'))
    const undated: Answer = (request, response, socket) => {
      response.sendDate = false
      answer(request, response, socket)
    }
    await assert.rejects(
      ask(t, undated, (client) => client.readServiceTime()),
      UnreadableError,
    )
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
