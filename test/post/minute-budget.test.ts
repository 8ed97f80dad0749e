import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { packTasks } from '../../src/ledger/plan-tasks.ts'
import { releasePost } from '../../src/ledger/release.ts'
import { lasting } from '../support/lasting.ts'
import { createWorld } from '../support/world.ts'
import {
  claim,
  claimed,
  countStates,
  forgetAll,
  planPost,
  planPosts,
  readCuts,
  readMoney,
  subjectsClaimed,
  watch,
  work,
} from './posting.ts'

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
    assert.equal((await claim(world, rest)).kind, 'wait')
    assert.deepEqual(await countStates(world.db), { planned: 2, posted: 3 })
  })

  for (const state of ['sending', 'unknown']) {
    test(`leaves room for a post that is ${state}, whose charge is not known yet`, async () => {
      await limitMinuteTo(3_600)
      await claimed(world, await planPost(world, ['a', 'b']))
      await world.db.sql`update post set state = ${state}`
      assert.equal((await claimed(world, await planPost(world, ['c', 'd']))).tasks.length, 1)
      assert.deepEqual(await countStates(world.db), { planned: 1, posting: 3 })
    })
  }

  test('does not count a post that was given back, and whose tasks were dropped since', async () => {
    await limitMinuteTo(2_400)
    const { postId, token } = await claimed(world, await planPost(world, ['a', 'b']))
    assert.equal(await releasePost(world.db.sql, postId, token, 'It was not sent.'), true)
    await world.db.sql`delete from keyword_watch`
    assert.equal((await claim(world, postId)).kind, 'empty')
    assert.equal((await claimed(world, await planPost(world, ['c', 'd']))).tasks.length, 2)
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
    assert.equal((await claim(world, rest)).kind, 'wait')
    await settledAgo(61)
    await work(world, rest)
    assert.deepEqual(await countStates(world.db), { posted: 2 })
  })

  test('sets aside what costs more than a whole minute allows, and sends the rest', async () => {
    await watch(world, ['huge'], { depth: 400 })
    const postId = await planPost(world, ['a', 'b'])
    await limitMinuteTo(3_600)
    assert.deepEqual((await subjectsClaimed(world, postId)).toSorted(), ['a', 'b'])
    assert.deepEqual(await readMoney(world.db), { reserved: 2_400 })
    const cut = { reason: 'dearer_than_overall_budget', price_micros: 4_800 }
    assert.deepEqual(await readCuts(world), [cut])
  })

  test('lets through what is of high priority first', async () => {
    await limitMinuteTo(2_400)
    await watch(world, ['a', 'b'])
    await watch(world, ['c'], { priority: 2 })
    const [postId] = await planPosts(world)
    assert.deepEqual(await subjectsClaimed(world, postId), ['c'])
  })
})
