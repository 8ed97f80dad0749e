import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createFetchOrder, fetchResults } from '../../src/collect/fetch.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import type { ResultOutcome } from '../../src/service/task-result.ts'

const SIGNAL = new AbortController().signal

/** A client whose answers wait until they are told to come. */
function createWaitingClient() {
  const asked: string[] = []
  const answers = new Map<string, () => void>()
  const getResult = ({ id }: { readonly id: string }, read: (outcome: ResultOutcome) => unknown) => {
    asked.push(id)
    return new Promise((resolve) => {
      answers.set(id, () => resolve(read({ kind: 'pending', statusCode: 40602 })))
    })
  }
  const answer = async (id: string) => {
    answers.get(id)?.()
    await nextTurn()
  }
  return { client: { getResult } as unknown as AppDataClient, asked, answer }
}

function itemsOf(job: string, count: number): FetchItem[] {
  return Array.from({ length: count }, (_, index) => ({
    serviceId: `${job}${index + 1}`,
    path: null,
    kind: 'advanced',
    html: false,
    htmlPath: null,
    store: 'ios_store',
    function: 'app_searches',
    depth: 100,
  }))
}

test(
  'a fetch job begins when the last result of the one before is being fetched, and does not wait for it ' +
    'to end',
  async () => {
    const { client, asked, answer } = createWaitingClient()
    const inOrder = createFetchOrder()
    const fetch = (items: readonly FetchItem[]) =>
      inOrder((onAllBegun) => fetchResults(client, items, 2, SIGNAL, onAllBegun))
    const first = fetch(itemsOf('a', 3))
    const second = fetch(itemsOf('b', 2))
    await nextTurn()
    assert.deepEqual(asked, ['a1', 'a2'])
    await answer('a1')
    assert.deepEqual(asked, ['a1', 'a2', 'a3', 'b1', 'b2'])
    for (const id of ['b1', 'b2']) await answer(id)
    assert.equal((await second).length, 2)
    for (const id of ['a2', 'a3']) await answer(id)
    assert.equal((await first).length, 3)
  },
)

test('a fetch job that fails, or has nothing to fetch, keeps no other one waiting', async () => {
  const { client, answer } = createWaitingClient()
  const inOrder = createFetchOrder()
  const failed = inOrder(() => Promise.reject(new Error('It was called off.')))
  const empty = inOrder((onAllBegun) => fetchResults(client, [], 2, SIGNAL, onAllBegun))
  const last = inOrder((onAllBegun) => fetchResults(client, itemsOf('c', 1), 2, SIGNAL, onAllBegun))
  await assert.rejects(failed, /called off/)
  assert.deepEqual(await empty, [])
  await nextTurn()
  await answer('c1')
  assert.equal((await last)[0]?.kind, 'later')
})
