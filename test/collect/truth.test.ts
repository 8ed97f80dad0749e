/**
 * An answer is believed where it agrees with what was asked, and a list as far as it is whole by its own
 * account.
 */
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type Answered, findContradiction } from '../../src/collect/contradiction.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import type { FaultSettingsInput } from '../../src/sandbox/faults.ts'
import { countStates, readMoney } from '../post/posting.ts'
import { putFaults } from '../support/faults.ts'
import { lasting } from '../support/lasting.ts'
import { askedEnough, buy, clear, collect, collectPaused, tamper, watchKeywords } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'
import { buyUnread, openReceiver, readAnswer } from './receiving.ts'

const world = lasting(() => createWorld({ sandbox: { callsPerMinute: 100_000 } }))
afterEach(async () => {
  await setFaults({})
  await clear(world)
})

const setFaults = (faults: FaultSettingsInput) => putFaults(world.sandboxUrl, faults)

/** What the history has of each keyword. */
async function readRankings() {
  const rows = await world.db.sql<
    { subject: string; gap: string | null; reason: string | null; apps: number }[]
  >`
    select t.subject, r.gap, r.reason, coalesce(cardinality(r.app_ids), 0) as apps
    from ranking r join target t on t.id = r.target_id order by 1`
  return rows.map((row) => ({ ...row }))
}

/** The first app of a keyword, as it was stored. */
async function readFirst(keyword: string): Promise<string | undefined> {
  const [row] = await world.db.sql<{ app_id: string }[]>`
    select a.app_id from ranking r join target t on t.id = r.target_id join app a on a.id = r.app_ids[1]
    where t.subject = ${keyword}`
  return row?.app_id
}

async function readProblems(): Promise<string[]> {
  const rows = await world.db.sql<{ problem: string }[]>`
    select problem from task where problem is not null order by id`
  return rows.map(({ problem }) => problem)
}

describe('an answer of another task under the id that was asked for', () => {
  const OTHER = /^The answer is about something else: its data\.tag is "[^"]+", and "[^"]+" was asked for\.$/

  test('is not stored: the task is asked for again, until the answer is its own', async () => {
    await watchKeywords(world, ['yoga', 'chess'])
    await buy(world)
    await setFaults({ otherAnswer: 1 })
    const { stored, later } = await collect(world)
    assert.deepEqual([stored, later], [0, 2])
    for (const problem of await readProblems()) assert.match(problem, OTHER)
    await setFaults({})
    const ids = await world.db.sql<{ id: string; subject: string }[]>`
      select k.service_id as id, t.subject from task k join target t on t.id = k.target_id`
    assert.equal((await collectPaused(world)).stored, 2)
    for (const { id, subject } of ids) {
      const { tasks } = JSON.parse(await readAnswer(world, id))
      const organic = tasks[0].result[0].items.find((item: { type: string }) => item.type.endsWith('organic'))
      assert.equal(await readFirst(subject), organic.app_id)
    }
  })

  test('is known by any field of it, and so is a list that is broken in any way', async () => {
    await watchKeywords(
      world,
      Array.from({ length: 13 }, (_, n) => `yoga ${n}`),
    )
    await buy(world)
    for (const kind of ['otherField', 'brokenList']) {
      await setFaults({ [kind]: 1 })
      const { stored, later } = await (kind === 'otherField' ? collect(world) : collectPaused(world))
      assert.deepEqual([kind, stored, later], [kind, 0, 13])
    }
    await setFaults({})
    assert.equal((await collectPaused(world)).stored, 13)
  })

  test('is told in the end, kept as rejected, and leaves a gap with the reason', async () => {
    await watchKeywords(world, ['yoga', 'chess'])
    await buy(world)
    await askedEnough(world)
    await setFaults({ otherAnswer: 1 })
    assert.equal((await collect(world)).unreadable, 2)
    for (const { gap, reason } of await readRankings()) {
      assert.equal(gap, 'failed')
      assert.match(reason ?? '', /its data\.tag is/)
    }
    const problems = await world.db.sql`select kind, message from task_problem`
    assert.deepEqual(
      problems.map(({ kind }) => kind),
      ['rejected', 'rejected'],
    )
    const kept = await world.db.sql`select path, body_gzip from rejected_result`
    assert.equal(kept.length, 2)
    for (const { path, body_gzip } of kept) {
      assert.equal(path, 'data.tag')
      assert.ok(JSON.parse(gunzipSync(body_gzip).toString()).items.length > 0)
    }
    assert.deepEqual(await readMoney(world.db), { charge: 2400 })
  })

  test('is not stored either when it is delivered', async (t) => {
    const { deliver, stored } = await openReceiver(t, world)
    const [task] = await buyUnread(world, ['yoga', 'chess'])
    assert.ok(task !== undefined)
    await setFaults({ otherAnswer: 1 })
    assert.equal(await deliver(task, await readAnswer(world, task.id)), 200)
    assert.equal(stored(), 0)
    const [problem] = await readProblems()
    assert.match(problem ?? '', OTHER)
    assert.deepEqual(await countStates(world.db), { posted: 2 })
    await setFaults({})
    assert.equal((await collectPaused(world)).stored, 1)
  })
})

test('an answer that says that nothing was found, and has items, is asked for again', async (t) => {
  await watchKeywords(world, ['yoga'])
  await buy(world)
  let isBent = true
  const { client } = await tamper(t, world, (path, body) => {
    if (path.includes('/task_get/') && isBent) body.tasks[0].status_code = 40102
  })
  assert.equal((await collect(world, { client })).later, 1)
  assert.deepEqual(await readProblems(), ['The answer says that nothing was found, and has items.'])
  isBent = false
  assert.equal((await collectPaused(world, { client })).stored, 1)
})

describe('what an answer says of itself', () => {
  const TASK_ID = '019aa0b0-0000-7000-8000-000000000001'
  const HOUR_MS = 3_600_000
  const AGE_MS = 3 * HOUR_MS
  const itemOf = (fn: FetchItem['function'], subject: string, category: string | null = null): FetchItem => ({
    ...{ serviceId: 'a', path: null, kind: 'advanced', html: false, htmlPath: null, depth: 100 },
    store: 'android_store',
    function: fn,
    asked: {
      ...{ taskId: TASK_ID, attempt: 2, subject, category, locationCode: 2840, languageCode: 'en' },
      ageMs: AGE_MS,
    },
  })
  const search = itemOf('app_searches', 'Größe 100% c++')
  const chart = itemOf('app_list', 'topselling_free', 'family, ages_6_8')
  const reviews = itemOf('app_reviews', 'com.example.app')

  const judge = (item: FetchItem, answered: Partial<Answered>) =>
    findContradiction(item, {
      ...{ echo: null, path: null, result: null, results: 1, answeredAt: null },
      ...answered,
    })?.path ?? null

  test('contradicts a task by the path by which it was got, and when it has two results', () => {
    const path = ['v3', 'app_data', 'google', 'app_searches', 'task_get', 'advanced', 'a']
    assert.equal(judge(search, { path }), null)
    assert.equal(judge(search, { path: path.with(2, 'apple') }), 'path.se')
    assert.equal(judge(search, { path: path.with(3, 'app_list') }), 'path.function')
    assert.equal(judge(search, { path: path.with(6, 'b') }), 'path.id')
    assert.equal(judge(search, { path: path.with(4, 'task_post') }), null)
    assert.equal(judge(search, { path: 'app_list' }), null)
    assert.equal(judge(search, { results: 2 }), 'result[1]')
  })

  const others: [FetchItem, Record<string, unknown>][] = [
    [search, { tag: `${TASK_ID}.1` }],
    [search, { tag: `${TASK_ID.replace(/1$/, '2')}.2` }],
    [search, { tag: 'of another program' }],
    [search, { api: 'serp' }],
    [search, { function: 'app_list' }],
    [search, { type: 'app_info' }],
    [search, { se: 'ios_store' }],
    [search, { se: 'apple' }],
    [search, { se_domain: 'itunes.apple.com' }],
    [search, { keyword: 'Größe 100%' }],
    [search, { location_code: 2276 }],
    [search, { location_code: '2276' }],
    [search, { language_code: 'de' }],
    [search, { depth: 30 }],
    [reviews, { sort_by: 'most_relevant' }],
    [chart, { app_collection: 'topselling_paid' }],
    [chart, { keyword: 'topselling_paid' }],
    [chart, { app_category: 'medical' }],
    [chart, { age_rating: 'ages_9_12' }],
    [reviews, { app_id: 'com.example.other' }],
    [reviews, { app_id: 123 }],
  ]
  for (const [item, said] of others) {
    test(`contradicts a task of ${item.function} with ${JSON.stringify(said)}`, () => {
      const [field] = Object.keys(said)
      assert.equal(judge(item, { echo: said }), `data.${field}`)
      assert.equal(judge(item, { result: said }), `result.${field}`)
    })
  }

  const same: [FetchItem, Record<string, unknown>][] = [
    [search, { tag: `${TASK_ID}.2` }],
    [search, { tag: `${TASK_ID}.2.0123456789ab.1780000000.86400` }],
    [search, { tag: null, function: null, se: 7, keyword: '', location_code: 'x', language_code: null }],
    [search, { se: 'google', se_domain: 'play.google.com' }],
    [search, { se: 'a_name_of_its_own', type: 'organic' }],
    [search, { keyword: 'GRÖSSE 100% C++' }],
    [search, { keyword: 'Gro\u0308ße 100%25 c%2B%2B' }],
    [search, { keyword: 'Gr%C3%B6%C3%9Fe+100%25+c%2B%2B' }],
    [search, { keyword: ' größe  100% c++ ' }],
    [search, { location_code: '2840', depth: 100 }],
    [search, { depth: 120 }],
    [reviews, { sort_by: 'newest' }],
    [chart, { app_collection: 'topselling_free', app_category: 'family', age_rating: 'ages_6_8' }],
    [chart, { app_category: null }],
    [reviews, { app_id: 'com.example.app', keyword: 'any' }],
    [itemOf('app_reviews', '1480010017'), { app_id: 1480010017 }],
  ]
  for (const [item, said] of same) {
    test(`agrees with a task of ${item.function} with ${JSON.stringify(said)}`, () => {
      assert.equal(judge(item, { echo: said, result: said }), null)
    })
  }

  test('is too old when the store was asked long before the task was sent', () => {
    const nowMs = Date.now()
    const said = (ms: number) => ({ datetime: new Date(ms).toISOString().slice(0, 19).replace('T', ' ') })
    const sentMs = nowMs - AGE_MS
    for (const aheadMs of [-5 * HOUR_MS, 0, 5 * HOUR_MS]) {
      const answeredAt = new Date(nowMs + aheadMs)
      const old = said(sentMs + aheadMs - 2 * HOUR_MS)
      assert.equal(judge(search, { result: old, answeredAt }), 'result.datetime')
      assert.equal(judge(search, { result: said(sentMs + aheadMs), answeredAt }), null)
    }
    assert.equal(judge(search, { result: said(sentMs - 2 * HOUR_MS) }), null)
    assert.equal(judge(search, { result: said(sentMs - 25 * HOUR_MS) }), 'result.datetime')
  })

  test('is not compared in a job of an earlier version, which does not say what was asked', () => {
    const { asked: _, ...item } = search
    assert.equal(judge(item, { echo: { tag: 'x', keyword: 'y' } }), null)
  })
})

describe('a list that is short by its own account', () => {
  const organic = (rank: number, fields: object = {}) => ({
    ...{
      type: 'ios_store_search_organic',
      rank_group: rank,
      rank_absolute: rank,
      app_id: String(1000 + rank),
    },
    ...fields,
  })
  const lists: [string, object, RegExp, string[]][] = [
    [
      'with no item of those that it counts',
      { items_count: 100, items: [] },
      /^The answer counts 100 items and has 0: /,
      ['failed', 'failed'],
    ],
    [
      'with fewer items than it counts',
      { items_count: 3, items: [organic(1), organic(2)] },
      /^The answer counts 3 items and has 2: /,
      ['ranked 1', 'failed'],
    ],
    [
      'with more items than it counts',
      { items_count: 1, items: [organic(1), organic(2)] },
      /^The answer counts 1 items and has 2: /,
      ['ranked 1', 'failed'],
    ],
    [
      'with ranks that no app has',
      { items_count: 2, items: [organic(1), organic(4)] },
      /^The answer has no app at 2 of the ranks/,
      ['ranked 1', 'failed'],
    ],
    [
      'with an app of the other store',
      {
        items_count: 2,
        items: [organic(1), organic(2, { type: 'google_play_search_organic', app_id: 'a.b' })],
      },
      /^1 of 2 items could not be read and is left out\. .*items\[1\]\.app_id: it is no app of ios_store/,
      ['ranked 1', 'failed'],
    ],
    [
      'with ranks beyond those that were paid for',
      { items_count: 301, items: Array.from({ length: 301 }, (_, index) => organic(index + 1)) },
      /^The answer has rank 301, and 300 ranks were asked for/,
      ['ranked 1', 'failed'],
    ],
    [
      'with an app far beyond those that were paid for',
      { items_count: 2, items: [organic(1), organic(2000, { app_id: '9999' })] },
      /^The answer has rank 2000, and 300 ranks were asked for/,
      ['ranked 1', 'failed'],
    ],
  ]

  async function buyWatched(): Promise<void> {
    await watchKeywords(world, ['yoga'], { depth: 300 })
    await world.db.sql`
      insert into app_watch (project, store, app_id) select 'fitness', 'ios_store', id
        from unnest(array['1001', '9999']) id`
    await buy(world)
  }
  const bendLists = (t: Parameters<typeof tamper>[0], isBent: () => boolean, result: object) =>
    tamper(t, world, (path, body) => {
      if (path.includes('/task_get/') && isBent()) Object.assign(body.tasks[0].result[0], result)
    })
  async function readOutcomes(): Promise<string[]> {
    const rows = await world.db.sql<{ outcome: string; rank: number | null }[]>`
      select outcome, rank from rank_history order by app_id`
    return rows.map(({ outcome, rank }) => (rank === null ? outcome : `${outcome} ${rank}`))
  }

  for (const [name, result, problem, outcomes] of lists) {
    test(`${name} is asked for again, and in the end what it lacks is not measured`, async (t) => {
      await buyWatched()
      const { client } = await bendLists(t, () => true, result)
      assert.equal((await collect(world, { client })).later, 1)
      assert.match((await readProblems()).join(), problem)
      await askedEnough(world)
      assert.equal((await collectPaused(world, { client })).stored, 1)
      assert.deepEqual(await readOutcomes(), outcomes)
      const [ranking] = await readRankings()
      assert.deepEqual([ranking?.gap], [null])
      assert.match(ranking?.reason ?? '', problem)
      const [told] = await world.db.sql`select kind from task_problem`
      assert.equal(told?.kind, 'incomplete')
    })
  }

  test('is stored whole when the next answer is whole, fetched or delivered', async (t) => {
    const { deliver } = await openReceiver(t, world)
    const [task] = await buyUnread(world, ['yoga', 'chess'])
    assert.ok(task !== undefined)
    await setFaults({ shortList: 1 })
    assert.equal(await deliver(task, await readAnswer(world, task.id)), 200)
    assert.equal((await collect(world)).later, 1)
    for (const problem of await readProblems())
      assert.match(problem, /^The answer counts \d+ items and has \d+: /)
    await setFaults({})
    assert.equal((await collectPaused(world)).stored, 2)
    const rankings = await readRankings()
    assert.deepEqual(
      rankings.map(({ gap, reason, apps }) => [gap, reason, apps]),
      [
        [null, null, 10],
        [null, null, 10],
      ],
    )
  })

  test('is none when it counts nothing: no app is in it, however many the store says', async (t) => {
    await buyWatched()
    const { client } = await bendLists(t, () => true, { se_results_count: 900, items_count: 0, items: [] })
    assert.equal((await collect(world, { client })).stored, 1)
    assert.deepEqual(await readOutcomes(), ['not_in_top', 'not_in_top'])
  })
})
