import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { type BatcherOptions, createBatcher } from '../../src/collect/batcher.ts'

/** Batches that end when the test says so, in the order of their beginning. */
function heldBatches(options: Partial<BatcherOptions> = {}) {
  const batches: { items: readonly number[]; end: (error?: Error) => void }[] = []
  const batcher = createBatcher<number, string>(
    (items) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) =>
          error === undefined ? resolve(items.map((item) => `answer ${item}`)) : reject(error)
        batches.push({ items, end })
      }),
    { maxItems: 3, maxHeldBytes: 1000, writers: 1, ...options },
  )
  return { batcher, batches }
}

const itemsOf = (batches: readonly { items: readonly number[] }[]) => batches.map(({ items }) => items)

describe('a batch', () => {
  test('begins at once, and has what came while the one before was written', async () => {
    const { batcher, batches } = heldBatches()
    const answers = [1, 2, 3, 4, 5].map((item) => batcher.add(item, 1))
    assert.deepEqual(itemsOf(batches), [[1]])
    for (const written of [[1], [2, 3, 4], [5]]) {
      while (batches.at(-1)?.items[0] !== written[0]) await turn()
      assert.deepEqual(batches.at(-1)?.items, written)
      batches.at(-1)?.end()
    }
    assert.deepEqual(
      await Promise.all(answers),
      [1, 2, 3, 4, 5].map((item) => `answer ${item}`),
    )
  })

  test('that fails answers its own items with the error, and the next one begins', async () => {
    const { batcher, batches } = heldBatches({ maxItems: 1 })
    const [first, second] = [batcher.add(1, 1), batcher.add(2, 1)]
    batches[0]?.end(new Error('no'))
    await assert.rejects(first ?? Promise.resolve(), /^Error: no$/)
    while (batches.length < 2) await turn()
    batches[1]?.end()
    assert.equal(await second, 'answer 2')
  })

  test('is written beside as many others as there are writers', async () => {
    const { batcher, batches } = heldBatches({ maxItems: 2, writers: 2 })
    for (const item of [1, 2, 3, 4, 5]) batcher.add(item, 1)
    assert.deepEqual(itemsOf(batches), [[1], [2]])
    batches[1]?.end()
    while (batches.length < 3) await turn()
    assert.deepEqual(batches[2]?.items, [3, 4])
  })
})

test('more than may be held is not taken, until something has been written', async () => {
  const { batcher, batches } = heldBatches({ maxHeldBytes: 100 })
  const first = batcher.add(1, 100)
  assert.equal(batcher.add(2, 1), null, 'what is being written is held still')
  batches[0]?.end()
  await first
  await turn()
  assert.notEqual(batcher.add(3, 1), null)
})

test('draining waits for all that was added, and for no other item', async () => {
  const { batcher, batches } = heldBatches()
  for (const item of [1, 2]) batcher.add(item, 1)
  let isDrained = false
  const drained = batcher.drain().then(() => {
    isDrained = true
  })
  batches[0]?.end()
  while (batches.length < 2) await turn()
  assert.equal(isDrained, false)
  batches[1]?.end()
  await drained
  await batcher.drain()
})

test('every item is written once, in the order of adding, with the answer that is its own', async () => {
  const options = fc.record({
    maxItems: fc.integer({ min: 1, max: 5 }),
    writers: fc.integer({ min: 1, max: 3 }),
    count: fc.integer({ min: 0, max: 40 }),
    pauseEvery: fc.integer({ min: 1, max: 7 }),
  })
  await fc.assert(
    fc.asyncProperty(options, async ({ maxItems, writers, count, pauseEvery }) => {
      const written: number[] = []
      const batcher = createBatcher<number, number>(
        async (items) => {
          assert.ok(items.length <= maxItems)
          written.push(...items)
          await turn()
          return items.map((item) => item * 2)
        },
        { maxItems, maxHeldBytes: 1000, writers },
      )
      const answers: (Promise<number> | null)[] = []
      for (let item = 0; item < count; item += 1) {
        answers.push(batcher.add(item, 1))
        if (item % pauseEvery === 0) await turn()
      }
      const added = [...Array(count).keys()]
      assert.deepEqual(
        await Promise.all(answers),
        added.map((item) => item * 2),
      )
      assert.deepEqual(written, added)
    }),
    { numRuns: 20 },
  )
})
