import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { ConfigurationError } from '../../src/errors.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import { ask, envelope, openClient, startWireServer, taskWith } from './wire-server.ts'

const TASK_ID = '11111111-1111-4111-8111-111111111111'

describe('a request that breaks a rule is never sent', () => {
  const now = Date.now()
  const day = 86_400_000
  const history = {
    from: new Date(now - day),
    to: new Date(now),
    offset: 0,
    limit: 1000,
    includeMetadata: true,
    sort: 'asc',
  } as const
  const refused: [string, (client: AppDataClient) => Promise<unknown>, RegExp][] = [
    [
      'an id list of 1001 rows',
      (c) => c.listTaskIds({ ...history, limit: 1001 }),
      /limit must be a whole number from 1 to 1000; it is 1001/,
    ],
    ['an id list of no rows', (c) => c.listTaskIds({ ...history, limit: 0 }), /limit must be/],
    [
      'an id list before its beginning',
      (c) => c.listTaskIds({ ...history, offset: -1 }),
      /offset must be a whole number of at least 0/,
    ],
    [
      'an id list that ends before it begins',
      (c) => c.listTaskIds({ ...history, from: new Date(now), to: new Date(now - day) }),
      /datetime_to must not be before/,
    ],
    [
      'an id list of the future',
      (c) => c.listTaskIds({ ...history, to: new Date(now + day) }),
      /datetime_to must be within the past month/,
    ],
    [
      'metadata of two months ago',
      (c) => c.listTaskIds({ ...history, from: new Date(now - 60 * day) }),
      /datetime_from must be within the past month/,
    ],
    [
      'an id list of a year ago',
      (c) => c.listTaskIds({ ...history, includeMetadata: false, from: new Date(now - 365 * day) }),
      /within the past six months/,
    ],
    [
      'an id list of no time at all',
      (c) => c.listTaskIds({ ...history, from: new Date(Number.NaN) }),
      /datetime_from must be/,
    ],
    [
      '1001 failed tasks',
      (c) => c.listFailedTasks({ limit: 1001 }),
      /limit must be a whole number from 1 to 1000/,
    ],
    [
      'failed tasks of eight days ago',
      (c) => c.listFailedTasks({ from: new Date(now - 8 * day) }),
      /datetime_from must be within the past seven days/,
    ],
    [
      'failed tasks of tomorrow',
      (c) => c.listFailedTasks({ to: new Date(now + day) }),
      /datetime_to must be within the past seven days/,
    ],
    [
      'failed tasks of a function without a name',
      (c) => c.listFailedTasks({ filteredFunction: '' }),
      /filtered_function must be/,
    ],
    [
      'as many failed tasks as a bigint says',
      (c) => c.listFailedTasks({ limit: 5n as unknown as number }),
      /limit must be a whole number from 1 to 1000; it is 5\./,
    ],
    ['a resend of nothing', (c) => c.resendWebhooks([]), /it takes 1 to 100 ids, not 0/],
    ['a resend of 101', (c) => c.resendWebhooks(Array.from({ length: 101 }, () => TASK_ID)), /not 101/],
    [
      'a resend of what is no id',
      (c) => c.resendWebhooks(['']),
      /id must be text of 1 to 64 characters; it is ""/,
    ],
  ]
  for (const [name, call, message] of refused) {
    test(name, async (t) => {
      const server = await startWireServer(t, envelope([]))
      const error = await call(openClient(t, server.baseUrl)).catch((reason) => reason)
      assert.ok(error instanceof ConfigurationError)
      assert.match(error.message, message)
      assert.equal(server.received.length, 0)
    })
  }

  test('but half a year of ids without metadata is', async (t) => {
    const query = { ...history, includeMetadata: false, from: new Date(now - 180 * day) }
    const { value } = await ask(t, envelope([taskWith([])]), (client) => client.listTaskIds(query))
    assert.deepEqual(value, [])
  })
})
