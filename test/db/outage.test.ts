import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryWhileDatabaseIsDown } from '../../src/db/outage.ts'

const failure = (message: string, code: string) => Object.assign(new Error(message), { code })
const WORKER_REFUSES = failure('connection to the remote node failed', '08006')
const WORKER_LOST = failure('failure on connection marked as essential: 10.0.0.1:5432', 'XX000')

test('work is done again while the database or a worker of it is away', async () => {
  for (const outage of [WORKER_REFUSES, WORKER_LOST]) {
    let attempts = 0
    const done = await retryWhileDatabaseIsDown(async () => {
      attempts += 1
      if (attempts === 1) throw outage
      return 'stored'
    }, new AbortController().signal)
    assert.deepEqual([done, attempts], ['stored', 2])
  }
})

test('what the database refuses is not tried again, and nothing is once the time is over', async () => {
  const refused = failure('duplicate key', '23505')
  let attempts = 0
  const fail = (error: Error) => async () => {
    attempts += 1
    throw error
  }
  await assert.rejects(retryWhileDatabaseIsDown(fail(refused), new AbortController().signal), refused)
  await assert.rejects(retryWhileDatabaseIsDown(fail(WORKER_REFUSES), AbortSignal.abort()), WORKER_REFUSES)
  assert.equal(attempts, 2)
})
