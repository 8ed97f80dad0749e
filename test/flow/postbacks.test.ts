import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { afterEach, test } from 'node:test'
import { JOBS } from '../../jobs/index.ts'
import { sweepPosts } from '../../src/post/reconcile.ts'
import { runCycle } from '../../src/queue/cycle.ts'
import { startRunner } from '../../src/queue/runner.ts'
import type { FaultSettingsInput } from '../../src/sandbox/faults.ts'
import { Secret } from '../../src/secret.ts'
import { openReceiver } from '../collect/receiving.ts'
import { countStates, forgetAll, planPosts, readMoney, readOwnBooks, watch } from '../post/posting.ts'
import { putFaults } from '../support/faults.ts'
import { lasting } from '../support/lasting.ts'
import { readSpendDifferences } from '../support/ledger.ts'
import { createWorld, until, type WorldRunner } from '../support/world.ts'

const world = lasting(() =>
  createWorld({
    // What is delivered before its post is settled is left to the ready list.
    sandbox: { callsPerMinute: 100_000, requestsInFlight: 100, readyMs: 3_000 },
    settings: { callsPerMinute: 100_000 },
  }),
)
afterEach(() => forgetAll(world))

const QUIET = { waitMs: 60_000, onPhase: () => {}, onProgress: () => {} }
const keywordsOf = (count: number) => Array.from({ length: count }, (_, n) => `yoga ${n}`)

/** A runner that posts with the address of a receiver, which enqueues into the runner's own queue. */
async function openDelivery(t: TestContext, overdueAfterMs = 3_600_000) {
  let runner: WorldRunner | undefined
  const receiving = await openReceiver(t, world, {
    enqueue: async (tx, items) => runner?.context.queue.enqueueFetch(tx, items),
  })
  const postbackUrl = new Secret(`${receiving.origin}/hooks/${receiving.secret}`)
  runner = await world.openRunner({ settings: { postbackUrl, overdueAfterMs } })
  return { ...receiving, runner }
}

const setFaults = (faults: FaultSettingsInput) => putFaults(world.sandboxUrl, faults)

async function countCalls(kind: string): Promise<number> {
  const [row] = await world.db.sql<{ calls: number }[]>`
    select count(*) as calls from api_call where kind = ${kind}`
  return row?.calls ?? 0
}

/** Posts everything planned and waits until nothing is outstanding, without asking a ready list. */
async function postAndWait({ context }: WorldRunner): Promise<void> {
  await startRunner(context, [])
  await sweepPosts(context.db, context.queue.enqueuePosts)
  await until('everything has been delivered', async () => {
    const { planned = 0, posting = 0, posted = 0 } = await countStates(world.db)
    return planned + posting + posted === 0
  })
}

test('what is posted with an address is delivered and stored, and no result is asked for', async (t) => {
  const { runner, stored, secret } = await openDelivery(t)
  await watch(world, keywordsOf(110))
  await watch(world, keywordsOf(10), { store: 'android_store', depth: 30 })
  await planPosts(world)
  await postAndWait(runner)
  await runner.stop()
  assert.deepEqual(await countStates(world.db), { collected: 120 })
  assert.equal(stored(), 120)
  for (const kind of ['tasks_ready', 'task_get']) assert.equal(await countCalls(kind), 0, kind)
  const books = await readOwnBooks(world)
  const { charge = 0, refund = 0 } = await readMoney(world.db)
  assert.equal(
    charge + refund,
    books.reduce((sum, entry) => sum + entry.costMicros, 0),
  )
  assert.deepEqual(await readSpendDifferences(world.db.sql), [])
  const [kept] = await world.db.sql<{ text: string }[]>`
    select coalesce(string_agg(row, ''), '') as text from (
      select t::text as row from task t union all select c::text from api_call c union all select p::text
        from post p
      union all select j::text from pgboss.job j) rows`
  assert.ok(kept !== undefined && !kept.text.includes(secret), 'the database does not hold the secret')
})

test('what wants its raw pages is told of by pingback, and fetched', async (t) => {
  const { runner, stored } = await openDelivery(t)
  await watch(world, keywordsOf(5), { store: 'android_store', depth: 30 })
  await planPosts(world)
  await world.db.sql`update task set html = true`
  await postAndWait(runner)
  await runner.stop()
  assert.deepEqual(await countStates(world.db), { collected: 5 })
  assert.equal(stored(), 0, 'no postback brought anything')
  assert.equal(await countCalls('tasks_ready'), 0)
})

test('what was sent twice, not sent or lost on the way is stored once in the end', async (t) => {
  await setFaults({ webhookTwice: 0.2, webhookUnsent: 0.2, webhookLost: 0.1, strayWebhook: 0.2 })
  t.after(() => setFaults({}))
  const { runner, stored } = await openDelivery(t, 5_000)
  await watch(world, keywordsOf(100))
  const result = await runCycle(runner.context, await startRunner(runner.context, []), JOBS, QUIET)
  await runner.stop()
  assert.equal(result.outstanding.posted, 0)
  assert.deepEqual(await countStates(world.db), { collected: 100 })
  assert.ok(stored() > 30 && stored() < 100, `${stored()} were delivered, the others collected`)
  assert.equal((await readOwnBooks(world)).length, 100)
  assert.deepEqual(Object.keys(await readMoney(world.db)), ['charge'])
  const charges = await world.db.sql`select from charge where kind = 'charge'`
  assert.equal(charges.length, 100)
})

test('where only raw pages are offered nothing is posted back: it is fetched and archived', async (t) => {
  const pagesOnly = await createWorld({ sandbox: { htmlOnly: true } })
  t.after(() => pagesOnly.close())
  const { origin, secret } = await openReceiver(t, pagesOnly, {
    enqueue: async (tx, items) => runner.context.queue.enqueueFetch(tx, items),
  })
  const postbackUrl = new Secret(`${origin}/hooks/${secret}`)
  const runner = await pagesOnly.openRunner({ settings: { postbackUrl } })
  await watch(pagesOnly, keywordsOf(3), { store: 'android_store', depth: 30 })
  await runCycle(runner.context, await startRunner(runner.context, []), JOBS, QUIET)
  await runner.stop()
  assert.deepEqual(await countStates(pagesOnly.db), { collected: 3 })
  const gaps = await pagesOnly.db.sql`select distinct gap from ranking`
  assert.deepEqual([...gaps], [{ gap: 'html_only' }])
  const [kept] = await pagesOnly.db.sql`select count(distinct target_id) as lists from page`
  assert.equal(kept?.lists, 3)
  assert.equal((await readOwnBooks(pagesOnly)).length, 3)
})
