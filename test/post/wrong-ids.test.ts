/** Ids and costs that the answer to a POST names wrongly; ids under which another task is answered for. */
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { reconcileUnknownPosts } from '../../src/post/reconcile.ts'
import type { FaultSettingsInput } from '../../src/sandbox/faults.ts'
import { auditAll } from '../audit/auditing.ts'
import { putFaults } from '../support/faults.ts'
import { lasting } from '../support/lasting.ts'
import { endAttemptPauses, readSpendDifferences } from '../support/ledger.ts'
import { buy, clear, collect, collectPaused, tamper, watchKeywords } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'
import { countStates, readMoney, readOwnBooks } from './posting.ts'

const KEYWORDS = ['yoga', 'chess', 'running']
const PAID = { charge: 3600 }

const world = lasting(() => createWorld({ sandbox: { callsPerMinute: 100_000 } }))
afterEach(async () => {
  await setFaults({})
  await clear(world)
})

const setFaults = (faults: FaultSettingsInput) => putFaults(world.sandboxUrl, faults)

const reconcile = (client = world.client) =>
  reconcileUnknownPosts(world.db, client, { quietMs: 1_200_000, overdueAfterMs: 60_000 })

async function buyWith(faults: FaultSettingsInput, keywords = KEYWORDS): Promise<void> {
  await watchKeywords(world, keywords)
  await setFaults(faults)
  await buy(world)
  await setFaults({})
}

/** As if no ready list had named the tasks: each is asked for by its id. */
async function askById() {
  await world.db.sql`update task set problem = coalesce(problem, 'None.') where state = 'posted'`
  return collectPaused(world)
}

async function readPosts(): Promise<string[]> {
  const rows = await world.db.sql<{ state: string }[]>`select state from post`
  return rows.map(({ state }) => state)
}

/** How many tasks have the id that the service has beside their tag. */
async function countRight(): Promise<number> {
  const tagsById = new Map((await readOwnBooks(world)).map(({ id, tag }) => [id, tag]))
  const rows = await world.db.sql<{ taskId: string; serviceId: string }[]>`
    select id as "taskId", service_id as "serviceId" from task`
  return rows.filter(({ taskId, serviceId }) => tagsById.get(serviceId)?.startsWith(taskId)).length
}

async function assertPaidOnce(): Promise<void> {
  assert.equal(await countRight(), 3)
  assert.deepEqual(await readMoney(world.db), PAID)
  assert.deepEqual(await readSpendDifferences(world.db.sql), [])
  const charges = await world.db.sql`select from charge c join task k using (service_id, target_id)`
  assert.equal(charges.length, 3)
}

describe('ids that no task has', () => {
  test('are not paid twice when the ready list names the true ones, as the list proves', async () => {
    await buyWith({ wrongPostId: 1 })
    assert.equal((await collect(world)).stored, 0)
    assert.deepEqual(await readMoney(world.db), PAID)
    assert.deepEqual(await readPosts(), ['unknown'])
    assert.equal(await countRight(), 0)
    await reconcile()
    await assertPaidOnce()
    assert.deepEqual(await readPosts(), ['settled'])
    assert.equal((await collect(world)).stored, 3)
  })

  test('are doubted when the service knows them not: each task is asked for by its true one', async () => {
    await buyWith({ wrongPostId: 1 })
    assert.equal((await askById()).later, 3)
    assert.deepEqual(await readPosts(), ['unknown'])
    await reconcile()
    await assertPaidOnce()
    assert.equal((await askById()).stored, 3)
  })
})

describe('ids that tasks have exchanged', () => {
  test('are doubted by what the answers say of themselves, and each task gets its own', async () => {
    await buyWith({ turnedIds: 1 })
    assert.equal((await collect(world)).later, 3)
    assert.deepEqual(await readPosts(), ['unknown'])
    await reconcile()
    await assertPaidOnce()
    assert.equal((await askById()).stored, 3)
    assert.deepEqual(await countStates(world.db), { collected: 3 })
  })
})

test('ids that tasks have exchanged are corrected though one of them was posted again since', async (t) => {
  await buyWith({ turnedIds: 1 })
  const [first] = await world.db.sql<{ serviceId: string }[]>`
    select service_id as "serviceId" from task order by id limit 1`
  const { client } = await tamper(t, world, (path, body) => {
    if (!path.endsWith(first?.serviceId ?? '-')) return
    Object.assign(body.tasks[0], { status_code: 40101, status_message: 'Trouble.', data: null, result: null })
  })
  assert.equal((await collect(world, { client })).postedAgain, 1)
  await endAttemptPauses(world.db.sql)
  await buy(world)
  await reconcile()
  assert.equal(await countRight(), 3)
  assert.deepEqual(await readMoney(world.db), { charge: 4800 })
  assert.deepEqual(await readSpendDifferences(world.db.sql), [])
  assert.equal((await askById()).stored, 3)
})

test('an id is kept that the list has under its tag, however often it is given away', async () => {
  await buyWith({})
  await setFaults({ otherAnswer: 1 })
  assert.equal((await collect(world)).later, 3)
  await reconcile()
  await assertPaidOnce()
  assert.deepEqual(await readPosts(), ['settled'])
})

test("another task's failure ends nothing: nobody pays for another attempt", async () => {
  await buyWith({})
  await setFaults({ otherFailure: 1 })
  assert.equal((await collect(world)).later, 3)
  assert.deepEqual(await countStates(world.db), { posted: 3 })
  await setFaults({})
  assert.equal((await askById()).stored, 3)
  assert.deepEqual(await readMoney(world.db), PAID)
})

test('two ids of one answer for one task are charged once: the list says which is true', async (t) => {
  const { client } = await tamper(t, world, (path, body) => {
    if (!path.endsWith('/task_post')) return
    const others = body.tasks.map((task: { id: string }) => ({ ...task, id: task.id.replace(/^./, 'x') }))
    body.tasks = [...others, ...body.tasks]
  })
  await watchKeywords(world, KEYWORDS)
  await buy(world, { client })
  assert.deepEqual(await countStates(world.db), { posting: 3 })
  assert.equal((await reconcile()).adopted, 3)
  await assertPaidOnce()
})

for (const cost of [-1, 1e300, 'much', null, 0, '0']) {
  test(`a cost of ${cost} leaves its own task unknown, and no other of its post`, async (t) => {
    const { client } = await tamper(t, world, (path, body) => {
      if (path.endsWith('/task_post')) body.tasks[1].cost = cost
    })
    await watchKeywords(world, ['yoga', 'chess', 'tea'])
    await buy(world, { client })
    assert.deepEqual(await countStates(world.db), { posted: 2, posting: 1 })
    assert.deepEqual(await readMoney(world.db), { charge: 2400, reserved: 1200 })
    assert.deepEqual(await readPosts(), ['unknown'])
    assert.equal((await reconcile()).adopted, 1)
    assert.deepEqual(await countStates(world.db), { posted: 3 })
    assert.deepEqual(await readMoney(world.db), { charge: 3600 })
  })
}

test('where the list of tasks names no cost either, the estimate stands in', async (t) => {
  const { client } = await tamper(t, world, (path, body) => {
    if (path.endsWith('/task_post')) body.tasks[0].cost = -1
    if (path.endsWith('/id_list')) for (const row of body.tasks[0].result) row.cost = 1e300
  })
  await watchKeywords(world, ['yoga', 'chess'])
  await buy(world, { client })
  assert.equal((await reconcile(client)).adopted, 1)
  assert.deepEqual(await readMoney(world.db), { charge: 2400 })
  assert.equal((await collect(world)).stored, 2)
})

test('a status code that no column holds says nothing of its task', async (t) => {
  const { client } = await tamper(t, world, (path, body) => {
    if (path.endsWith('/task_post')) body.tasks[0].status_code = 2 ** 40
  })
  await watchKeywords(world, ['yoga', 'chess'])
  await buy(world, { client })
  assert.deepEqual(await countStates(world.db), { posted: 1, posting: 1 })
})

// Last: what the tests before have left at the service holds all further posts.
test('the audit corrects both, and books nothing twice', async () => {
  await buyWith({ wrongPostId: 1, turnedIds: 1 }, ['yoga'])
  await buyWith({ turnedIds: 1 }, ['chess', 'running'])
  const { recorded, missing, adjusted } = await auditAll(world)
  assert.deepEqual({ recorded, missing, adjusted }, { recorded: 0, missing: 0, adjusted: 0 })
  await assertPaidOnce()
})
