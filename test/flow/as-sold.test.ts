/**
 * The whole way at the service as it is sold: every kind of watch of both stores, an answer that is lost, a
 * copy that lacks all of it, and equal books.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { JOBS } from '../../jobs/index.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { readRestoreHold } from '../../src/ledger/restored.ts'
import { recoverForgottenTasks } from '../../src/post/recover.ts'
import { checkForRestore } from '../../src/post/restored.ts'
import { runCycle } from '../../src/queue/cycle.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { startLossyProxy } from '../post/lossy-proxy.ts'
import { readMoney } from '../post/posting.ts'
import { restoreCopy } from '../support/copy.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { readSpendDifferences } from '../support/ledger.ts'
import { watch } from '../support/stages.ts'
import { createWorld, type World } from '../support/world.ts'

const QUIET = { waitMs: 90_000, onPhase: () => {} }
const IOS = { store: 'ios_store' }
const ANDROID = { store: 'android_store' }

let world: World
let copy: TestDatabase
before(async () => {
  const database = await createTestDatabase()
  world = await createWorld({
    database,
    sandbox: { asSold: true, readyMs: 0 },
    client: { stores: { ios_store: 'apple', android_store: 'google' }, unlistedMs: 3_000 },
  })
  await watchEverything()
  // Its 100,000 places are loaded in test/watch/references.test.ts.
  await world.db.sql`
    insert into job_run (job, slot, state, ended_at) values ('references', now(), 'done', now())`
  copy = await restoreCopy(database)
})
after(async () => {
  await world.close()
  await copy.drop()
})

async function watchEverything(): Promise<void> {
  await watch(world, 'keyword_watch', { ...IOS, keyword: 'yoga', depth: 250 })
  await watch(world, 'keyword_watch', { ...IOS, keyword: '100% c++' })
  await watch(world, 'keyword_watch', { ...ANDROID, keyword: 'yoga', html: true })
  await watch(world, 'chart_watch', { ...IOS, collection: 'top_free_ios', depth: 100 })
  await watch(world, 'chart_watch', { ...ANDROID, collection: 'topselling_free', depth: 100 })
  await watch(world, 'app_watch', {
    ...IOS,
    app_id: '1480010017',
    info: true,
    reviews: true,
    reviews_depth: 60,
  })
  await watch(world, 'app_watch', { ...ANDROID, app_id: 'com.ashlune.yoga', info: true, reviews: true })
}
const TARGETS = 9

/** The books of the service: what it lists, and what it has taken from the balance. */
async function readTheirBooks() {
  const { listedTo } = await world.client.readListEnd()
  const from = new Date(listedTo.getTime() - 3_600_000)
  const rows = await world.client.listTaskIds({
    ...{ from, to: listedTo, offset: 0, limit: 1000, sort: 'asc' },
    includeMetadata: true,
  })
  const { balanceMicros, depositedMicros } = await world.client.getUserData()
  return {
    rows,
    listedMicros: rows.reduce((sum, { costMicros }) => sum + (costMicros ?? Number.NaN), 0),
    takenMicros: (depositedMicros ?? Number.NaN) - (balanceMicros ?? Number.NaN),
  }
}

async function assertEqualBooks(db: Database): Promise<void> {
  const { rows, listedMicros, takenMicros } = await readTheirBooks()
  const { charge = 0, refund = 0, ...rest } = await readMoney(db)
  assert.deepEqual([charge + refund, charge + refund], [listedMicros, takenMicros])
  assert.deepEqual(rest, {})
  assert.deepEqual(await readSpendDifferences(db.sql), [])
  const ours = await db.sql<{ id: string }[]>`select distinct service_id as id from charge order by 1`
  assert.deepEqual(
    ours.map(({ id }) => id),
    rows.map(({ id }) => id).sort(),
  )
}

async function cycle(url: string, onProgress = () => {}) {
  const { context, stop } = await world.openRunner({ url })
  const result = await runCycle(context, await startRunner(context, []), JOBS, { ...QUIET, onProgress })
  await stop()
  return result
}

test('one cycle measures everything though its first answer is lost, and pays for each once', async (t) => {
  const proxy = await startLossyProxy(t, world.sandboxUrl, '/apple/app_searches/task_post')
  proxy.lose = 'answer'
  const { plan, outstanding, refusal } = await cycle(proxy.url, () => {
    if (proxy.posts > 0) proxy.lose = 'nothing'
  })
  assert.equal(refusal, null)
  assert.deepEqual(
    [plan.planned, outstanding.planned, outstanding.posting, outstanding.posted],
    [TARGETS, 0, 0, 0],
  )
  const gaps = await world.db.sql`
    select gap, reason from ranking where gap is not null union all select gap, reason from app_snapshot
      where gap is not null`
  assert.deepEqual([...gaps], [])
  const [lost] = await world.db.sql`
    select count(*)::int as calls from api_call where kind = 'task_post' and error is not null`
  assert.ok(lost?.calls > 0, 'an answer was lost')
  const tasks = await world.db.sql`select from task where state = 'collected'`
  assert.equal(tasks.length, TARGETS)
  await assertEqualBooks(world.db)
})

test('what was measured stands in the history as that of any service does', async () => {
  const ranked = await world.db.sql`
    select store, list, keyword, outcome, rank is not null as is_ranked from rank_history
      order by store, list, keyword`
  assert.deepEqual(
    ranked
      .map(({ store, outcome }) => `${store} ${outcome}`)
      .filter((line) => !/ (ranked|not_in_top)$/.test(line)),
    [],
  )
  assert.equal(ranked.length, 5)
  const apps = await world.db.sql`select store, outcome, title from app_history order by store`
  assert.deepEqual(
    apps.map(({ store, outcome }) => `${store} ${outcome}`),
    ['android_store measured', 'ios_store measured'],
  )
  assert.ok(apps.every(({ title }) => title !== null))
  const reviews = await world.db.sql`
    select store, count(helpful_count) > 0 as "saysHelp", count(response) > 0 as "hasAnswers" from app_review
      group by 1 order by 1`
  assert.deepEqual(
    [...reviews],
    [
      { store: 'android_store', saysHelp: true, hasAnswers: true },
      { store: 'ios_store', saysHelp: false, hasAnswers: false },
    ],
  )
  const subtitles = await world.db.sql`select from listing where details ->> 'subtitle' <> ''`
  assert.equal(subtitles.length, 1)
  const [pages] = await world.db.sql`select count(*)::int as pages from page`
  assert.ok(pages?.pages > 0)
})

test('the newest reviews were asked for, and one list for what was ready of all functions', async () => {
  const { rows } = await readTheirBooks()
  const orders = rows.flatMap(({ metadata }) => (metadata as { sort_by?: string } | null)?.sort_by ?? [])
  assert.deepEqual(orders.sort(), ['most_recent', 'newest'])
  const lists = await world.db.sql<{ path: string }[]>`
    select distinct path from api_call where kind = 'tasks_ready'`
  assert.ok(lists.some(({ path }) => path === '/v3/app_data/tasks_ready'))
})

test('no call was refused', async () => {
  const refused = await world.db.sql`
    select kind, path, http_status, status_code, error from api_call
    where http_status <> 200 or status_code not in (20000, 20100)`
  assert.deepEqual([...refused], [])
  const paths = await world.db.sql`select from api_call where path ~ 'apple|google'`
  assert.equal(paths.length, 0, 'only the wire has the names of the service')
})

test('a copy that lacks all of it posts nothing, and has equal books once all is read back', async (t) => {
  const db = openDatabase(copy.url)
  t.after(() => db.close())
  await checkForRestore(db, world.client, t.signal)
  assert.match((await readRestoreHold(db.sql)) ?? '', /storerank recover/)
  const options = { quietMs: 0, overdueAfterMs: 60_000, signal: t.signal }
  const { recovered, duplicates, unreadable } = await recoverForgottenTasks(db, world.client, options)
  assert.deepEqual(
    { recovered, duplicates, unreadable },
    { recovered: TARGETS, duplicates: 0, unreadable: 0 },
  )
  assert.equal(await readRestoreHold(db.sql), null)
  await assertEqualBooks(db)
  const measured = await db.sql`
    select t.store, t.function, count(*)::int from task k join target t on t.id = k.target_id group by 1, 2
      order by 1, 2`
  assert.equal(measured.length, 8)
})
