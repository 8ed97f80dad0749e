import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { lockLedger } from '../../src/ledger/lock.ts'
import { packTasks } from '../../src/ledger/plan-tasks.ts'
import { readFigures } from '../../src/monitor/figures.ts'
import { lasting } from '../support/lasting.ts'
import { createWorld, until } from '../support/world.ts'
import {
  answerAll,
  answerOf,
  claimed,
  countStates,
  countWaiting,
  forgetAll,
  planPost,
  readMoney,
  settle,
  sweep,
} from './posting.ts'

const world = lasting(createWorld)
afterEach(() => forgetAll(world))

const NO_BUDGET = { maxDayMicros: 1_000_000_000, maxMonthMicros: null, maxRunMicros: null }

const claimNew = async (keywords: readonly string[]) => claimed(world, await planPost(world, keywords))

test('a ready post that lost its job is enqueued again, and a settled one is not', async () => {
  const postId = await planPost(world, ['yoga'])
  assert.deepEqual((await sweep(world)).enqueued, [postId])
  const post = await claimed(world, postId)
  await answerAll(world, post, 20100)
  assert.deepEqual(await sweep(world), { overdue: 0, packed: 0, ready: 0, enqueued: [] })
})

test('tasks that were given back one by one are packed into a new post', async () => {
  const post = await claimNew(['yoga', 'pilates'])
  await answerAll(world, post, 40210)
  const { packed, enqueued } = await sweep(world)
  assert.equal(packed, 1)
  assert.equal(enqueued.length, 1)
  assert.notEqual(enqueued[0], post.postId)
  assert.deepEqual(await readMoney(world.db), { reserved: 2400 })
  assert.equal((await claimed(world, enqueued[0])).tasks.length, 2)
})

test('of more posts than a sweep looks at, the oldest are enqueued, and those it packed', async () => {
  const old = await world.db.sql<{ id: string }[]>`
    insert into post (store, function) select 'ios_store', 'app_searches' from generate_series(1, 1000)
      returning id`
  const given = await planPost(world, ['yoga'])
  const younger = await planPost(world, ['pilates'])
  const post = await claimed(world, given)
  await answerAll(world, post, 40210)
  const { enqueued, packed } = await sweep(world)
  assert.equal(packed, 1)
  assert.equal(enqueued.length, 1_001)
  const isEnqueued = new Set(enqueued)
  assert.ok(old.every(({ id }) => isEnqueued.has(id)))
  assert.ok(!isEnqueued.has(younger))
})

test('what the service refuses for money is told until it is taken, and with the remedy', async () => {
  const look = async () => {
    const { work } = await readFigures(world.db, { budget: NO_BUDGET, callsPerMinute: 2000 })
    const [row] = await world.db.sql<{ count: number; message: string | null }[]>`
      select count, message from open_work where kind = 'refused_task'`
    assert.equal(row?.count, work.refused_task.count)
    return row?.message
  }
  // Without an id and without a cost: else they would prove nothing.
  const refusal = [answerOf('', 40210), answerOf('', 40202)].map(({ tag: _, ...refused }) => refused)
  const post = await claimNew(['yoga', 'pilates', 'tai chi'])
  const answers = post.tasks.map((task, n) => ({ ...answerOf(task.tag, 20100), ...refusal[n] }))
  await settle(world, post, answers)
  // One was created, and one was refused for pace, which passes by itself.
  assert.match((await look()) ?? '', /^1 tasks are not taken\. .*40210.*Check the balance/)
  const { enqueued } = await sweep(world)
  const again = await claimed(world, enqueued[0])
  assert.match((await look()) ?? '', /40210/)
  await answerAll(world, again, 20100)
  assert.equal(await look(), null)
  assert.equal((await world.db.sql`select from task_problem`).count, 0)
})

test('a sweep waits for whoever plans, claims or sweeps, so that no task is packed twice', async () => {
  const post = await claimNew(['yoga'])
  await answerAll(world, post, 40210)
  let sweptEarly = false
  const [sweeping] = await world.db.begin(async (tx) => {
    await lockLedger(tx)
    const waiting = sweep(world).finally(() => {
      sweptEarly = true
    })
    await until('the sweep waits or is done', async () => sweptEarly || (await countWaiting(world)) > 0)
    assert.equal(sweptEarly, false)
    await packTasks(tx)
    return [waiting]
  })
  assert.equal((await sweeping).packed, 0)
})

test('a post whose answer is overdue becomes unknown, and not a moment before', async () => {
  await claimNew(['yoga'])
  assert.equal((await sweep(world)).overdue, 0)
  const [{ patience } = { patience: 0 }] = await world.db.sql<{ patience: number }[]>`
    select extract(epoch from answer_before - send_before)::float as patience from post`
  assert.ok(patience >= 25)
  await world.db.sql`update post set answer_before = clock_timestamp() - interval '1 second'`
  const { overdue, enqueued } = await sweep(world)
  assert.deepEqual({ overdue, enqueued }, { overdue: 1, enqueued: [] })
  assert.deepEqual(await countStates(world.db), { posting: 1 })
  assert.deepEqual(await readMoney(world.db), { reserved: 1200 })
})
