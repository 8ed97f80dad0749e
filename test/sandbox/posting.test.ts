import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { decodeKeyword } from '../../src/sandbox/keyword.ts'
import { fetchTask, type Json, measure, openSandbox, postTasks, USA } from './caller.ts'

const task = (fields: Record<string, unknown> = {}) => ({ keyword: 'yoga', location_code: USA, ...fields })
/** How a client writes a keyword (spec: Task posting). */
const encode = (keyword: string) => keyword.replaceAll('%', '%25').replaceAll('+', '%2B')

describe('posting tasks', () => {
  test('a created task echoes its parameters and what the service adds', async (t) => {
    const caller = await openSandbox(t)
    const posted = task({ language_code: 'en', tag: 'mine.1', priority: 2, depth: 150 })
    const envelope = await caller.post('/v3/app_data/ios_store/app_searches/task_post', [posted])
    assert.match(envelope.version, /^\d+\.\d+\.\d{8}$/)
    assert.match(envelope.time, /^[\d.]+ sec\.$/)
    const { tasks, version, time, ...counts } = envelope
    assert.deepEqual(counts, {
      status_code: 20000,
      status_message: 'Ok.',
      cost: 0.0048,
      tasks_count: 1,
      tasks_error: 0,
    })
    assert.match(tasks[0].id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    assert.equal(tasks[0].status_code, 20100)
    assert.equal(tasks[0].status_message, 'Task Created.')
    assert.equal(tasks[0].cost, 0.0048)
    assert.equal(tasks[0].result, null)
    assert.equal(tasks[0].result_count, 0)
    assert.deepEqual(tasks[0].path, ['v3', 'app_data', 'ios_store', 'app_searches', 'task_post'])
    assert.deepEqual(tasks[0].data, {
      api: 'app_data',
      function: 'app_searches',
      se: 'ios_store',
      se_type: 'organic',
      ...posted,
      device: 'desktop',
      os: 'windows',
    })
  })

  for (const keyword of ['c++', '100% free', '3+ math', 'naïve', '日本語', '🧘‍♀️ yoga', '%41', 'a+b%2B']) {
    test(`the keyword ${keyword} comes back exactly as it was meant`, async (t) => {
      const caller = await openSandbox(t, { readyMs: 0 })
      const [posted] = await postTasks(caller, [task({ keyword: encode(keyword) })])
      const fetched = await fetchTask(caller, posted.id)
      assert.equal(fetched.data.keyword, encode(keyword))
      if (fetched.status_code === 20000) assert.equal(fetched.result[0].keyword, keyword)
      else assert.equal(fetched.status_code, 40102)
    })
  }

  test('every encoded keyword decodes to itself, percent-encoded UTF-8 decodes, and a lone percent sign stays', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (keyword) => {
        assert.equal(decodeKeyword(encode(keyword)), keyword)
        assert.equal(decodeKeyword(encodeURIComponent(keyword)), keyword)
      }),
    )
    assert.equal(decodeKeyword('50%'), '50%')
    assert.equal(decodeKeyword('a+b'), 'a b')
  })

  const invalid: [string, Record<string, unknown>][] = [
    ['keyword', { keyword: undefined }],
    ['keyword', { keyword: ' ' }],
    ['keyword', { keyword: '%20+' }],
    ['keyword', { keyword: 'x'.repeat(701) }],
    ['keyword', { keyword: 5 }],
    ['location_code', { location_code: undefined }],
    ['location_code', { location_code: 1 }],
    ['location_code', { location_code: '2840' }],
    ['location_code', { location_code: 2643 }],
    ['location_code', { location_code: 2112 }],
    ['location_code', { location_code: 21137 }],
    ['location_name', { location_code: undefined, location_name: 'Atlantis' }],
    ['location_name', { location_code: undefined, location_name: 'Belarus' }],
    ['language_code', { language_code: 'xx' }],
    ['language_name', { language_name: 'Klingon' }],
    ['priority', { priority: 3 }],
    ['depth', { depth: 0 }],
    ['depth', { depth: 701 }],
    ['depth', { depth: 1.5 }],
    ['tag', { tag: 'x'.repeat(256) }],
    ['tag', { tag: 7 }],
    ['postback_url', { postback_url: 'nowhere' }],
    ['postback_data', { postback_url: 'http://127.0.0.1/x' }],
    ['postback_data', { postback_url: 'http://127.0.0.1/x', postback_data: 'html' }],
    ['pingback_url', { pingback_url: 'ftp://127.0.0.1/x' }],
  ]

  test('a task that breaks a rule is refused with the name of the field, alone and without cost', async (t) => {
    const caller = await openSandbox(t)
    const tasks = [task(), ...invalid.map(([, fields]) => task(fields)), task({ keyword: 'x'.repeat(700) })]
    const envelope = await caller.post('/v3/app_data/ios_store/app_searches/task_post', tasks)
    assert.equal(envelope.tasks_count, tasks.length)
    assert.equal(envelope.tasks_error, invalid.length)
    assert.equal(envelope.cost, 0.0024)
    assert.deepEqual(
      envelope.tasks.map((answer: Json) => `${answer.status_code} ${answer.status_message} ${answer.cost}`),
      [
        '20100 Task Created. 0.0012',
        ...invalid.map(([field]) => `40501 Invalid Field: '${field}'. 0`),
        '20100 Task Created. 0.0012',
      ],
    )
  })

  test('the other kinds of task have their own rules', async (t) => {
    const caller = await openSandbox(t)
    const codes = async (store: string, name: string, tasks: unknown[]) =>
      (await postTasks(caller, tasks, { store, name })).map(
        (answer) => `${answer.status_code} ${answer.cost}`,
      )
    assert.deepEqual(
      await codes('android_store', 'app_searches', [
        task(),
        task({ depth: 31 }),
        task({ depth: 200 }),
        task({ depth: 201 }),
        task({ location_code: 21137 }),
        task({ postback_url: 'http://127.0.0.1/x', postback_data: 'html' }),
      ]),
      ['20100 0.0012', '20100 0.0024', '20100 0.0084', '40501 0', '20100 0.0012', '20100 0.0012'],
    )
    const info = (app_id: unknown) => ({ app_id, location_code: USA })
    assert.deepEqual(
      await codes('ios_store', 'app_info', [
        info('1480010017'),
        { ...info('1480010017'), priority: 2 },
        info('a.b'),
      ]),
      ['20100 0.0006', '20100 0.0012', '40501 0'],
    )
    assert.deepEqual(
      await codes('android_store', 'app_info', [info('com.ashlune.yoga'), info('1480010017')]),
      ['20100 0.0006', '40501 0'],
    )
  })

  test('names of locations and languages are as good as codes', async (t) => {
    const caller = await openSandbox(t)
    const [answer] = await postTasks(caller, [
      { keyword: 'yoga', location_name: 'Germany', language_name: 'German' },
    ])
    assert.equal(answer.data.location_code, 2276)
    assert.equal(answer.data.language_code, 'de')
  })

  test('the tasks beyond the hundredth are refused, the first hundred are not', async (t) => {
    const caller = await openSandbox(t)
    const answers = await postTasks(
      caller,
      Array.from({ length: 103 }, () => task()),
    )
    assert.deepEqual(
      answers.map((answer) => answer.status_code),
      [...Array(100).fill(20100), ...Array(3).fill(40006)],
    )
  })

  test('identical tasks are created and charged again', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const ids = (await postTasks(caller, [task({ tag: 'same' }), task({ tag: 'same' })])).map(
      (answer) => answer.id,
    )
    assert.notEqual(ids[0], ids[1])
    assert.equal(
      (await caller.get('/v3/appendix/user_data')).tasks[0].result[0].rates.money.balance,
      999.9976,
    )
  })

  test('a body that holds no tasks is refused as a whole', async (t) => {
    const caller = await openSandbox(t)
    const path = '/v3/app_data/ios_store/app_searches/task_post'
    const send = async (body: string, type = 'application/json') => {
      const headers = { authorization: `Basic ${btoa('sandbox:sandbox')}`, 'content-type': type }
      const response = await caller.fetch(path, { method: 'POST', body, headers })
      const envelope = (await response.json()) as Json
      return [response.status, envelope.status_code, envelope.tasks]
    }
    assert.deepEqual(await send('[{"keyword":'), [200, 40500, null])
    assert.deepEqual(await send('{}'), [200, 40500, null])
    assert.deepEqual(await send('[]'), [200, 40502, null])
    assert.deepEqual(await send('[]', 'text/plain'), [200, 40504, null])
    assert.deepEqual(await send(`[${' '.repeat(4_000_001)}]`), [200, 40007, null])
    const [nothing] = await postTasks(caller, [null])
    assert.equal(nothing.status_code, 40501)
  })

  test('an app that the store does not have ends without result', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    assert.equal(await measure(caller, { app_id: '999999999' }, { name: 'app_info' }), null)
  })
})
