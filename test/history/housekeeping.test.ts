import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pruneWork } from '../../src/history/housekeeping.ts'
import { createWorld, type World } from '../support/world.ts'

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

test('of old looks at the account the latest stays, because budgets go by it', async () => {
  const { sql } = world.db
  const look = (daysAgo: number) =>
    sql`insert into account_usage (fetched_at, login, prices) values (now() - make_interval(days => ${daysAgo}), 'me', '[]')`
  await look(200)
  await look(100)
  assert.equal((await pruneWork(world.db)).looks, 1)
  await look(10)
  assert.equal((await pruneWork(world.db)).looks, 1)
  assert.equal((await sql`select from account_usage`).count, 1)
})
