/** The search in listings: bought at once, through the budgets and the books of everything that is bought. */
import assert from 'node:assert/strict'
import { beforeEach, describe, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { openDatabase } from '../../src/db/database.ts'
import { reconcileUnknownPosts } from '../../src/post/reconcile.ts'
import { recoverForgottenTasks } from '../../src/post/recover.ts'
import { estimate, type SearchDeps, searchListings } from '../../src/post/search-listings.ts'
import { workPost } from '../../src/post/work-post.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import type { ListingOutcome } from '../../src/service/listings.ts'
import { restoreCopy } from '../support/copy.ts'
import { createTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { readReservations, readSpendDifferences } from '../support/ledger.ts'
import { clear, tamper } from '../support/stages.ts'
import { createWorld, type World } from '../support/world.ts'
import { countStates, readMoney, replaceCalls, sweep } from './posting.ts'

const world = lasting(() => createWorld({ sandbox: { deviations: ['endpoints'] } }))
beforeEach(() => clear(world))

const depsOf = ({ db, client, settings }: World, changes: Partial<SearchDeps> = {}): SearchDeps => ({
  db,
  client,
  budget: settings.budget,
  window: { ...settings, runner: 'test' },
  ...changes,
})

const YOGA = { store: 'ios_store', query: { title: 'yoga', limit: 20 }, project: 'research' } as const

/** The world's client, with another outcome of the search. */
const answering = (
  outcome: (send: () => Promise<ListingOutcome>) => Promise<ListingOutcome>,
): AppDataClient =>
  replaceCalls(world.client, {
    searchListings: (...search) => outcome(() => world.client.searchListings(...search)),
  })

const readCharges = () => world.db.sql<{ project: string; function: string; micros: number }[]>`
  select project, function, sum(amount_micros)::int as micros from charge_line group by 1, 2`

/** The sandbox's own list of what it charged under a tag of this database. */
const listed = async () => {
  const from = new Date(Date.now() - 3_600_000)
  const query = { from, to: new Date(), offset: 0, limit: 1000, sort: 'asc', includeMetadata: true } as const
  const tags = await world.db.sql<{ id: string }[]>`select id from task`
  return (await world.client.listTaskIds(query)).filter(({ tag }) =>
    tags.some(({ id }) => tag?.startsWith(id)),
  )
}

describe('a search in listings', () => {
  test('gives what it found, and is charged what the service took, to the project that asked', async () => {
    const { items, totalCount, costMicros } = await searchListings(depsOf(world), YOGA)
    assert.ok(items.length > 0 && items.length <= 20 && (totalCount ?? 0) >= items.length)
    assert.match(items[0]?.item.title ?? '', /yoga/i)
    assert.equal(costMicros, 10_000 + 100 * items.length)
    assert.deepEqual(
      [...(await readCharges())],
      [{ project: 'research', function: 'app_listings', micros: costMicros }],
    )
    const [row, ...more] = await listed()
    assert.deepEqual([row?.costMicros, more.length], [costMicros, 0])
    assert.deepEqual(await countStates(world.db), { collected: 1 })
    assert.deepEqual(await readReservations(world.db.sql), [])
    assert.deepEqual(await readSpendDifferences(world.db.sql), [])
  })

  test('may be made twice at once for the same, and each is paid for', async () => {
    await Promise.all([searchListings(depsOf(world), YOGA), searchListings(depsOf(world), YOGA)])
    assert.deepEqual(await countStates(world.db), { collected: 2 })
    assert.equal((await listed()).length, 2)
  })

  test('that no budget has room for is not sent, and leaves nothing behind', async () => {
    const budget = { maxDayMicros: 11_999, maxMonthMicros: null }
    const refused = { code: 'account_money', message: /may cost \$0\.012, .* Nothing was sent\./ }
    await assert.rejects(searchListings(depsOf(world, { budget }), YOGA), refused)
    await world.db.sql`insert into project (name, daily_usd) values ('poor', 0.01)`
    await assert.rejects(searchListings(depsOf(world), { ...YOGA, project: 'poor' }), refused)
    assert.deepEqual([await countStates(world.db), (await listed()).length], [{}, 0])
    assert.deepEqual(await readSpendDifferences(world.db.sql), [])
  })

  test('counts in the budget of the day while it is under way', async () => {
    const budget = { maxDayMicros: 20_000, maxMonthMicros: null }
    const client = answering(async (send) => {
      await assert.rejects(searchListings(depsOf(world, { budget }), YOGA), { code: 'account_money' })
      return send()
    })
    await searchListings(depsOf(world, { budget, client }), YOGA)
  })

  test('that breaks a rule of the service is refused, costs nothing, and is no gap', async () => {
    const query = { offsetToken: 'of another search' }
    await assert.rejects(searchListings(depsOf(world), { ...YOGA, query }), {
      code: 'rejected',
      statusCode: 40501,
    })
    assert.deepEqual(await countStates(world.db), { failed: 1 })
    assert.deepEqual([...(await readCharges())], [])
    assert.equal((await world.db.sql`select from ranking union all select from app_snapshot`).count, 0)
    assert.deepEqual(await readReservations(world.db.sql), [])
  })

  for (const [name, change] of [
    ['is about something else', { data: { tag: 'another' } }],
    ['refuses it at a cost', { status_code: 40501, cost: 0.01, result: null }],
  ] as const) {
    test(`whose answer ${name} is looked for in the list, and charged once`, async (t) => {
      const { client } = await tamper(t, world, (path, body) => {
        if (path.endsWith('/search/live')) Object.assign(body.tasks[0], change)
      })
      await assert.rejects(searchListings(depsOf(world, { client }), YOGA), { code: 'unavailable' })
      assert.deepEqual(await countStates(world.db), { posting: 1 })
      assert.deepEqual([...(await readCharges())], [])
    })
  }

  test('that was not sent is gone', async () => {
    const client = answering(async () => ({ kind: 'not_sent', reason: 'its time to be sent had passed' }))
    await assert.rejects(searchListings(depsOf(world, { client }), YOGA), {
      code: 'unavailable',
      message: /was not sent/,
    })
    assert.deepEqual(await countStates(world.db), {})
    assert.deepEqual(await readSpendDifferences(world.db.sql), [])
  })
})

describe('a search in listings whose answer was lost', () => {
  const lost: ListingOutcome = { kind: 'unknown', reason: 'the connection was lost' }
  const reconcile = () => reconcileUnknownPosts(world.db, world.client, { quietMs: 0, overdueAfterMs: 1 })
  const age = () =>
    world.db.sql`update post set send_before = send_before - interval '1 hour',
        scanned_at = scanned_at - interval '1 hour'`

  test('stays reserved until it is found in the list, and is charged then', async () => {
    const client = answering(async (send) => {
      await send()
      return lost
    })
    await assert.rejects(searchListings(depsOf(world, { client }), YOGA), {
      code: 'unavailable',
      message: /lost .* \$0\.012 stays reserved/,
    })
    assert.deepEqual(await readMoney(world.db), { reserved: 12_000 })
    await reconcile()
    const [row] = await listed()
    assert.deepEqual(
      [...(await readCharges())].map(({ micros }) => micros),
      [row?.costMicros],
    )
    assert.deepEqual(await countStates(world.db), { collected: 1 })
    const [problem] = await world.db.sql`select message from task_problem`
    assert.equal(problem?.message, 'It was charged, and its answer was lost.')
    assert.deepEqual(await readSpendDifferences(world.db.sql), [])
  })

  test('is never made again when it was not made, and its money is free', async () => {
    const client = answering(async () => lost)
    await assert.rejects(searchListings(depsOf(world, { client }), YOGA), { code: 'unavailable' })
    for (const _ of ['the first scan', 'the second']) {
      await age()
      await reconcile()
    }
    assert.deepEqual(await countStates(world.db), { planned: 1 })
    const { enqueued: postIds } = await sweep(world)
    const deps = { ...depsOf(world), log: pino({ level: 'silent' }), overdueAfterMs: 1, postbackUrl: null }
    for (const postId of postIds) await workPost(deps, postId, AbortSignal.timeout(60_000))
    assert.deepEqual(await readReservations(world.db.sql), [])
    assert.equal((await listed()).length, 0)
    assert.deepEqual(await readSpendDifferences(world.db.sql), [])
  })
})

test('a database restored from before a search knows its charge again, once', async (t: TestContext) => {
  const original = await createTestDatabase()
  const restored = await restoreCopy(original)
  t.after(() => restored.drop())
  const sold = await createWorld({ database: original, sandbox: { deviations: ['endpoints'] } })
  t.after(() => sold.close())
  const { costMicros } = await searchListings(depsOf(sold), YOGA)
  const db = openDatabase(restored.url)
  t.after(() => db.close())
  await assert.rejects(searchListings(depsOf(sold, { db }), YOGA), {
    code: 'configuration',
    message: /storerank recover/,
  })
  const options = { quietMs: 0, overdueAfterMs: 60_000 }
  assert.equal((await recoverForgottenTasks(db, sold.client, options)).recovered, 1)
  const charges =
    await db.sql`select project, function, sum(amount_micros)::int as micros from charge_line group by 1, 2`
  assert.deepEqual([...charges], [{ project: 'recovered', function: 'app_listings', micros: costMicros }])
  assert.deepEqual(await readSpendDifferences(db.sql), [])
  await searchListings(depsOf(sold, { db }), YOGA)
})

test('where the service does not offer it, it says so', async (t: TestContext) => {
  const specified = await createWorld()
  t.after(() => specified.close())
  await assert.rejects(searchListings(depsOf(specified), YOGA), {
    code: 'rejected',
    message: /does not offer it/,
  })
  assert.deepEqual(await readReservations(specified.db.sql), [])
})

test('the estimate is the greatest of the price list and of what is known, for all that may come', () => {
  const entry = (costType: string, costMicros: number) => ({
    api: 'app_data',
    call: 'app_listings.search.live',
    priority: 'priority_normal',
    costType,
    costMicros,
  })
  assert.equal(estimate([], 100), 20_000)
  assert.equal(estimate([entry('per_request', 15_000), entry('per_result', 200)], 10), 17_000)
  assert.equal(estimate([entry('per_request', 0), entry('per_result', 0)], 1000), 110_000)
})
