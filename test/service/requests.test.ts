import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConfigurationError } from '../../src/errors.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import type { FailedTaskQuery } from '../../src/service/lists.ts'
import type { TaskIdQuery } from '../../src/service/task-ids.ts'
import { ask, envelope, openClient, startWireServer, taskWith } from './wire-server.ts'

const now = Date.now()
const daysAgo = (days: number) => new Date(now - days * 86_400_000)
const PAGE = { from: daysAgo(1), to: daysAgo(0), offset: 0, limit: 1000, sort: 'asc' } as const

type Call = (client: AppDataClient) => Promise<unknown>
const ids =
  (query: Partial<TaskIdQuery>): Call =>
  (client) =>
    client.listTaskIds({ ...PAGE, includeMetadata: true, ...query })
const failed =
  (query: FailedTaskQuery): Call =>
  (client) =>
    client.listFailedTasks(query)
const resend =
  (taskIds: string[]): Call =>
  (client) =>
    client.resendWebhooks(taskIds)

describe('a request that breaks a rule is never sent', () => {
  const refused: [string, Call, RegExp][] = [
    ['1001 ids', ids({ limit: 1001 }), /limit must be a whole number from 1 to 1000; it is 1001/],
    ['no ids', ids({ limit: 0 }), /limit must be/],
    ['ids before the first', ids({ offset: -1 }), /offset must be a whole number of at least 0/],
    ['an end before the beginning', ids({ to: daysAgo(2) }), /datetime_to must not be before/],
    ['ids of tomorrow', ids({ to: daysAgo(-1) }), /datetime_to must be within the past month/],
    ['metadata of two months ago', ids({ from: daysAgo(60) }), /datetime_from must be within the past month/],
    ['ids of a year ago', ids({ includeMetadata: false, from: daysAgo(365) }), /within the past six months/],
    ['ids of no time at all', ids({ from: new Date(Number.NaN) }), /datetime_from must be/],
    ['1001 failed tasks', failed({ limit: 1001 }), /limit must be a whole number from 1 to 1000/],
    ['failed tasks of eight days ago', failed({ from: daysAgo(8) }), /datetime_from .* the past seven days/],
    [
      'failed tasks of tomorrow',
      failed({ to: daysAgo(-1) }),
      /datetime_to must be within the past seven days/,
    ],
    ['a function without a name', failed({ filteredFunction: '' }), /filtered_function must be/],
    ['as many as a bigint says', failed({ limit: 5n as never }), /limit must be a whole .* 1000; it is 5\./],
    ['a resend of nothing', resend([]), /it takes 1 to 100 ids, not 0/],
    ['a resend of 101', resend(Array(101).fill('id')), /not 101/],
    ['a resend of what is no id', resend(['']), /id must be text of 1 to 64 characters; it is ""/],
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
    const call = ids({ includeMetadata: false, from: daysAgo(180) })
    assert.deepEqual((await ask(t, envelope([taskWith([])]), call)).value, [])
  })
})
