/** Rows of what can go wrong: HTTP codes, status codes and their conditions, and classes of codes. */

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { FaultSettingsInput } from '../../src/sandbox/faults.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import type { Json } from '../sandbox/caller.ts'
import { ask, envelope, openClient, taskWith } from '../service/wire-server.ts'
import { ASK } from './ask.ts'
import { bySide, covers, type Side } from './covers.ts'
import { byForm } from './form.ts'
import type { Store } from './paths.ts'
import { openSharedWorld, openWorld, post, postOne, postWire, readMoney, task, type World } from './world.ts'

const SEARCH = '/v3/app_data/ios_store/app_searches'
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000'

// HTTP codes

/** HTTP and status code of an answer, which is an envelope whatever it says. */
const codesOf = async (response: Response): Promise<[http: number, status: number]> => {
  const body = (await response.json()) as Json
  assert.deepEqual(Object.keys(body), [
    ...['version', 'status_code', 'status_message', 'time'],
    ...['cost', 'tasks_count', 'tasks_error', 'tasks'],
  ])
  return [response.status, body.status_code]
}

/** Another login at the door of the shared world. */
const strangerAt = async (t: TestContext): Promise<AppDataClient> =>
  openClient(t, (await openSharedWorld()).url, { login: 'sandbox', password: 'wrong' })

covers(
  ['http.401', 'errors.40100', 'authentication.3'],
  'a wrong or missing login is refused, for every path',
  {
    fetch: async ({ url }) => {
      const wrong = { authorization: `Basic ${btoa('sandbox:wrong')}` }
      for (const headers of [{}, wrong, { authorization: 'Bearer x' }]) {
        for (const path of ['/v3/appendix/errors', `${SEARCH}/tasks_ready`, '/v3/nothing']) {
          assert.deepEqual(await codesOf(await fetch(url + path, { headers })), [401, 40100])
        }
      }
    },
    client: async (_world, t) => {
      const stranger = await strangerAt(t)
      await assert.rejects(stranger.getUserData(), { code: 'account', message: /not authorized .*\(40100\)/ })
      const outcome = await post(stranger, [task()])
      assert.deepEqual(
        outcome.kind === 'refused' && [outcome.cause, outcome.httpStatus, outcome.statusCode],
        ['account', 401, 40100],
      )
    },
  },
)
covers('http.402', 'an account that must pay first is refused', {
  world: { faults: { paymentRequired: 1 } },
  fetch: async (world) =>
    assert.deepEqual(await codesOf(await world.fetch('/v3/appendix/errors')), [402, 40200]),
  client: async ({ client }) => {
    await assert.rejects(client.getUserData(), { code: 'account_money' })
    const outcome = await post(client, [task()])
    assert.equal(outcome.kind === 'refused' && outcome.cause, 'money')
  },
})
/** Endpoints that only the service as it is sold has. */
const SOLD_ONLY = [
  '/v3/app_data/ios_store/app_list/tasks_ready',
  '/v3/app_data/android_store/app_reviews/tasks_ready',
  '/v3/app_data/ios_store/app_listings/categories',
]
covers('http.404', 'a path or a method that is no endpoint is not found', {
  fetch: async (world) => {
    const paths = [
      '/v3',
      '/v3/nothing',
      '/v3/%zz',
      `${SEARCH}/task_get/html/${UNKNOWN_ID}`,
      `${SEARCH}/task_get/advanced/${'x'.repeat(200)}`,
      ...byForm(SOLD_ONLY, []),
      '/v3/appendix/status/',
    ]
    for (const path of paths) assert.deepEqual(await codesOf(await world.fetch(path)), [404, 40400], path)
    for (const [method, path] of [
      ['DELETE', '/v3/appendix/status'],
      ['POST', '/v3/appendix/status'],
      ['GET', '/v3/app_data/id_list'],
    ] as const) {
      assert.deepEqual(await codesOf(await world.fetch(path, { method })), [404, 40400], path)
    }
  },
  client: async ({ client }) => {
    await assert.rejects(client.getResult('/v3/nothing/1'), { code: 'rejected', statusCode: 40400 })
    const charts = client.listReady('ios_store', 'app_list').then(
      ({ length }) => length,
      ({ statusCode }) => statusCode,
    )
    assert.equal(await charts, byForm(40400, 0))
  },
})
covers('http.500', 'trouble of the server passes', {
  world: { faults: { http500: { times: 1 } } },
  fetch: async (world) => {
    assert.deepEqual(await codesOf(await world.fetch('/v3/appendix/errors')), [500, 50000])
    assert.equal((await world.fetch('/v3/appendix/errors')).status, 200)
  },
  client: async ({ client }, t) => {
    assert.equal((await client.listErrors()).length, byForm(46, 44))
    const troubled = await openWorld(t, { faults: { http500: { when: 'after' } } })
    assert.equal((await post(troubled.client, [task()])).kind, 'unknown', 'a post is never repeated')
  },
})
const INVALID_BODY = byForm(40500, 40503)
covers('service.8', 'a refusal of another kind is HTTP 200', {
  fetch: async (_world, t) => {
    const world = await openWorld(t, { statusPerMinute: 1 })
    const send = (body: string, type = 'application/json') => {
      const headers = { authorization: `Basic ${btoa('sandbox:sandbox')}`, 'content-type': type }
      return world.fetch(`${SEARCH}/task_post`, { method: 'POST', body, headers })
    }
    assert.deepEqual(await codesOf(await send('[{"keyword":')), [200, INVALID_BODY])
    assert.deepEqual(await codesOf(await send('{}')), [200, INVALID_BODY])
    assert.deepEqual(await codesOf(await send('[]')), [200, 40502])
    assert.deepEqual(await codesOf(await send('[]', 'text/plain')), [200, byForm(40504, INVALID_BODY)])
    assert.deepEqual(await codesOf(await send(`[${' '.repeat(4_000_001)}]`)), [
      200,
      byForm(40007, INVALID_BODY),
    ])
    await world.fetch('/v3/appendix/status')
    assert.deepEqual(await codesOf(await world.fetch('/v3/appendix/status')), [200, 40202])
  },
  client: async ({ client }) => {
    const outcome = await client.getResult({ store: 'ios_store', fn: 'app_searches', id: UNKNOWN_ID })
    assert.equal(outcome.kind === 'failed' && outcome.statusCode, 40401)
  },
})

// Status codes and their conditions

covers('errors.20000', 'is that of a request that was completed', {
  fetch: async (world) => {
    const { status_code, status_message, tasks } = await world.get('/v3/appendix/errors')
    assert.deepEqual([status_code, status_message], [20000, 'Ok.'])
    assert.deepEqual([tasks[0].status_code, tasks[0].status_message], [20000, 'Ok.'])
  },
  client: async ({ client, heads }) => {
    await client.listErrors()
    assert.deepEqual([heads.at(-1)?.statusCode, heads.at(-1)?.message], [20000, 'Ok.'])
  },
})
covers(
  ['errors.20100', 'service.1'],
  'is that of a task that was created, with its id at once',
  bySide(async (world, side) => {
    const [answer] = await ASK[side].post(world, [{}])
    assert.deepEqual([answer?.id.length, answer?.said], [36, '20100 Task Created.'])
  }),
)
covers('errors.40000', 'several objects for a function that takes one are refused', {
  fetch: async (world) => {
    for (const path of ['/v3/app_data/errors', '/v3/app_data/id_list']) {
      const { status_code, status_message, tasks } = await world.post(path, [{}, {}])
      assert.deepEqual(
        [status_code, status_message, tasks],
        [40000, 'You can set only one task at a time.', null],
      )
    }
  },
  client: async (_world, t) => {
    const refused = envelope(null, { status_code: 40000, status_message: 'Only one.' })
    const list = (client: AppDataClient) => client.listFailedTasks({})
    await assert.rejects(ask(t, refused, list), { code: 'rejected', statusCode: 40000 })
  },
})

/** The id of a search that another login posted into the same books. */
const openNeighbour = async (t: TestContext) => {
  const folder = await mkdtemp(join(tmpdir(), 'contract-'))
  t.after(() => rm(folder, { recursive: true }))
  const stateFile = join(folder, 'state.jsonl')
  const neighbour = await openWorld(t, { stateFile, login: 'neighbour' })
  const id = await postOne(neighbour.client)
  await neighbour.close()
  return { world: await openWorld(t, { stateFile }), id }
}
covers('errors.40001', 'a task of another client is not given', {
  fetch: async (_world, t) => {
    const { world, id } = await openNeighbour(t)
    const [{ status_code, status_message }] = (await world.get(`${SEARCH}/task_get/advanced/${id}`)).tasks
    assert.equal(`${status_code} ${status_message}`, '40001 This id is used by another client, check the id.')
    assert.equal((await world.post('/v3/appendix/webhook_resend', [{ id }])).tasks[0].status_code, 40001)
    world.later()
    assert.deepEqual((await world.get(`${SEARCH}/tasks_ready`)).tasks[0].result ?? [], [])
    const { balance, total } = await readMoney(world)
    assert.equal(balance, total, 'its money is not ours')
  },
  client: async (_world, t) => {
    const { world, id } = await openNeighbour(t)
    const outcome = await world.client.getAppSearches('ios_store', id)
    assert.equal(outcome.kind === 'failed' && outcome.statusCode, 40001)
  },
})

const SEARCHES = ['android_store', 'app_searches'] as const
/** A search of android_store is asked for where it is not. */
const coverWrongPath = (
  code: number,
  message: string,
  [store, fn]: readonly [Store, 'app_searches' | 'app_info' | 'app_list' | 'app_reviews'],
): void => {
  const check = async (world: World, side: Side) => {
    const [{ id = '' } = {}] = await ASK[side].post(world, [{}], SEARCHES)
    assert.equal(await ASK[side].fetch(world, id, [store, fn]), `${code} ${message}`)
  }
  covers(`errors.${code}`, `a search of android_store is no ${fn} of ${store}`, bySide(check))
}
const ANOTHER_STORE = 'This id is used by another search engine, check the Path.'
const ANOTHER_TYPE = 'This id is used by another search type, check the Path.'
const ANOTHER_FUNCTION = 'This id is used by another function, check the id.'
coverWrongPath(40002, ANOTHER_STORE, ['ios_store', 'app_searches'])
coverWrongPath(40002, ANOTHER_STORE, ['ios_store', 'app_reviews'])
coverWrongPath(40003, ANOTHER_TYPE, ['android_store', 'app_list'])
coverWrongPath(40004, ANOTHER_FUNCTION, ['android_store', 'app_info'])

/** How a search ends: its code, what it is charged, and that it has no result. */
const coverEnding = (
  rows: readonly string[],
  sentence: string,
  [code, message, chargedMicros]: readonly [number, string, number],
  [subject, faults]: readonly [string, FaultSettingsInput],
): void => {
  covers(rows, sentence, {
    world: { faults, balanceUsd: 1 },
    fetch: async (world) => {
      const { id } = await postWire(world, { keyword: subject, depth: 300 })
      world.later()
      const ready = async () => (await world.get(`${SEARCH}/tasks_ready`)).tasks[0].result?.length ?? 0
      assert.equal(await ready(), 1, 'it stands in the ready list like any other')
      const { tasks, tasks_error } = await world.get(`${SEARCH}/task_get/advanced/${id}`)
      const { status_code, status_message, result, cost } = tasks[0]
      assert.deepEqual([status_code, status_message, result, cost], [code, message, null, 0])
      // As it is sold, the envelope does not count how a task has ended.
      assert.equal(tasks_error, byForm(1, 0))
      const { balance } = await readMoney(world)
      assert.equal(balance, (1_000_000 - chargedMicros) / 1_000_000)
      assert.equal(await ready(), 0)
    },
    client: async ({ client }) => {
      const outcome = await client.getAppSearches('ios_store', await postOne(client, { subject, depth: 300 }))
      if (code === 40102) assert.ok(outcome.kind === 'done' && outcome.result === null)
      else assert.partialDeepStrictEqual(outcome, { kind: 'failed', statusCode: code, message })
      assert.equal((await client.getUserData()).balanceMicros, 1_000_000 - chargedMicros)
    },
  })
}
coverEnding(
  ['errors.40101', 'notes.40101_and_40102'],
  'the store failed: the task is over, and charged in full',
  [40101, byForm('Internal SE server error.', 'Internal SE Server Error.'), 3600],
  ['yoga', { storeError: 1 }],
)
coverEnding(
  ['errors.40102', 'notes.40101_and_40102'],
  'the store found nothing: a measurement, charged as one unit',
  [40102, 'No Search Results.', 1200],
  ['xkcdqwrt zzgrblk', {}],
)

// What is said of codes in general

covers(
  'statement.messages_may_be_extended',
  'by what the event was, such as the name of a field',
  bySide(async (world, side) => {
    const [answer] = await ASK[side].post(world, [{ language_code: 'xx' }])
    assert.equal(answer?.said, "40501 Invalid Field: 'language_code'.")
  }),
)
covers(
  ['statement.the_errors_list_holds_46_entries', 'statement.get_v3_appendix_errors'],
  'each a code and a message; two less as it is sold',
  {
    fetch: async (world) => {
      const records: Json[] = (await world.get('/v3/appendix/errors')).tasks[0].result
      assert.equal(new Set(records.map(({ code }) => code)).size, byForm(46, 44))
      for (const each of records) {
        assert.deepEqual(Object.keys(each), ['code', 'message'])
        assert.ok(
          Number.isInteger(each.code) && each.code >= 10_000 && each.code <= 60_000 && each.message !== '',
        )
      }
    },
    client: async ({ client, get }) =>
      assert.deepEqual(await client.listErrors(), (await get('/v3/appendix/errors')).tasks[0].result),
  },
)
covers('statement.messages_come_from_there', 'when an answer has none', {
  fetch: { because: 'An answer of the sandbox always has a message.' },
  client: {
    file: 'test/ledger/task-failures.test.ts',
    test: 'says where its code is explained when the service said nothing itself',
  },
})
covers('statement.a_client_treats_a_task_as_failed', 'from 40000 on, and when it is done without a result', {
  fetch: { because: 'It is about the client.' },
  client: async (_world, t) => {
    const look = (client: AppDataClient) =>
      client.getResult({ store: 'ios_store', fn: 'app_info', id: 'id-1' })
    for (const statusCode of [40000, 40399, 49999]) {
      const { value } = await ask(t, envelope([taskWith(null, { status_code: statusCode })]), look)
      assert.equal(value.kind === 'failed' && value.statusCode, statusCode)
    }
    await assert.rejects(ask(t, envelope([taskWith(null)]), look), { code: 'unreadable' })
  },
})
