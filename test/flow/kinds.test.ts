/** Whole cycles over every kind of watch: searches, details, charts, reviews, raw pages. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { JOBS } from '../../jobs/index.ts'
import { handOutOverdue } from '../../src/collect/enqueue-results.ts'
import { runCycle } from '../../src/queue/cycle.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { readMoney, readOwnBooks } from '../post/posting.ts'
import { readSpendDifferences } from '../support/ledger.ts'
import { buy, fetchItems, handOut, store, watch } from '../support/stages.ts'
import { createWorld, type World } from '../support/world.ts'

const QUIET = { waitMs: 60_000, onPhase: () => {}, onProgress: () => {} }
const ANDROID = { store: 'android_store' }

async function cycle(world: World) {
  const { context, stop } = await world.openRunner()
  const result = await runCycle(context, await startRunner(context, []), JOBS, QUIET)
  await stop()
  return result
}

/** Two projects, each kind of watch, the chart and the reviews shared. */
async function watchEverything(world: World): Promise<void> {
  await watch(world, 'keyword_watch', { store: 'ios_store', keyword: 'yoga', depth: 250 })
  await watch(world, 'keyword_watch', { ...ANDROID, keyword: 'yoga', html: true })
  await watch(world, 'app_watch', { ...ANDROID, app_id: 'com.ashlune.yoga', info: true, html: true })
  await watch(world, 'app_watch', { ...ANDROID, app_id: 'com.stilmora.meditation' })
  for (const project of ['fitness', 'health']) {
    const [own, depth] = project === 'fitness' ? [true, 200] : [false, 10]
    await watch(world, 'chart_watch', { project, collection: 'topselling_free', category: 'medical', depth })
    await watch(world, 'chart_watch', { project, collection: 'topselling_free', depth: 10, html: own })
    await watch(world, 'app_watch', {
      project,
      store: 'ios_store',
      app_id: '1480010017',
      reviews: true,
      reviews_depth: depth,
    })
  }
}

/** Rows of the history by function, and the pages beside them. */
async function readHistory(world: World) {
  const rows = await world.db.sql`
    select t.function, t.store, coalesce(t.category, '') as category, coalesce(h.gap, 'measured') as outcome,
      h.depth,
      (select count(*) from page p where p.target_id = h.target_id and p.slot = h.slot) as pages
    from (
      select target_id, slot, gap, depth from ranking union all select target_id, slot, gap, null
        from app_snapshot
    ) h join target t on t.id = h.target_id
    order by 1, 2, 3`
  return rows.map(({ function: fn, store, category, outcome, depth, pages }) =>
    [fn, store, category, outcome, depth, pages].join(' '),
  )
}

/** What the service wrote down is what we did: each task once, and its money to the micro-dollar. */
async function assertPaidOnce(world: World, tasks: number): Promise<void> {
  const books = await readOwnBooks(world)
  assert.equal(books.length, tasks)
  assert.equal(new Set(books.map((entry) => entry.tag.split('.')[0])).size, tasks)
  const { charge = 0, refund = 0, ...rest } = await readMoney(world.db)
  const theirs = books.reduce((sum, entry) => sum + entry.costMicros, 0)
  assert.equal(charge + refund, theirs)
  assert.deepEqual(await readSpendDifferences(world.db.sql), [])
  assert.deepEqual(rest, {})
}

describe('one cycle over every kind of watch', () => {
  let world: World
  before(async () => {
    world = await createWorld()
    await watchEverything(world)
  })
  after(() => world.close())

  test('measures all of them, each target once for all projects', async () => {
    const { plan, outstanding } = await cycle(world)
    assert.deepEqual([plan.planned, outstanding.posted], [6, 0])
    assert.deepEqual(await readHistory(world), [
      'app_info android_store  measured  1',
      'app_list android_store  measured 10 1',
      'app_list android_store medical measured 200 0',
      'app_reviews ios_store  measured  0',
      'app_searches android_store  measured 30 1',
      'app_searches ios_store  measured 250 0',
    ])
    await assertPaidOnce(world, 6)
    const [chart] = await world.db.sql`
      select cardinality(r.app_ids) as apps, t.check_url from ranking r join target t on t.id = r.target_id
      where t.category = 'medical'`
    assert.ok(chart?.apps > 0)
    assert.match(chart?.check_url, /\/category\/medical\/collection\/topselling_free/)
    const reviews = await world.db.sql`select from review`
    assert.equal(reviews.length, 200)
  })

  test('splits the price of what several watch', async () => {
    const rows = await world.db.sql`
      select t.function, array_agg(distinct p.name) as projects, sum(c.amount_micros)::int as micros
      from charge c join target t on t.id = c.target_id join project p on p.id = c.project_id
      where c.kind = 'charge' and (t.category = 'medical' or t.function = 'app_reviews') group by 1
        order by 1`
    assert.deepEqual(
      [...rows],
      [
        { function: 'app_list', projects: ['fitness', 'health'], micros: 2400 },
        { function: 'app_reviews', projects: ['fitness', 'health'], micros: 3000 },
      ],
    )
  })

  test('is followed by one that buys nothing', async () => {
    const before = await readHistory(world)
    assert.equal((await cycle(world)).plan.planned, 0)
    assert.deepEqual(await readHistory(world), before)
    await assertPaidOnce(world, 6)
  })
})

test('where raw pages alone are offered, what cannot be ranked is kept as html_only', async (t) => {
  const world = await createWorld({ sandbox: { htmlOnly: true } })
  t.after(() => world.close())
  await watchEverything(world)
  const { outstanding } = await cycle(world)
  assert.equal(outstanding.posted, 0)
  assert.deepEqual(await readHistory(world), [
    'app_info android_store  measured  1',
    'app_list android_store  html_only 10 1',
    'app_list android_store medical html_only 200 6',
    'app_reviews ios_store  measured  0',
    'app_searches android_store  html_only 30 1',
    'app_searches ios_store  measured 250 0',
  ])
  assert.equal((await readOwnBooks(world)).length, 6)
})

test('with every other answer refused or that of another task, each kind is measured once', async (t) => {
  const often = { rate: 0.5, path: '/task_get/' }
  const world = await createWorld({
    sandbox: { faults: { rateLimit: often, wrongId: often, duplicateRow: 0.5 } },
  })
  t.after(() => world.close())
  await watchEverything(world)
  await buy(world)
  const countOpen = async () => (await world.db.sql`select from task where state = 'posted'`).count
  for (let round = 0; round < 100 && (await countOpen()) > 0; round += 1) {
    const items = await handOut(world)
    await world.db.sql`update task set ask_at = clock_timestamp() - interval '1 s'`
    await handOutOverdue(world.db, async (_tx, found) => {
      items.push(...found)
    })
    await store(world, await fetchItems(world, items))
    await world.db.sql`update task set fetching_until = null`
  }
  assert.equal((await readHistory(world)).filter((row) => row.includes('measured')).length, 6)
  await assertPaidOnce(world, 6)
})
