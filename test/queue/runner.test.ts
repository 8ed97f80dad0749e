import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { pino } from 'pino'
import { handOutReady } from '../../src/collect/enqueue-results.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { replaceCalls } from '../post/posting.ts'
import { lasting } from '../support/lasting.ts'
import { buy, clear, watchKeywords } from '../support/stages.ts'
import { createWorld, endRetryPauses, until, type WorldRunner } from '../support/world.ts'

const world = lasting(createWorld)
let runner: WorldRunner
beforeEach(async () => {
  runner = await world.openRunner()
})
afterEach(async () => {
  await runner.stop()
  await clear(world)
  await world.db.sql`delete from pgboss.job`
})

test('results that cannot be stored are tried again and suspected of nothing, and told', async () => {
  const lines: { msg: string; results?: number; err?: { message: string } }[] = []
  const log = pino({ level: 'warn' }, { write: (line) => lines.push(JSON.parse(line)) })
  await watchKeywords(world, ['yoga', 'chess'])
  await buy(world)
  const { context } = runner
  let asked = 0
  const client = replaceCalls(world.client, {
    getResult: async (address, read) => {
      asked += 1
      // Twice both of them: as often as a batch is begun whose results end its processes.
      if (asked <= 4) throw new TypeError('a mistake of our own')
      return world.client.getResult(address, read)
    },
  })
  await startRunner({ ...context, client, log }, [])
  await handOutReady(world.db, world.client, world.settings, context.queue.enqueueFetch)
  await until('both results are stored', async () => {
    await endRetryPauses(world)
    const [row] = await world.db.sql`select count(*) as stored from ranking where gap is null`
    return row?.stored === 2
  })
  const [line] = lines
  assert.deepEqual([line?.msg, line?.results], ['batch is not stored yet', 2])
  assert.equal(line?.err?.message, 'a mistake of our own')
  const jobs = await world.db.sql`
    select retry_count as failed, data -> 'survived' as survived from pgboss.job where name = 'fetch'`
  assert.deepEqual([...jobs], [{ failed: 2, survived: 2 }])
})

describe('a result that may end each process that reads it', () => {
  /** Jobs of results that were begun twice and never stored, with a runner that works them. */
  async function fetchAfterDeaths(keywords: readonly string[]) {
    await watchKeywords(world, keywords)
    await buy(world)
    const { context } = runner
    await handOutReady(world.db, world.client, world.settings, context.queue.enqueueFetch)
    await world.db.sql`update pgboss.job set retry_count = 2 where name = 'fetch'`
    await startRunner(context, [])
  }

  test('is fetched apart from the others of its batch, which are stored', async () => {
    await fetchAfterDeaths(['yoga', 'chess', 'tea'])
    await until('each has a job of its own', async () => {
      const jobs = await world.db.sql`
        select jsonb_array_length(data -> 'items') as results from pgboss.job
        where name = 'fetch' and state = 'completed' order by 1`
      return jobs.map(({ results }) => results).join() === '1,1,1,3'
    })
    const [row] = await world.db.sql`select count(*) as stored from ranking where gap is null`
    assert.equal(row?.stored, 3)
  })

  test('and is alone is set aside: that counts as an answer that cannot be used', async () => {
    await fetchAfterDeaths(['yoga'])
    await until('it is set aside', async () => {
      const [row] = await world.db.sql`select problem from task where unusable_answers = 1`
      return /^Each process that read the result ended/.test(row?.problem ?? '')
    })
    const gets = await world.db.sql`select from api_call where kind = 'task_get'`
    assert.equal(gets.length, 0)
  })
})
