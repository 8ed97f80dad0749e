import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, test } from 'node:test'
import { JOBS } from '../../jobs/index.ts'
import { claimPost } from '../../src/post/claim.ts'
import { reconcileUnknownPosts, sweepPosts } from '../../src/post/reconcile.ts'
import { runCycle } from '../../src/queue/cycle.ts'
import { startRunner } from '../../src/queue/runner.ts'
import {
  countStates,
  depsOf,
  forgetAll,
  openOther,
  planPost,
  planPosts,
  readMoney,
  readOwnBooks,
  watch,
} from '../post/posting.ts'
import { lasting } from '../support/lasting.ts'
import { readSpendDifferences } from '../support/ledger.ts'
import { createWorld, endRetryPauses, until, type WorldRunner } from '../support/world.ts'

const world = lasting(() =>
  createWorld({ sandbox: { callsPerMinute: 100_000 }, settings: { callsPerMinute: 100_000 } }),
)
afterEach(() => forgetAll(world))

const QUIET = { waitMs: 60_000, onPhase: () => {}, onProgress: () => {} }

const keywordsOf = (count: number) => Array.from({ length: count }, (_, n) => `keyword ${n}`)

async function cycle({ context }: WorldRunner) {
  return runCycle(context, await startRunner(context, []), JOBS, QUIET)
}

/** Starts a runner of posts and results, and waits until no task is planned or on the way. */
async function postEverything(runner: WorldRunner) {
  await startRunner(runner.context, [])
  await sweepPosts(runner.context.db, runner.context.queue.enqueuePosts)
  await until('everything is posted', async () => {
    const { planned = 0, posting = 0 } = await countStates(world.db)
    return planned + posting === 0
  })
}

/** What the service wrote down is what we did: every task once, and its money to the micro-dollar. */
async function assertPaidOnce(tasks: number): Promise<void> {
  const books = await readOwnBooks(world)
  assert.equal(books.length, tasks)
  assert.equal(new Set(books.map((entry) => entry.tag.split('.')[0])).size, tasks)
  const { charge = 0, refund = 0, ...rest } = await readMoney(world.db)
  assert.equal(
    charge + refund,
    books.reduce((sum, entry) => sum + entry.costMicros, 0),
  )
  assert.deepEqual(rest, {})
  assert.deepEqual(await readSpendDifferences(world.db.sql), [])
}

describe('several runners on one database', () => {
  test('that run the whole cycle at once post each target once, and pay what was charged', async () => {
    await watch(world, keywordsOf(120))
    await watch(world, keywordsOf(120), { project: 'health' })
    await watch(world, keywordsOf(40), { store: 'android_store' })
    const runners = await Promise.all([world.openRunner(), world.openRunner()])
    const results = await Promise.all(runners.map(cycle))
    assert.deepEqual(
      results.map((result) => Number(result.plan.planned)).sort((a, b) => a - b),
      [0, 160],
    )
    for (const runner of runners) await runner.stop()
    await assertPaidOnce(160)
    assert.deepEqual(await countStates(world.db), { collected: 160 })
  })

  test('enqueue a post again and again, and work it once', async () => {
    const postId = await planPost(world, ['yoga'])
    const runners = await Promise.all([world.openRunner(), world.openRunner()])
    for (const { context } of runners) {
      for (let n = 0; n < 3; n += 1) await sweepPosts(context.db, context.queue.enqueuePosts)
    }
    const jobs = await world.db
      .sql`select id from pgboss.job where name = 'post' and data->>'postId' = ${postId}`
    assert.equal(jobs.length, 1)
    await Promise.all(runners.map(postEverything))
    for (const runner of runners) await runner.stop()
    assert.equal((await readOwnBooks(world)).length, 1)
  })
})

test('a runner killed after its claim is taken over by another, which posts it once', async () => {
  const postId = await planPost(world, ['yoga', 'pilates'])
  const killed = openOther(world)
  await claimPost(killed, postId, randomUUID(), depsOf(world))
  await killed.close()
  await world.db.sql`
    update post set send_before = send_before - interval '1 hour',
      answer_before = answer_before - interval '1 hour'`

  const runner = await world.openRunner()
  const { db, client, queue } = runner.context
  const quiet = { quietMs: 20 * 60_000, overdueAfterMs: 60_000 }
  assert.equal((await sweepPosts(db, queue.enqueuePosts)).overdue, 1)
  assert.equal((await reconcileUnknownPosts(db, client, quiet)).released, 0)
  assert.equal((await reconcileUnknownPosts(db, client, quiet)).released, 2)
  await postEverything(runner)
  await runner.stop()
  assert.equal((await readOwnBooks(world)).length, 2)
  assert.deepEqual(await readMoney(world.db), { charge: 2400 })
  assert.deepEqual(await readSpendDifferences(world.db.sql), [])
})

test('a runner without a network leaves everything planned, and a later one posts it once', async () => {
  const postId = await planPost(world, ['yoga'])
  const cutOff = await world.openRunner({ url: 'http://127.0.0.1:9' })
  await startRunner(cutOff.context, [])
  await sweepPosts(cutOff.context.db, cutOff.context.queue.enqueuePosts)
  await until('it has tried', async () => {
    const [post] = await world.db.sql`select problem from post where id = ${postId}`
    return post?.problem?.startsWith('Not sent') ?? false
  })
  await cutOff.stop()
  assert.deepEqual(await countStates(world.db), { planned: 1 })
  assert.deepEqual(await readMoney(world.db), { reserved: 1200 })

  const runner = await world.openRunner()
  await endRetryPauses(world)
  await postEverything(runner)
  await runner.stop()
  assert.equal((await readOwnBooks(world)).length, 1)
  assert.deepEqual(await readMoney(world.db), { charge: 1200 })
})

test('a runner that the service refuses stops posting and says why, and nothing is lost', async () => {
  const stranger = await createWorld({ sandbox: { password: 'changed' } })
  try {
    await planPost(stranger, ['yoga'])
    await watch(stranger, ['yoga'], { store: 'android_store' })
    await planPosts(stranger)
    const { context } = await stranger.openRunner()
    const runner = await startRunner(context, [])
    await sweepPosts(context.db, context.queue.enqueuePosts)
    await until('it is refused', async () => runner.refusal !== null)
    await until('the queue is empty', async () => (await context.queue.countOpen()) === 0)
    assert.equal(runner.refusal?.code, 'account')
    assert.deepEqual(await countStates(stranger.db), { planned: 2 })
    assert.deepEqual(await readMoney(stranger.db), { reserved: 2400 })
    await sweepPosts(context.db, context.queue.enqueuePosts)
    await until('the queue is empty', async () => (await context.queue.countOpen()) === 0)
    const [calls] = await stranger.db.sql<{ posts: number }[]>`
      select count(*) as posts from api_call where kind = 'task_post'`
    assert.ok((calls?.posts ?? 0) <= 2)
  } finally {
    await stranger.close()
  }
})
