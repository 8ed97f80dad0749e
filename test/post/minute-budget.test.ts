import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, test } from 'node:test'
import { packTasks } from '../../src/ledger/plan-tasks.ts'
import { releasePost } from '../../src/ledger/release.ts'
import { claimPost } from '../../src/post/claim.ts'
import { lasting } from '../support/lasting.ts'
import { createWorld } from '../support/world.ts'
import { countStates, depsOf, forgetAll, planPost, planPosts, readMoney, watch, work } from './posting.ts'

const world = lasting(() => createWorld({ sandbox: { readyMs: 3_600_000 } }))
afterEach(() => forgetAll(world))

const KEYWORDS = ['a', 'b', 'c', 'd', 'e']

/** Each of the keywords costs 1,200 micro-dollars. */
async function limitMinuteTo(micros: number): Promise<void> {
  await world.db.sql`delete from account_usage`
  await world.db
    .sql`insert into account_usage (login, prices, minute_limit_micros) values ('me', '[]', ${micros})`
}

describe("the account's spending limit per minute", () => {
  test('parts a post: what fits is sent, the rest is packed again', async () => {
    await limitMinuteTo(3_600)
    const postId = await planPost(world, KEYWORDS)
    await work(world, postId)
    assert.deepEqual(await countStates(world.db), { planned: 2, posted: 3 })
    const [rest] = await world.db.begin((tx) => packTasks(tx))
    assert.ok(rest !== undefined)
    const claim = await claimPost(world.db, rest, randomUUID(), depsOf(world))
    assert.equal(claim.kind, 'wait')
    assert.deepEqual(await countStates(world.db), { planned: 2, posted: 3 })
  })

  for (const state of ['sending', 'unknown']) {
    test(`leaves room for a post that is ${state}, whose charge is not known yet`, async () => {
      await limitMinuteTo(3_600)
      const first = await claimPost(world.db, await planPost(world, ['a', 'b']), randomUUID(), depsOf(world))
      assert.equal(first.kind, 'claimed')
      await world.db.sql`update post set state = ${state}`
      const second = await claimPost(world.db, await planPost(world, ['c', 'd']), randomUUID(), depsOf(world))
      assert.equal(second.kind === 'claimed' && second.post.tasks.length, 1)
      assert.deepEqual(await countStates(world.db), { planned: 1, posting: 3 })
    })
  }

  test('does not count a post that was given back, and whose tasks were dropped since', async () => {
    await limitMinuteTo(2_400)
    const token = randomUUID()
    const postId = await planPost(world, ['a', 'b'])
    await claimPost(world.db, postId, token, depsOf(world))
    assert.equal(await releasePost(world.db.sql, postId, token, 'It was not sent.'), true)
    await world.db.sql`delete from keyword_watch`
    assert.equal((await claimPost(world.db, postId, randomUUID(), depsOf(world))).kind, 'empty')
    const next = await claimPost(world.db, await planPost(world, ['c', 'd']), randomUUID(), depsOf(world))
    assert.equal(next.kind === 'claimed' && next.post.tasks.length, 2)
  })

  test('opens again when the minute has passed', async () => {
    await limitMinuteTo(1_200)
    const postId = await planPost(world, ['a', 'b'])
    await work(world, postId)
    const [rest = ''] = await world.db.begin((tx) => packTasks(tx))
    const settledAgo = (seconds: number) =>
      world.db.sql`update post set settled_at = clock_timestamp() - make_interval(secs => ${seconds})
          where state = 'settled'`
    await settledAgo(30)
    assert.equal((await claimPost(world.db, rest, randomUUID(), depsOf(world))).kind, 'wait')
    await settledAgo(61)
    await work(world, rest)
    assert.deepEqual(await countStates(world.db), { posted: 2 })
  })

  test('sets aside what costs more than a whole minute allows, and sends the rest', async () => {
    await watch(world, ['huge'], { depth: 400 })
    const postId = await planPost(world, ['a', 'b'])
    await limitMinuteTo(3_600)
    const claim = await claimPost(world.db, postId, randomUUID(), depsOf(world))
    assert.ok(claim.kind === 'claimed')
    assert.deepEqual(claim.post.tasks.map((task) => task.subject).toSorted(), ['a', 'b'])
    assert.deepEqual(await readMoney(world.db), { reserved: 2_400 })
    const cuts = await world.db.sql`select cut as reason, price_micros from due_slot where slot <= now()`
    assert.deepEqual([...cuts], [{ reason: 'dearer_than_overall_budget', price_micros: 4_800 }])
  })

  test('lets through what is of high priority first', async () => {
    await limitMinuteTo(2_400)
    await watch(world, ['a', 'b'])
    await watch(world, ['c'], { priority: 2 })
    const [postId] = await planPosts(world)
    const claim = await claimPost(world.db, postId ?? '', randomUUID(), depsOf(world))
    assert.deepEqual(claim.kind === 'claimed' && claim.post.tasks.map((task) => task.subject), ['c'])
  })
})
