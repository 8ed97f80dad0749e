import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { decodeKeyword } from '../../src/sandbox/keyword.ts'
import { type Json, measure, openSandbox, postTasks, USA } from './caller.ts'

const task = (fields: Record<string, unknown> = {}) => ({ keyword: 'yoga', location_code: USA, ...fields })
/** How a client writes a keyword (spec: Task posting). */
const encode = (keyword: string) => keyword.replaceAll('%', '%25').replaceAll('+', '%2B')

describe('posting tasks', () => {
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

  test('an app that the store does not have ends without result', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    assert.equal(await measure(caller, { app_id: '999999999' }, { name: 'app_info' }), null)
  })
})
