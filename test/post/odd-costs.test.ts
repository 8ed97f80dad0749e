import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { reconcileUnknownPosts } from '../../src/post/reconcile.ts'
import { lasting } from '../support/lasting.ts'
import { buy, collect, tamper } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'
import { countStates, forgetAll, readMoney, watch } from './posting.ts'

const world = lasting(createWorld)
afterEach(() => forgetAll(world))

const options = () => ({ quietMs: 0, overdueAfterMs: world.settings.overdueAfterMs })

for (const cost of [-1, 1e300, 'much', null, 0, '0']) {
  test(`a cost of ${cost} leaves its own task unknown, and no other of its post`, async (t) => {
    const { client } = await tamper(t, world, (path, body) => {
      if (path.endsWith('/task_post')) body.tasks[1].cost = cost
    })
    await watch(world, ['yoga', 'chess', 'tea'])
    await buy(world, { client })
    assert.deepEqual(await countStates(world.db), { posted: 2, posting: 1 })
    assert.deepEqual(await readMoney(world.db), { charge: 2400, reserved: 1200 })
    const [post] = await world.db.sql`select state, problem from post`
    assert.deepEqual({ ...post }, { state: 'unknown', problem: 'The answer was incomplete.' })
    assert.equal((await reconcileUnknownPosts(world.db, world.client, options())).adopted, 1)
    assert.deepEqual(await countStates(world.db), { posted: 3 })
    assert.deepEqual(await readMoney(world.db), { charge: 3600 })
  })
}

test('where the list of tasks names no cost either, the estimate stands in', async (t) => {
  const { client } = await tamper(t, world, (path, body) => {
    if (path.endsWith('/task_post')) body.tasks[0].cost = -1
    if (path.endsWith('/id_list')) for (const row of body.tasks[0].result) row.cost = 1e300
  })
  await watch(world, ['yoga', 'chess'])
  await buy(world, { client })
  assert.equal((await reconcileUnknownPosts(world.db, client, options())).adopted, 1)
  assert.deepEqual(await readMoney(world.db), { charge: 2400 })
  assert.equal((await collect(world)).stored, 2)
})

test('a status code that no column holds says nothing of its task', async (t) => {
  const { client } = await tamper(t, world, (path, body) => {
    if (path.endsWith('/task_post')) body.tasks[0].status_code = 2 ** 40
  })
  await watch(world, ['yoga', 'chess'])
  await buy(world, { client })
  assert.deepEqual(await countStates(world.db), { posted: 1, posting: 1 })
})
