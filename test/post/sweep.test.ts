import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { lockLedger } from '../../src/ledger/lock.ts'
import { packTasks } from '../../src/ledger/plan-tasks.ts'
import { readFigures } from '../../src/monitor/figures.ts'
import { claimPost } from '../../src/post/claim.ts'
import { type Swept, sweepPosts } from '../../src/post/reconcile.ts'
import { settlePost } from '../../src/post/settle.ts'
import { lasting } from '../support/lasting.ts'
import { createWorld, until } from '../support/world.ts'
import { answerOf, countStates, countWaiting, depsOf, forgetAll, planPost, readMoney } from './posting.ts'

const world = lasting(createWorld)
afterEach(() => forgetAll(world))

const NO_BUDGET = { maxDayMicros: 1_000_000_000, maxMonthMicros: null, maxRunMicros: null }

async function sweep(): Promise<Swept & { enqueued: string[] }> {
  const enqueued: string[] = []
  const swept = await sweepPosts(world.db, async (_, postIds) => {
    enqueued.push(...postIds)
  })
  return { ...swept, enqueued }
}

async function claim(postId: string) {
  const claimed = await claimPost(world.db, postId, randomUUID(), depsOf(world))
  assert.ok(claimed.kind === 'claimed')
  return claimed.post
}

test('a ready post that lost its job is enqueued again, and a settled one is not', async () => {
  const postId = await planPost(world, ['yoga'])
  assert.deepEqual((await sweep()).enqueued, [postId])
  const post = await claim(postId)
  await settlePost(world.db, post, [answerOf(post.tasks[0]?.tag ?? '', 20100)], 60_000, null)
  assert.deepEqual(await sweep(), { overdue: 0, packed: 0, ready: 0, enqueued: [] })
})

test('tasks that were given back one by one are packed into a new post', async () => {
  const post = await claim(await planPost(world, ['yoga', 'pilates']))
  await settlePost(
    world.db,
    post,
    post.tasks.map((task) => answerOf(task.tag, 40210)),
    60_000,
    null,
  )
  const { packed, enqueued } = await sweep()
  assert.equal(packed, 1)
  assert.equal(enqueued.length, 1)
  assert.notEqual(enqueued[0], post.postId)
  assert.deepEqual(await readMoney(world.db), { reserved: 2400 })
  assert.equal((await claim(enqueued[0] ?? '')).tasks.length, 2)
})

test('of more posts than a sweep looks at, the oldest are enqueued, and those it packed', async () => {
  const old = await world.db.sql<{ id: string }[]>`
    insert into post (store, function) select 'ios_store', 'app_searches' from generate_series(1, 1000)
      returning id`
  const given = await planPost(world, ['yoga'])
  const younger = await planPost(world, ['pilates'])
  const post = await claim(given)
  await settlePost(world.db, post, [answerOf(post.tasks[0]?.tag ?? '', 40210)], 60_000, null)
  const { enqueued, packed } = await sweep()
  assert.equal(packed, 1)
  assert.equal(enqueued.length, 1_001)
  const isEnqueued = new Set(enqueued)
  assert.ok(old.every(({ id }) => isEnqueued.has(id)))
  assert.ok(!isEnqueued.has(younger))
})

test('what the service refuses for money is told until it is taken, and with the remedy', async () => {
  const look = async () => {
    const { work } = await readFigures(world.db, { budget: NO_BUDGET, callsPerMinute: 2000, jobs: [] })
    const [row] = await world.db.sql<{ count: number; message: string | null }[]>`
      select count, message from open_work where kind = 'refused_task'`
    assert.equal(row?.count, work.refused_task.count)
    return row?.message
  }
  // Without an id and without a cost: else they would prove nothing.
  const refusal = [answerOf('', 40210), answerOf('', 40202)].map(({ tag: _, ...refused }) => refused)
  const post = await claim(await planPost(world, ['yoga', 'pilates', 'tai chi']))
  const answers = post.tasks.map((task, n) => ({ ...answerOf(task.tag, 20100), ...refusal[n] }))
  await settlePost(world.db, post, answers, 60_000, null)
  // One was created, and one was refused for pace, which passes by itself.
  assert.match((await look()) ?? '', /^1 tasks are not taken\. .*40210.*Check the balance/)
  const { enqueued } = await sweep()
  const again = await claim(enqueued[0] ?? '')
  assert.match((await look()) ?? '', /40210/)
  await settlePost(
    world.db,
    again,
    again.tasks.map((task) => answerOf(task.tag, 20100)),
    60_000,
    null,
  )
  assert.equal(await look(), null)
  assert.equal((await world.db.sql`select from task_problem`).count, 0)
})

test('a sweep waits for whoever plans, claims or sweeps, so that no task is packed twice', async () => {
  const post = await claim(await planPost(world, ['yoga']))
  await settlePost(world.db, post, [answerOf(post.tasks[0]?.tag ?? '', 40210)], 60_000, null)
  let sweptEarly = false
  const [sweeping] = await world.db.begin(async (tx) => {
    await lockLedger(tx)
    const waiting = sweep().finally(() => {
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
  await claim(await planPost(world, ['yoga']))
  assert.equal((await sweep()).overdue, 0)
  const [{ patience } = { patience: 0 }] = await world.db.sql<{ patience: number }[]>`
    select extract(epoch from answer_before - send_before)::float as patience from post`
  assert.ok(patience >= 25)
  await world.db.sql`update post set answer_before = clock_timestamp() - interval '1 second'`
  const { overdue, enqueued } = await sweep()
  assert.deepEqual({ overdue, enqueued }, { overdue: 1, enqueued: [] })
  assert.deepEqual(await countStates(world.db), { posting: 1 })
  assert.deepEqual(await readMoney(world.db), { reserved: 1200 })
})
