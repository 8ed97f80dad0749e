/** Rows of limits: how many calls, rows and dollars, in which minute and on which day. */

import assert from 'node:assert/strict'
import { Options, type OptionsInput } from '../../src/sandbox/options.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import { DAY_MS, type Json, MINUTE_MS, stamp } from '../sandbox/caller.ts'
import { until } from '../sandbox/receiver.ts'
import { ASK } from './ask.ts'
import { bySide, covers, type Otherwise, type Side } from './covers.ts'
import { byForm } from './form.ts'
import { AMPLE, everyTest, listHere, once, openWorld, post, postAnswered, task, type World } from './world.ts'

const DEFAULTS = Options.parse({})

/**
 * A limit of calls in any 60 seconds: the option that holds it, its value, and the calls that it counts
 * together.
 */
type CallLimit = {
  option: keyof OptionsInput & keyof Options
  value: number
  /** The paths that are asked in turn; a POST carries one empty object. */
  paths: readonly string[]
  client(client: AppDataClient, world: World): Promise<unknown>
}

const ALLOWED = 3
const coverCalls = (rows: readonly string[], { option, value, paths, client }: CallLimit): void => {
  covers(rows, `${value} calls in any 60 seconds are served, and the next is refused whole`, {
    world: { [option]: ALLOWED },
    fetch: async (world) => {
      assert.equal(DEFAULTS[option], value)
      let calls = 0
      const call = (): Promise<Json> => {
        const [method, path = ''] = paths[calls % paths.length]?.split(' ') ?? []
        calls += 1
        return method === 'POST' ? world.post(path, [{}]) : world.get(path)
      }
      for (let minute = 0; minute < 2; minute += 1) {
        for (let served = 0; served < ALLOWED; served += 1) assert.equal((await call()).status_code, 20000)
        world.clock.nowMs += MINUTE_MS - 1
        const { status_code, status_message, tasks } = await call()
        const message = byForm(
          'Rate limit per minute exceeded.',
          'The rate-limit per minute has been exceeded.',
        )
        assert.deepEqual([status_code, status_message], [40202, message])
        // As it is sold, the refusal stands at one task as well.
        assert.deepEqual(tasks?.map((each: Json) => each.status_code) ?? null, byForm(null, [40202]))
        world.clock.nowMs += 1
      }
    },
    client: async (world) => {
      for (let calls = 0; calls < ALLOWED; calls += 1) await client(world.client, world)
      await assert.rejects(client(world.client, world), { code: 'rate_limited', retryAfterMs: MINUTE_MS })
      world.clock.nowMs += MINUTE_MS
      await client(world.client, world)
    },
  })
}

coverCalls(['limits.status_endpoint'], {
  option: 'statusPerMinute',
  value: 10,
  paths: ['GET /v3/appendix/status'],
  client: (client) => client.getStatus(),
})
coverCalls(['limits.task_id_history'], {
  option: 'idListsPerMinute',
  value: 10,
  paths: ['POST /v3/app_data/id_list'],
  client: (_client, world) => listHere(world),
})
coverCalls(['notes.tasks_ready_limits'], {
  option: 'readyListsPerMinute',
  value: 20,
  paths: [
    'GET /v3/app_data/ios_store/app_searches/tasks_ready',
    'GET /v3/app_data/ios_store/app_info/tasks_ready',
    'GET /v3/app_data/android_store/app_list/tasks_ready',
  ],
  client: (client) => client.listReady('ios_store', 'app_searches'),
})
coverCalls(['limits.api_calls_per_minute', 'notes.too_many_calls_in_a_minute'], {
  option: 'callsPerMinute',
  value: 2000,
  paths: ['POST /v3/app_data/ios_store/app_searches/task_post', 'GET /v3/appendix/errors'],
  client: (client) => client.listErrors(),
})
covers('limits.api_calls_per_minute', 'a post that is refused has created nothing', {
  world: { callsPerMinute: 1 },
  fetch: async (world) => {
    await world.get('/v3/appendix/errors')
    const { status_code, tasks } = await world.post('/v3/app_data/ios_store/app_searches/task_post', [{}])
    assert.deepEqual([status_code, tasks?.length ?? null], [40202, byForm(null, 1)])
  },
  client: async ({ client }) => {
    await client.listErrors()
    const outcome = await post(client, [task()])
    assert.ok(outcome.kind === 'refused')
    assert.deepEqual([outcome.cause, outcome.retryAfterMs], ['rate_limit', MINUTE_MS])
  },
})
covers('notes.too_many_requests_at_once', '30 are served at once, and the next is refused', {
  world: { requestsInFlight: 1, faults: { slow: { path: 'user_data', ms: 10_000 } } },
  fetch: async (world) => {
    assert.equal(DEFAULTS.requestsInFlight, 30)
    // It is cut off when the sandbox ends.
    void world.fetch('/v3/appendix/user_data').catch(() => undefined)
    await until(async () => (await world.get('/v3/appendix/errors')).status_code === 40209)
    const { status_message, tasks } = await world.get('/v3/appendix/errors')
    assert.deepEqual([status_message, tasks], ['Too many simultaneous requests.', null])
  },
  client: {
    file: 'test/service/free-calls.test.ts',
    test: 'has at most so many permits and requests in flight',
  },
})

// Rows

const postMany = ({ client }: World, name: string, size = 100) =>
  postAnswered(
    client,
    Array.from({ length: size }, (_, index) =>
      task({ subject: 'xkcdqwrt zzgrblk', depth: 1, tag: `${name}.${index}` }),
    ),
  )

/** A world with 1,010 searches that found nothing, posted over 11 seconds. */
const openCrowd = once(async () => {
  const world = await openWorld(everyTest, AMPLE)
  for (let count = 0; count < 11; count += 1) {
    const size = count < 10 ? 100 : 10
    await postMany(world, String(count), size)
    world.clock.nowMs += 1000
  }
  return world
})

/** A list of at most 1,000 rows: what both sides get, from a place on. */
const coverRows = (
  row: string,
  path: string,
  query: (world: World, offset: number) => Json,
  here: (world: World, offset: number) => Promise<readonly { id: string }[]>,
): void => {
  const count = async (list: (offset: number) => Promise<readonly { id: string }[]>) => {
    const pages = [await list(0), await list(1000)]
    assert.deepEqual(
      pages.map(({ length }) => length),
      [1000, 10],
    )
    assert.equal(new Set(pages.flat().map(({ id }) => id)).size, 1010)
  }
  covers(row, 'lists 1000 rows at most, and the others on further pages', {
    fetch: async () => {
      const world = await openCrowd()
      await count(async (offset) => (await world.post(path, [query(world, offset)])).tasks[0].result)
    },
    client: async () => {
      const world = await openCrowd()
      await count((offset) => here(world, offset))
    },
  })
}
coverRows(
  'limits.task_id_history',
  '/v3/app_data/id_list',
  ({ clock }, offset) => ({
    datetime_from: stamp(clock.nowMs - DAY_MS),
    datetime_to: stamp(clock.nowMs - byForm(0, 1000)),
    ...(offset > 0 && { offset }),
  }),
  (world, offset) => listHere(world, { offset, includeMetadata: false }),
)
coverRows(
  'limits.failed_task_list',
  '/v3/app_data/errors',
  (_world, offset) => (offset > 0 ? { offset } : {}),
  ({ client }, offset) => client.listFailedTasks(offset > 0 ? { offset } : {}),
)
const READY = '/v3/app_data/ios_store/app_searches/tasks_ready'
covers('notes.tasks_ready_limits', 'lists 1000 rows at most, the oldest first', {
  fetch: async () => {
    const rows: Json[] = (await (await openCrowd()).get(READY)).tasks[0].result
    assert.equal(rows.length, 1000)
    assert.deepEqual(
      rows.map(({ date_posted }) => date_posted),
      rows.map(({ date_posted }) => date_posted).toSorted(),
    )
    assert.ok(rows.every(({ tag }) => !tag.startsWith('10.')))
  },
  client: async () => {
    const rows = await (await openCrowd()).client.listReady('ios_store', 'app_searches')
    assert.deepEqual([rows.length, rows.dropped, rows.at(-1)?.tag?.startsWith('9.')], [1000, 0, true])
  },
})
covers(
  'notes.tasks_ready_limits',
  'shows further rows when earlier ones were fetched, and only tasks of three days',
  {
    world: AMPLE,
    fetch: async (world) => {
      const list = async (): Promise<Json[]> => (await world.get(READY)).tasks[0].result ?? []
      for (let count = 0; count < 10; count += 1) await postMany(world, `early.${count}`)
      await postMany(world, 'late')
      world.later()
      const isLate = ({ tag }: Json) => tag.startsWith('late')
      const before = await list()
      assert.deepEqual([before.length, before.filter(isLate).length], [1000, 0])
      for (const { endpoint_advanced } of before.slice(0, 5)) await world.get(endpoint_advanced)
      assert.equal((await list()).filter(isLate).length, 5)
      world.clock.nowMs += 3 * DAY_MS - 1000
      assert.equal((await list()).length, 1000)
      world.clock.nowMs += 1
      assert.deepEqual(await list(), [])
    },
    client: {
      file: 'test/collect/enqueue-results.test.ts',
      test: 'that are full are asked again as long as somebody fetches, and not once nobody does',
    },
  },
)

// Money

type Purse = Pick<OptionsInput, 'balanceUsd' | 'costLimitPerDayUsd' | 'costLimitPerMinuteUsd'>
const SEARCH_POST = '/v3/app_data/ios_store/app_searches/task_post'

/** An account that can pay for two of three tasks; `refilled` moves the clock until it can pay again. */
const coverPurse = (
  row: string,
  sentence: string,
  purse: Purse,
  code: string,
  refill?: (world: World) => unknown,
  otherwise: Otherwise = [],
): void => {
  const posted = ['a', 'b', 'c'].map((tag) => ({ tag }))
  const check = async (world: World, side: Side) => {
    const send = async (tasks: Json[]) =>
      (await ASK[side].post(world, tasks)).map(({ said, cost }) => `${said} ${cost}`)
    const created = '20100 Task Created. 1200'
    assert.deepEqual(await send(posted), [created, created, `${code} 0`])
    if (!refill) return
    refill(world)
    assert.deepEqual(await send(posted.slice(0, 1)), [created])
  }
  covers(row, sentence, bySide(check, purse), otherwise)
}
const NO_FUNDS = '40210 Insufficient funds.'
const DAY_SPENT = byForm('40203 Cost limit per day exceeded.', '40203 The cost limit has been exceeded.')
coverPurse(
  'notes.money',
  'the task that the balance does not pay is refused alone',
  { balanceUsd: 0.003 },
  NO_FUNDS,
)
const midnight = ({ clock }: World) => {
  clock.nowMs = Date.UTC(2026, 9, 16)
}
coverPurse(
  'notes.money',
  'a limit per day holds until midnight',
  { costLimitPerDayUsd: 0.003 },
  DAY_SPENT,
  midnight,
  ['no-limits'],
)
coverPurse('notes.day_of_the_limits', 'is that of UTC', { costLimitPerDayUsd: 0.003 }, DAY_SPENT, midnight, [
  'no-limits',
])
coverPurse(
  'notes.per_minute_spending_limits',
  'hold like those of a day',
  { costLimitPerMinuteUsd: 0.003 },
  DAY_SPENT,
  ({ clock }) => {
    clock.nowMs += MINUTE_MS
  },
  ['no-limits'],
)
covers('notes.money', 'the call of an account that must pay first is refused whole, and nothing is lost', {
  world: { faults: { paymentRequired: { path: 'task_post' } } },
  fetch: async (world) => {
    assert.equal((await world.fetch(SEARCH_POST, { method: 'POST', body: '[{}]' })).status, 402)
    assert.equal((await world.fetch(READY)).status, 200)
  },
  client: {
    file: 'test/post/settle.test.ts',
    test: 'everything stays planned, and a later run posts it once',
  },
})
