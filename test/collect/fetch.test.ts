import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { createFetchOrder, fetchResults, readOutcome } from '../../src/collect/fetch.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import { AppDataClient } from '../../src/service/client.ts'
import type { ResultOutcome } from '../../src/service/task-result.ts'
import { lasting } from '../support/lasting.ts'
import { endAttemptPauses, readReservations, readSpendDifferences } from '../support/ledger.ts'
import {
  askedEnough,
  buy,
  clear,
  collect,
  fetchItems,
  handOut,
  store,
  tamper,
  watchKeywords,
} from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const world = lasting(() => createWorld({ sandbox: { callsPerMinute: 100_000 } }))
afterEach(() => clear(world))

const ITEM: FetchItem = {
  serviceId: 'a',
  path: null,
  kind: 'advanced',
  html: false,
  htmlPath: null,
  store: 'ios_store',
  function: 'app_searches',
  depth: 101,
}

/** An answer that says nothing of itself. */
const UNSAID = { echo: null, path: null, results: 1, answeredAt: null }
const DONE = { kind: 'done', serviceId: 'a', tag: null, statusCode: 20000, rawBytes: 0, ...UNSAID } as const

const isResult = (path: string) => path.includes('/task_get/')

/** The answer that the service gives instead of a result. */
function refusal(code: number, message: string) {
  return (path: string, body: { tasks: Record<string, unknown>[] }) => {
    if (isResult(path))
      body.tasks[0] = { ...body.tasks[0], status_code: code, status_message: message, result: null }
  }
}

async function readTask() {
  const [task] = await world.db.sql`
    select state, attempt, status_code, problem,
      round(extract(epoch from fetching_until - clock_timestamp()))::int as pause_s from task`
  return { ...task }
}

describe('the meaning of an answer', () => {
  const failed = (statusCode: number) =>
    readOutcome(ITEM, { kind: 'failed', statusCode, message: 'No.', echo: null, path: null }).kind

  test('is read from its code: only 40101 and 40103 may be posted again, and 40401 stays open', () => {
    assert.equal(readOutcome(ITEM, { kind: 'pending', statusCode: 40601 }).kind, 'later')
    assert.equal(failed(40101), 'store_failed')
    assert.equal(failed(40103), 'store_failed')
    assert.equal(failed(40401), 'later')
    assert.equal(failed(40403), 'failed')
    assert.equal(failed(40501), 'failed')
  })

  test('is a measurement of nothing with 40102, in which no result came', () => {
    const fetched = readOutcome(ITEM, { ...DONE, statusCode: 40102, result: null })
    assert.ok(fetched.kind === 'ranking' && fetched.search === null)
    assert.equal(fetched.resultsReturned, 0)
  })
})

test('nothing was captured in a year to come: such a time is none, and one of an hour ahead is', () => {
  const timeOf = (aheadMs: number) => {
    const datetime = `${new Date(Date.now() + aheadMs).toISOString().slice(0, 19).replace('T', ' ')} +00:00`
    const fetched = readOutcome(ITEM, { ...DONE, result: { items: [], datetime } })
    assert.ok(fetched.kind === 'ranking')
    return fetched.search?.datetime?.toISOString().slice(0, 13) ?? null
  }
  assert.equal(timeOf(3_600_000), new Date(Date.now() + 3_600_000).toISOString().slice(0, 13))
  assert.equal(timeOf(370 * 86_400_000), null)
})

describe('what came back is billed', () => {
  const item = (rank: number, fields: object = {}) => ({
    type: 'ios_store_search_organic',
    rank_group: rank,
    rank_absolute: rank,
    app_id: 1000 + rank,
    ...fields,
  })
  const hundred = Array.from({ length: 100 }, (_, index) => item(index + 1))
  const countOf = (items: readonly unknown[], itemsCount: number | null = items.length) => {
    const result = { items, items_count: itemsCount }
    const fetched = readOutcome(ITEM, { ...DONE, result })
    assert.ok(fetched.kind === 'ranking')
    return fetched.resultsReturned
  }

  test('by items of every type, an app twice, and what could not be read', () => {
    assert.equal(countOf(hundred), 100)
    assert.equal(countOf([...hundred, { type: 'ios_store_search_paid' }]), 101)
    assert.equal(countOf([...hundred, item(101, { app_id: 1001 })]), 101)
    assert.equal(countOf([...hundred, null]), 101)
  })

  test('by what the service counts, where that is more', () => {
    assert.equal(countOf(hundred, 101), 101)
    assert.equal(countOf(hundred, 7), 100)
    assert.equal(countOf(hundred, null), 100)
    assert.equal(countOf(hundred, 9_999), 9_999)
  })
})

describe('a task', () => {
  beforeEach(async () => {
    await watchKeywords(world, ['yoga'], { depth: 300 })
    await world.db
      .sql`insert into app_watch (project, store, app_id) values ('fitness', 'ios_store', '1480010017')`
    await buy(world)
  })

  test('that is handed over or queued is no problem, and is asked for again a second later', async (t) => {
    const items = await handOut(world)
    for (const code of [40601, 40602]) {
      const { client } = await tamper(t, world, refusal(code, 'Task In Queue.'))
      assert.equal((await store(world, await fetchItems(world, items, { client }))).later, 1)
      const task = await readTask()
      assert.deepEqual(task, { state: 'posted', attempt: 1, status_code: null, problem: null, pause_s: 1 })
    }
    const charges = await world.db.sql`select from charge`
    assert.equal(charges.length, 1)
  })

  test('that the service does not find stays open, is asked for daily, and is shown', async (t) => {
    const { client } = await tamper(t, world, refusal(40401, 'Task Not Found.'))
    assert.equal((await collect(world, { client })).later, 1)
    const { pause_s, problem, state } = await readTask()
    assert.deepEqual(
      { pause_s, problem, state },
      { pause_s: 86_400, problem: '40401: Task Not Found.', state: 'posted' },
    )
    const [row] = await world.db.sql`select outcome from rank_history`
    assert.equal(row?.outcome, 'pending')
  })

  test('whose result has expired fails with that reason, and is never bought again', async (t) => {
    const { client } = await tamper(t, world, refusal(40403, 'Results Expired.'))
    assert.equal((await collect(world, { client })).failed, 1)
    const [row] = await world.db.sql`select outcome, reason, rank from rank_history`
    assert.deepEqual({ ...row }, { outcome: 'failed', reason: '40403: Results Expired.', rank: null })
    await buy(world)
    assert.equal((await readTask()).state, 'failed')
    const charges = await world.db.sql`select kind from charge`
    assert.deepEqual([...charges], [{ kind: 'charge' }])
  })

  test('that the store failed is posted again, each attempt in the ledger, until the last', async (t) => {
    const { client } = await tamper(t, world, refusal(40101, 'Internal SE server error.'))
    for (const attempt of [2, 3]) {
      assert.equal((await collect(world, { client })).postedAgain, 1)
      const { state, attempt: next, status_code } = await readTask()
      assert.deepEqual({ state, next, status_code }, { state: 'planned', next: attempt, status_code: 40101 })
      const open = await readReservations(world.db.sql)
      assert.deepEqual(
        open.map((one) => ({ attempt: one.attempt, micros: one.micros })),
        [{ attempt, micros: 3600 }],
      )
      await buy(world)
      assert.equal((await readTask()).state, 'planned')
      await endAttemptPauses(world.db.sql)
      await buy(world)
    }
    const last = await collect(world, { client })
    assert.deepEqual([last.postedAgain, last.failed], [0, 1])
    const ledger = await world.db.sql`
      select kind, amount_micros as micros, row_number() over (order by at) as attempt, count(*)
        over () as charges,
        service_id = (select service_id from task) as is_last
      from charge order by at`
    assert.deepEqual(
      [...ledger],
      [1, 2, 3].map((attempt) => ({
        kind: 'charge',
        micros: 3600,
        attempt,
        charges: 3,
        is_last: attempt === 3,
      })),
    )
    assert.deepEqual(await readSpendDifferences(world.db.sql), [])
    const [row] = await world.db.sql`select outcome, reason from rank_history`
    assert.deepEqual({ ...row }, { outcome: 'failed', reason: '40101: Internal SE server error.' })
    await buy(world)
    assert.equal((await readTask()).state, 'failed')
  })

  test('whose account is refused is put off, and not lost', async () => {
    const items = await handOut(world)
    const client = new AppDataClient({ baseUrl: world.sandboxUrl, login: 'sandbox', password: 'wrong' })
    assert.equal((await store(world, await fetchItems(world, items, { client }))).later, items.length)
    await client.close()
    assert.equal((await store(world, await fetchItems(world, items))).stored, 1)
  })
})

test('spoilt results among 50 hold up nothing: they fail alone, with their bodies kept', async (t) => {
  const keywords = Array.from({ length: 50 }, (_, index) => `yoga ${index}`)
  await watchKeywords(world, keywords, { depth: 3 })
  await buy(world)
  await askedEnough(world)
  const { client } = await tamper(t, world, (path, body) => {
    const result = isResult(path) ? body.tasks[0].result[0] : undefined
    if (result?.keyword === 'yoga 10') result.items[1].rank_group = 'first'
    if (result?.keyword === 'yoga 20') for (const item of result.items) item.rank_group = 'first'
    if (result?.keyword === 'yoga 30') {
      const organic = result.items.find((item: { type: string }) => item.type.endsWith('_organic'))
      Object.assign(organic, { app_id: '999999001', title: 'Zen\u0000 Yoga' })
    }
  })
  const stored = await collect(world, { client })
  assert.deepEqual([stored.stored, stored.unreadable, stored.later], [49, 1, 0])

  const [app] = await world.db.sql`select title from app where app_id = '999999001'`
  assert.equal(app?.title, 'Zen Yoga')
  const [kept] = await world.db.sql`
    select r.path, r.body_gzip, t.subject, k.state, h.gap, h.reason from rejected_result r
    join target t on t.id = r.target_id join task k on k.id = r.task_id
    join ranking h on h.target_id = r.target_id and h.slot = r.slot`
  assert.match(kept?.path, /^items\[\d\]\.rank_group$/)
  assert.deepEqual([kept?.subject, kept?.state, kept?.gap], ['yoga 20', 'failed', 'failed'])
  assert.match(kept?.reason, /items\[\d\]\.rank_group/)
  const body = JSON.parse(gunzipSync(kept?.body_gzip).toString())
  assert.deepEqual([body.keyword, body.items[1].rank_group], ['yoga 20', 'first'])
})

test('a result nested thousands of levels deep is stored if it can be read, else fails alone', async (t) => {
  await watchKeywords(
    world,
    Array.from({ length: 20 }, (_, index) => `yoga ${index}`),
    { depth: 3 },
  )
  await buy(world)
  await askedEnough(world)
  const deep = JSON.parse('{"a":['.repeat(9_000) + ']}'.repeat(9_000))
  const { client } = await tamper(t, world, (path, body) => {
    const result = isResult(path) ? body.tasks[0].result[0] : undefined
    if (result?.keyword === 'yoga 7') result.more = 'DEEP'
    if (result?.keyword === 'yoga 8') Object.assign(result, { items: 'DEEP' })
    // JSON.stringify would not get to the end of it.
    return JSON.stringify(body).replaceAll('"DEEP"', '{"a":['.repeat(9_000) + ']}'.repeat(9_000))
  })
  assert.throws(() => JSON.stringify(deep), RangeError)
  const stored = await collect(world, { client })
  assert.deepEqual([stored.stored, stored.unreadable, stored.later], [19, 1, 0])
  const [kept] = await world.db.sql`
    select r.path, r.body_gzip, t.subject from rejected_result r join target t on t.id = r.target_id`
  assert.deepEqual([kept?.subject, kept?.path], ['yoga 8', 'items'])
  assert.match(gunzipSync(kept?.body_gzip).toString(), /"keyword":"yoga 8".*\[\{"a":"…"\}\]/)
})

test('an answer that cannot be had leaves its task open, and the others are stored', async (t) => {
  await watchKeywords(world, ['yoga', 'chess', 'running'])
  await buy(world)
  const [task] = await world.db.sql`select service_id from task order by id limit 1`
  const lose = (path: string) => (path.endsWith(task?.service_id) ? '/v3/nowhere' : path)
  const { client } = await tamper(t, world, () => undefined, lose)
  const { stored, later } = await collect(world, { client })
  assert.deepEqual([stored, later], [2, 1])
  const [open] = await world.db.sql`select service_id, state from task where state <> 'collected'`
  assert.deepEqual({ ...open }, { service_id: task?.service_id, state: 'posted' })
})

// The order of fetch jobs

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

const itemsOf = (job: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...ITEM, serviceId: `${job}${index + 1}` }))

test('a fetch job begins when the last result of the one before is being fetched, and no later', async () => {
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
})

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
