/** What a paid task comes to by an answer with which its result cannot be stored, or not as a whole. */
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { countStates, readMoney } from '../post/posting.ts'
import { lasting } from '../support/lasting.ts'
import { endAttemptPauses } from '../support/ledger.ts'
import { askedEnough, buy, clear, collect, collectPaused, tamper, watchKeywords } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const world = lasting(() => createWorld({ sandbox: { callsPerMinute: 100_000 } }))
afterEach(() => clear(world))

// biome-ignore lint/suspicious/noExplicitAny: a test bends an answer into any shape.
type Task = any

/** The service, with the tasks of its answers to task_get bent. */
const bend = (t: Parameters<typeof tamper>[0], change: (task: Task) => unknown) =>
  tamper(t, world, (path, body) => {
    if (path.includes('/task_get/')) change(body.tasks[0])
  })

/** The service, which answers for each task that is fetched with this code and no result. */
const refusal = (status_code: number, status_message: string) => (task: Task) =>
  Object.assign(task, { status_code, status_message, result: null, result_count: 0 })

async function readPauses(): Promise<number[]> {
  const rows = await world.db.sql<{ minutes: number }[]>`
    select round(extract(epoch from ask_at - clock_timestamp()) / 60)::int as minutes from task
      where state = 'posted'`
  return rows.map((row) => row.minutes)
}

describe('a paid task whose answer cannot be used', () => {
  const answers: [
    string,
    (task: Task) => unknown,
    last: 'failed' | 'unreadable' | 'later',
    problem: RegExp,
  ][] = [
    [
      'without items',
      (task) => Object.assign(task.result[0], { items: null }),
      'unreadable',
      /at items: it is /,
    ],
    ['without a result', (task) => Object.assign(task, { result: null }), 'unreadable', /holds no result\.$/],
    [
      'larger than 100 apps can be',
      (task) => Object.assign(task, { padding: ' '.repeat(3 * 1024 * 1024) }),
      'unreadable',
      /the body exceeds \d+ bytes/,
    ],
    ['from a server in trouble', refusal(50000, 'Trouble.'), 'later', /failed: Trouble\. \(50000\)/],
    // Whatever such a code would say of an account.
    ...[40105, 40199, 40205, 40299, 40501, 40506].map((code): (typeof answers)[number] => [
      `with ${code}`,
      refusal(code, 'Something else.'),
      'failed',
      new RegExp(`^${code}: Something else\\.$`),
    ]),
  ]
  for (const [name, change, last, problem] of answers) {
    test(`${name} is asked for again by its id, and stored when that is readable`, async (t) => {
      await watchKeywords(world, ['yoga', 'chess'])
      await buy(world)
      const bad = new Set(['yoga', 'chess'])
      const { client, paths } = await bend(t, (task) => bad.has(task.data.keyword) && change(task))
      const none = { stored: 0, failed: 0, unreadable: 0, postedAgain: 0, later: 0 }
      assert.deepEqual(await collect(world, { client }), { ...none, later: 2 })
      assert.deepEqual(await readPauses(), [1, 1])
      const open = await world.db.sql<{ problem: string }[]>`select problem from task`
      for (const task of open) assert.match(task.problem, problem)
      assert.equal((await collectPaused(world, { client })).later, 2)

      await askedEnough(world)
      bad.delete('chess')
      assert.deepEqual(await collectPaused(world, { client }), { ...none, stored: 1, [last]: 1 })
      assert.deepEqual(await readMoney(world.db), { charge: 2400 })
      const gaps = await world.db.sql<{ subject: string; gap: string | null; reason: string }[]>`
        select t.subject, r.gap, r.reason from ranking r join target t on t.id = r.target_id
          where r.gap is not null or r.reason is not null`
      assert.deepEqual(
        gaps.map(({ subject, gap, reason }) => [subject, gap, problem.test(reason)]),
        last === 'later' ? [] : [['yoga', 'failed', true]],
      )
      assert.equal(paths.filter((path) => path.endsWith('/tasks_ready')).length, 1, 'no list names it again')
    })
  }

  test('is asked for five times more, each after twice as long, then fails with its body kept', async (t) => {
    await watchKeywords(world, ['yoga'])
    await buy(world)
    const { client } = await bend(t, (task) => Object.assign(task.result[0], { items: [null] }))
    await collect(world, { client })
    const pauses = await readPauses()
    for (let asked = 2; asked <= 5; asked += 1) {
      assert.equal((await collectPaused(world, { client })).later, 1)
      pauses.push(...(await readPauses()))
    }
    assert.deepEqual(pauses, [1, 2, 4, 8, 16])
    assert.equal((await world.db.sql`select from rejected_result`).length, 0)
    const [open] = await world.db.sql`select kind, message from task_problem`
    assert.equal(open?.kind, 'overdue')
    assert.match(
      open?.message,
      /the last answer was: .*items\[0\].*It stays open and is asked for by its id\.$/,
    )
    assert.equal((await collectPaused(world, { client })).unreadable, 1)
    assert.deepEqual(await countStates(world.db), { failed: 1 })
    const [kept] = await world.db.sql`select body_gzip from rejected_result`
    assert.deepEqual(JSON.parse(gunzipSync(kept?.body_gzip).toString()).items, [null])
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
  })

  test('begins to count anew when it is posted again', async (t) => {
    await watchKeywords(world, ['yoga'])
    await buy(world)
    let change: object = { status_code: 40501, result: null }
    const { client } = await bend(t, (task) => Object.assign(task, change))
    await collect(world, { client })
    await collectPaused(world, { client })
    change = { status_code: 40101, result: null }
    assert.equal((await collectPaused(world, { client })).postedAgain, 1)
    await endAttemptPauses(world.db.sql)
    await buy(world)
    change = { status_code: 40501, result: null }
    await collect(world, { client })
    assert.deepEqual(await readPauses(), [1])
  })
})

describe('a result of which one item cannot be read', () => {
  const organic = (type: string, rank: number, app: string, fields: object = {}) => ({
    type,
    rank_group: rank,
    rank_absolute: rank,
    app_id: app,
    ...fields,
  })
  const items = [
    organic('ios_store_search_organic', 1, '1001'),
    organic('ios_store_search_organic', 2, '-5'),
    organic('ios_store_search_organic', 3, '1003'),
  ]
  const PROBLEM = /^1 of 3 items could not be read and is left out\. .* items\[1\]\.app_id: an app id is /

  async function buyWatched(): Promise<void> {
    await watchKeywords(world, ['yoga'], { depth: 300 })
    await world.db.sql`
      insert into app_watch (project, store, app_id)
      select 'fitness', 'ios_store', id from unnest(array['1001', '1003', '1009']) id`
    await buy(world)
  }
  const readRanks = () => world.db.sql<
    { app_id: string; outcome: string; rank: number | null; reason: string | null }[]
  >`
    select app_id, outcome, rank, reason from rank_history order by app_id`

  test('is stored without it in the end: no rank is lost, and no app is called absent', async (t) => {
    await buyWatched()
    await askedEnough(world)
    const { client } = await bend(t, (task) => Object.assign(task.result[0], { items, items_count: 3 }))
    assert.equal((await collect(world, { client })).stored, 1)
    const rows = await readRanks()
    assert.deepEqual(
      rows.map(({ app_id, outcome, rank }) => [app_id, outcome, rank]),
      [
        ['1001', 'ranked', 1],
        ['1003', 'ranked', 3],
        ['1009', 'failed', null],
      ],
    )
    for (const { reason } of rows) assert.match(reason ?? '', PROBLEM)
    const latest = await world.db.sql`select outcome from rank_latest order by app_id`
    assert.deepEqual(
      latest.map(({ outcome }) => outcome),
      ['ranked', 'ranked', 'failed'],
    )
    const [problem] = await world.db.sql`select kind, message from task_problem`
    assert.equal(problem?.kind, 'incomplete')
    assert.match(problem?.message, PROBLEM)
    assert.deepEqual(await readMoney(world.db), { charge: 3600, refund: -2400 })
    assert.equal((await world.db.sql`select from rejected_result`).length, 0)
  })

  test('of reviews or raw pages is stored without it as well', async (t) => {
    await world.db.sql`
      insert into app_watch (project, store, app_id, reviews, location_code, language_code)
      values ('fitness', 'ios_store', '1480010017', true, 2840, 'en')`
    await buy(world)
    await askedEnough(world)
    const { client } = await bend(t, (task) => {
      task.result[0].items[0].rating.value = 50_000
    })
    assert.equal((await collect(world, { client })).stored, 1)
    const [stored] = await world.db.sql`select count(*) as reviews, max(rating) as best from review`
    assert.ok(stored?.reviews > 10 && stored?.best <= 5)
    const [problem] = await world.db.sql`select kind, message from task_problem`
    assert.equal(problem?.kind, 'incomplete')
    assert.match(
      problem?.message,
      /^1 of \d+ items could not be read .* items\[0\]\.rating\.value: it is not on the scale/,
    )
  })
})

test('a failure of the store that no task stands below is not paid for again', async (t) => {
  await watchKeywords(world, ['yoga'])
  await buy(world)
  const failing = await tamper(t, world, (path, body) => {
    if (path.includes('/task_get/')) Object.assign(body, { status_code: 40103, tasks: null })
  })
  assert.equal((await collect(world, failing)).later, 1)
  assert.deepEqual(await countStates(world.db), { posted: 1 })
})

test('that nothing was found is a measurement, whether the code or the message alone says it', async (t) => {
  for (const code of [40102, 40501]) {
    await watchKeywords(world, ['yoga'], { depth: 300 })
    await buy(world)
    assert.equal((await collect(world, await bend(t, refusal(code, 'No Search Results.')))).stored, 1)
    const [found] = await world.db.sql`select gap, results_count, app_ids from ranking`
    assert.deepEqual({ ...found }, { gap: null, results_count: 0, app_ids: [] })
    assert.deepEqual(await readMoney(world.db), { charge: 3600, refund: -2400 })
    await clear(world)
  }
})

test('a refused field is no empty result, and no words are read when tasks are posted', async (t) => {
  await watchKeywords(world, ['yoga'])
  const { client } = await tamper(t, world, (path, body) => {
    if (!path.endsWith('/task_post')) return
    Object.assign(body.tasks[0], { status_code: 40501, status_message: 'No Search Results.', cost: 0 })
  })
  await buy(world, { client })
  assert.deepEqual(await countStates(world.db), { failed: 1 })
  await clear(world)
  await watchKeywords(world, ['chess'])
  await buy(world)
  const refusing = await bend(t, refusal(40501, "Invalid Field: 'No Search Results'."))
  assert.equal((await collect(world, refusing)).later, 1)
})
