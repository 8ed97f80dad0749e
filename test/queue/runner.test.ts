import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { handOutReady } from '../../src/collect/enqueue-results.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { replaceCalls } from '../post/posting.ts'
import { buy, watchKeywords } from '../support/stages.ts'
import { createWorld, until } from '../support/world.ts'

test('a batch of results that cannot be stored is tried again, and the log says why', async (t) => {
  const world = await createWorld()
  t.after(() => world.close())
  const lines: { msg: string; results?: number; err?: { message: string } }[] = []
  const log = pino({ level: 'warn' }, { write: (line) => lines.push(JSON.parse(line)) })
  await watchKeywords(world, ['yoga', 'chess'])
  await buy(world)
  const { context } = await world.openRunner()
  let asked = 0
  const client = replaceCalls(world.client, {
    getResult: async (address, read) => {
      asked += 1
      if (asked <= 2) throw new TypeError('a mistake of our own')
      return world.client.getResult(address, read)
    },
  })
  await startRunner({ ...context, client, log }, [])
  await handOutReady(world.db, world.client, world.settings, context.queue.enqueueFetch)
  await until('both results are stored', async () => {
    const [row] = await world.db.sql`select count(*) as stored from ranking where gap is null`
    return row?.stored === 2
  })
  const [line] = lines
  assert.deepEqual([line?.msg, line?.results], ['batch is not stored yet', 2])
  assert.equal(line?.err?.message, 'a mistake of our own')
})
