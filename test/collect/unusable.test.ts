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

/** Bends the answer of task_get, as long as `isBent` says so. */
const bentResults = (t: Parameters<typeof tamper>[0], isBent: () => boolean, change: (task: Task) => void) =>
  tamper(t, world, (path, body) => {
    if (path.includes('/task_get/') && isBent()) change(body.tasks[0])
  })

async function readPauses(): Promise<number[]> {
  const rows = await world.db.sql<{ minutes: number }[]>`
    select round(extract(epoch from ask_at - clock_timestamp()) / 60)::int as minutes from task
      where state = 'posted'`
  return rows.map((row) => row.minutes)
}

describe('a paid task whose answer cannot be used', () => {
  const answers: [string, (task: Task) => void][] = [
    ['without items', (task) => Object.assign(task.result[0], { items: null })],
    ['without a result', (task) => Object.assign(task, { result: null })],
    ['larger than 100 apps can be', (task) => Object.assign(task, { padding: ' '.repeat(3 * 1024 * 1024) })],
    ['that is refused', (task) => Object.assign(task, { status_code: 40501, result: null })],
    ['from a server in trouble', (task) => Object.assign(task, { status_code: 50000, result: null })],
  ]
  for (const [name, change] of answers) {
    test(`${name} is asked for again by its id, and stored when that is readable`, async (t) => {
      await watchKeywords(world, ['yoga', 'chess'])
      await buy(world)
      let round = 1
      const { client, paths } = await bentResults(t, () => round <= 2, change)
      assert.deepEqual(await collect(world, { client }), {
        stored: 0,
        failed: 0,
        unreadable: 0,
        postedAgain: 0,
        later: 2,
      })
      assert.deepEqual(await readPauses(), [1, 1])
      round = 2
      assert.equal((await collectPaused(world, { client })).later, 2)
      round = 3
      assert.equal((await collectPaused(world, { client })).stored, 2)
      assert.deepEqual(await countStates(world.db), { collected: 2 })
      assert.deepEqual(await readMoney(world.db), { charge: 2400 })
      const problems = await world.db.sql`select problem from task where problem is not null`
      assert.equal(problems.length, 0)
      assert.equal(paths.filter((path) => path.endsWith('/tasks_ready')).length, 1, 'no list names it again')
    })
  }

  test('is asked for five times more, each after twice as long, then fails with its body kept', async (t) => {
    await watchKeywords(world, ['yoga'])
    await buy(world)
    const { client } = await bentResults(
      t,
      () => true,
      (task) => Object.assign(task.result[0], { items: [null] }),
    )
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
    const { client } = await bentResults(
      t,
      () => true,
      (task) => Object.assign(task, change),
    )
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
    const { client } = await bentResults(
      t,
      () => true,
      (task) => Object.assign(task.result[0], { items, items_count: 3 }),
    )
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
    const { client } = await bentResults(
      t,
      () => true,
      (task) => {
        task.result[0].items[0].rating.value = 50_000
      },
    )
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
