import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { openQueue } from '../../src/queue/queue.ts'
import { createWorld, until } from '../support/world.ts'

test('as many jobs as a queue may work on run at once and never more, also in later rounds', async (t) => {
  const world = await createWorld()
  const queue = await openQueue(world.db.url, pino({ level: 'silent' }))
  t.after(async () => {
    await queue.stop(0)
    await world.close()
  })
  let running = 0
  let most = 0
  const done: number[] = []
  let letGo = Promise.withResolvers<void>()
  await queue.work('deliver', 3, async ({ data: { channelId } }) => {
    running += 1
    most = Math.max(most, running)
    await letGo.promise
    running -= 1
    done.push(channelId)
  })
  for (const channels of [
    [1, 2, 3, 4, 5],
    [6, 7, 8, 9, 10],
  ]) {
    letGo = Promise.withResolvers()
    await world.db.begin((tx) => queue.enqueueDeliveries(tx, channels))
    await until('three of them run', async () => running === 3)
    letGo.resolve()
    await until('all are done', async () => done.length === channels.at(-1))
    assert.equal(running, 0)
  }
  assert.equal(most, 3)
  assert.deepEqual(
    done.toSorted((a, b) => a - b),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  )
})
