/** What a claim may spend: by the day on which it sends. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, describe, test } from 'node:test'
import { lockBudget } from '../../src/plan/budget.ts'
import { claimPost } from '../../src/post/claim.ts'
import { createWorld, until, type World } from '../support/world.ts'
import { countWaiting, depsOf, forgetAll, planPost, planPosts, readMoney, watch } from './posting.ts'

let world: World
before(async () => {
  world = await createWorld()
})
afterEach(() => forgetAll(world))
after(() => world.close())

describe('a claim', () => {
  test('that waits over midnight spends the money of the new day, so that no plan gives it away again', async () => {
    const { sql } = world.db
    const postId = await planPost(world, ['yoga'], { every: '31 days' })
    // A zone whose day ends in two seconds: in POSIX, what is to be added to its time to come to UTC.
    const [day] = await sql<{ zone: string; endsAt: Date }[]>`
      select '<X>+' || ends_at::time as zone, ends_at as "endsAt"
      from (select date_trunc('seconds', clock_timestamp()) + interval '2 seconds' as ends_at) as midnight`
    assert.ok(day !== undefined)
    await sql`update project set timezone = ${day.zone}, daily_usd = 0.0012`
    const { claiming } = await sql.begin(async (tx) => {
      await lockBudget(tx)
      const claiming = claimPost(world.db, postId, randomUUID(), depsOf(world))
      await until('the claim waits', async () => (await countWaiting(world)) === 1)
      await until('the day is over', async () => {
        const [clock] = await sql<{ isOver: boolean }[]>`select clock_timestamp() > ${day.endsAt} as "isOver"`
        return clock?.isOver === true
      })
      return { claiming }
    })
    assert.equal((await claiming).kind, 'claimed')
    await watch(world, ['pilates'])
    assert.deepEqual(await planPosts(world), [])
    assert.deepEqual(await readMoney(world.db), { reserved: 1200 })
  })
})
