/**
 * No two transitions deadlock: each waits for its task with the least id before it holds any other task or a
 * post. Here another transaction holds that task, and takes meanwhile what a deadlock would keep from it.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, test } from 'node:test'
import type { Transaction } from '../../src/db/database.ts'
import { closeEndedSlots } from '../../src/history/close-slots.ts'
import { adoptTasks } from '../../src/ledger/adopt.ts'
import { withLedgerLock } from '../../src/ledger/lock.ts'
import { packTasks } from '../../src/ledger/plan-tasks.ts'
import { giveUpUnknownPosts, releasePost } from '../../src/ledger/release.ts'
import { giveUpResults } from '../../src/ledger/task-failures.ts'
import { claimPost } from '../../src/post/claim.ts'
import { reconcileUnknownPosts } from '../../src/post/reconcile.ts'
import { settlePost } from '../../src/post/settle.ts'
import { countWaiting, depsOf, forgetAll, planPost } from '../post/posting.ts'
import { lasting } from '../support/lasting.ts'
import { readSpendDifferences } from '../support/ledger.ts'
import { createWorld, until } from '../support/world.ts'

const world = lasting(createWorld)
afterEach(async () => {
  const differences = await readSpendDifferences(world.db.sql)
  await forgetAll(world)
  assert.deepEqual(differences, [])
})

/**
 * Runs the transition while another transaction holds its first task; that one then gets all its other rows
 * at once.
 */
async function assertWaitsWithNothing(postId: string, transition: () => Promise<unknown>): Promise<void> {
  const { sql, begin } = world.db
  const [first, ...others] = (await sql`select id from task order by id`).map((row) => row.id as string)
  assert.ok(first !== undefined && others.length > 0)
  const running = await begin(async (tx: Transaction) => {
    await tx`select from task where id = ${first} for update`
    const started = transition()
    started.catch(() => 'it is awaited below')
    await until('the transition waits', async () => (await countWaiting(world)) > 0)
    const tasks = await tx`select from task where id = any(${others}::uuid[]) for update skip locked`
    const posts = await tx`select from post where id = ${postId} for update skip locked`
    assert.deepEqual([tasks.length, posts.length], [others.length, 1])
    return [started]
  })
  await running[0]
}

/**
 * A planned post whose tasks lie on the disk in the order against that of their ids, which a statement
 * without an order follows.
 */
async function planBackwards(): Promise<string> {
  const postId = await planPost(world, ['yoga', 'pilates', 'running'])
  const tasks = await world.db.sql`select id from task order by id desc`
  for (const { id } of tasks) await world.db.sql`update task set payers = payers where id = ${id}`
  return postId
}

/** The same, claimed. */
async function claimBackwards(): Promise<{ postId: string; token: string }> {
  const postId = await planBackwards()
  const token = randomUUID()
  const claim = await claimPost(world.db, postId, token, depsOf(world))
  assert.equal(claim.kind, 'claimed')
  const tasks = await world.db.sql`select id from task order by id desc`
  for (const { id } of tasks) await world.db.sql`update task set payers = payers where id = ${id}`
  return { postId, token }
}

describe('a transition that waits for its first task holds no other task and no post', () => {
  test('claiming', async () => {
    const postId = await planBackwards()
    await assertWaitsWithNothing(postId, () => claimPost(world.db, postId, randomUUID(), depsOf(world)))
  })

  test('settling', async () => {
    const claim = await claimBackwards()
    await assertWaitsWithNothing(claim.postId, () => settlePost(world.db, claim, [], 60_000, null))
  })

  test('adopting', async () => {
    const { postId } = await claimBackwards()
    const tasks = await world.db.sql<{ id: string }[]>`select id from task order by id desc`
    const created = tasks.map(({ id }) => ({ taskId: id, attempt: 1, serviceId: id, costMicros: 1200 }))
    await assertWaitsWithNothing(postId, () => world.db.begin((tx) => adoptTasks(tx, created, 60_000)))
  })

  test('releasing a post', async () => {
    const { postId, token } = await claimBackwards()
    await assertWaitsWithNothing(postId, () => releasePost(world.db.sql, postId, token, 'Not sent.'))
    const [post] = await world.db.sql`select state from post`
    assert.equal(post?.state, 'ready')
  })

  test('giving up unknown posts', async () => {
    const { postId } = await claimBackwards()
    await world.db.sql`update post set state = 'unknown', send_before = now() - interval '28 days'`
    await assertWaitsWithNothing(postId, () => world.db.begin((tx) => giveUpUnknownPosts(tx, 27)))
    const [task] = await world.db.sql`select distinct state from task`
    assert.equal(task?.state, 'failed')
  })

  test('reconciling', async () => {
    const { postId } = await claimBackwards()
    await world.db.sql`update post set state = 'unknown', send_before = now() - interval '1 hour',
        scanned_at = now() - interval '1 minute'`
    const options = { quietMs: 60_000, overdueAfterMs: 60_000 }
    await assertWaitsWithNothing(postId, () => reconcileUnknownPosts(world.db, world.client, options))
    const [post] = await world.db.sql`select state from post`
    assert.equal(post?.state, 'ready')
  })

  test('packing', async () => {
    const postId = await planBackwards()
    await world.db.sql`update task set post_id = null`
    await assertWaitsWithNothing(postId, () => withLedgerLock(world.db, 'Packing', packTasks))
  })

  test('closing slots', async () => {
    const postId = await planBackwards()
    await world.db.sql`update task set slot_ends_at = storerank_now()`
    await assertWaitsWithNothing(postId, () => closeEndedSlots(world.db))
  })

  test('giving up results', async () => {
    const { postId } = await claimBackwards()
    await world.db.sql`
      update task set state = 'posted', posted_at = now() - interval '40 days', service_id = id::text,
        estimate_micros = 0`
    await world.db.sql`select recount_spend()`
    await assertWaitsWithNothing(postId, () => giveUpResults(world.db.sql))
  })
})
