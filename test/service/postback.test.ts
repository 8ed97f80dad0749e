import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { UnavailableError, UnreadableError } from '../../src/errors.ts'
import { OVERSIZED } from '../../src/service/answer.ts'
import { readPostback } from '../../src/service/task-result.ts'

const RESULT = { keyword: 'yoga', items: [] }
const task = (changes: object = {}) => ({
  id: 'id-1',
  status_code: 20000,
  data: { tag: 'ours' },
  result: [RESULT],
  ...changes,
})
const body = (...tasks: object[]) => Buffer.from(JSON.stringify({ status_code: 20000, tasks }))

describe('a postback', () => {
  test('is read compressed or not, whatever its headers said', () => {
    const plain = body(task())
    const expected = {
      kind: 'done',
      serviceId: 'id-1',
      tag: 'ours',
      statusCode: 20000,
      result: RESULT,
      ...{ echo: { tag: 'ours' }, path: null, results: 1 },
      answeredAt: null,
      rawBytes: plain.length,
    }
    assert.deepEqual(readPostback(plain, 'id-1'), expected)
    assert.deepEqual(readPostback(gzipSync(plain), 'id-1'), expected)
  })

  test('says what task_get would say: nothing found, not yet, failed', () => {
    const read = (status_code: number) =>
      readPostback(body(task({ status_code, status_message: 'Said.', result: null })), 'id-1')
    const nothing = read(40102)
    assert.ok(nothing.kind === 'done' && nothing.result === null)
    assert.deepEqual(read(40602), { kind: 'pending', statusCode: 40602 })
    assert.deepEqual(read(40101), {
      kind: 'failed',
      statusCode: 40101,
      message: 'Said.',
      ...{ echo: { tag: 'ours' }, path: null },
    })
  })

  test('with a code of the account, the money or the server says nothing about the task', () => {
    for (const status_code of [40100, 40202, 40210, 50000, 20100]) {
      assert.throws(() => readPostback(body(task({ status_code, result: null })), 'id-1'), UnavailableError)
    }
  })

  const unfit: [what: string, body: Buffer, path: string][] = [
    ['for another task', body(task({ id: 'id-2' })), 'tasks[0].id'],
    ['without an id', body(task({ id: null })), 'tasks[0].id'],
    ['without its result', body(task({ result: [] })), 'tasks[0].result'],
    ['without a task', body(), 'tasks'],
    ['for two tasks', body(task(), task()), 'tasks'],
    ['that is not JSON', Buffer.from('<html>'), 'tasks'],
    ['that is empty', Buffer.alloc(0), 'tasks'],
    ['that is cut off', gzipSync(body(task())).subarray(0, 40), 'tasks'],
    ['that unpacks to more than 32 MiB', gzipSync(Buffer.alloc(32 * 1024 * 1024 + 1)), OVERSIZED],
    ['with more values than there is room for', gzipSync(`[${'{},'.repeat(2_000_000)}{}]`), OVERSIZED],
  ]
  for (const [what, sent, path] of unfit) {
    test(`${what} is not read`, () => {
      assert.throws(
        () => readPostback(sent, 'id-1'),
        (error) => error instanceof UnreadableError && error.path === path,
      )
    })
  }
})
