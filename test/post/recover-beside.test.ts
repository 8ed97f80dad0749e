/**
 * `storerank recover` on a database on which runners are at work: they wait, and what they were posting is
 * paid for once. And what it tells.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../src/db/database.ts'
import { RateLimitedError } from '../../src/errors.ts'
import { recoverTasks } from '../../src/ledger/recover.ts'
import { readRestoreHold, readRestoreState } from '../../src/ledger/restored.ts'
import { formatTag } from '../../src/ledger/tag.ts'
import { recoverForgottenTasks } from '../../src/post/recover.ts'
import { settlePost } from '../../src/post/settle.ts'
import { lasting } from '../support/lasting.ts'
import { clear } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'
import { claimed, countStates, planPosts, readMoney, replaceCalls, watch, work } from './posting.ts'

const world = lasting(createWorld)

test('nothing is posted until the recovery has ended; what was on its way is paid once', async (t) => {
  await watch(world, ['yoga', 'pilates'])
  await watch(world, ['tai chi'], { store: 'android_store', depth: 30 })
  const [first = '', second = ''] = await planPosts(world)
  const post = await claimed(world, first)
  const { store, function: fn, tasks, send } = post
  const outcome = await world.client.postTasks(store, fn, tasks, send)
  assert.ok(outcome.kind === 'answered')

  const beside = openDatabase(world.db.url)
  t.after(() => beside.close())
  const lock = beside.openSession(60_000)
  await lock`select hold_lock('job recover')`
  const stopping = new AbortController()
  const found = Promise.withResolvers<void>()
  const look = async () => {
    assert.deepEqual(await work(world, second), { kind: 'nothing' })
    assert.match((await readRestoreHold(world.db.sql)) ?? '', /recover` is at work.*go on by themselves/)
    assert.match(await readMessage(), /recover` is at work.*go on by themselves/)
  }
  const readMessage = () =>
    world.db.begin(async (tx) => {
      await tx`set local role storerank_reader`
      const [row] = await tx<{ message: string }[]>`select message from open_work where kind = 'restored'`
      return row?.message ?? ''
    })
  const { reconcileQuietMs: quietMs } = world.settings
  const options = { quietMs, overdueAfterMs: 60_000, signal: stopping.signal }
  // What it finds is younger than the quiet time, so that it waits.
  const waiting = recoverForgottenTasks(beside, world.client, {
    ...options,
    onProgress: (_, recovered) => {
      if (recovered > 0) found.resolve()
    },
  })
  await found.promise.then(look).finally(() => stopping.abort())
  await assert.rejects(waiting, { name: 'AbortError' })
  await lock.end()
  assert.match((await readRestoreHold(world.db.sql)) ?? '', /then run `storerank recover`/)
  assert.match(await readMessage(), /then run `storerank recover`/)
  assert.deepEqual(await countStates(world.db), { planned: 1, posted: 2 })
  await recoverForgottenTasks(beside, world.client, { ...options, quietMs: 0, signal: t.signal })

  await settlePost(world.db, post, outcome.answers, 60_000, null)
  assert.equal(await readRestoreHold(world.db.sql), null)
  assert.equal((await work(world, second)).kind, 'settled')
  assert.deepEqual(await countStates(world.db), { posted: 3 })
  const range = { from: new Date(Date.now() - 3_600_000), to: await world.client.readServiceTime() }
  const page = { offset: 0, limit: 100, includeMetadata: false, sort: 'asc' } as const
  const answer = await world.client.listTaskIds({ ...range, ...page })
  const booked = answer.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0)
  assert.equal(answer.length, 3)
  assert.deepEqual(await readMoney(world.db), { charge: booked, refund: 0 })
})

test('a task of which the list does not say what it measured counts once, and is refused', async () => {
  const { installation } = await readRestoreState(world.db.sql)
  const slot = new Date(Math.floor(Date.now() / 1000) * 1000)
  const task = { taskId: '01900000-0000-7000-8000-000000000000', attempt: 1, installation, slot }
  const tag = formatTag({ ...task, slotEndsAt: new Date(slot.getTime() + 3_600_000) })
  const unread = { datetimeDone: null, status: '20100', costMicros: 1200, metadata: null, url: null }
  const mute = { id: 'mute', tag, datetimePosted: slot, ...unread }
  let readTo = new Date(0)
  const others = Array.from({ length: 1_000 }, (_, n) => ({ ...mute, id: `other ${n}`, tag: null }))
  const offsets: number[] = []
  let asked = 0
  const silent = replaceCalls(world.client, {
    readListEnd: async () => {
      const present = new Date(slot.getTime() + (readTo < slot ? 0 : 60_000))
      return { present, listedTo: present }
    },
    listTaskIds: async ({ from, to, offset }) => {
      asked += 1
      if (asked % 2 === 1) throw new RateLimitedError('Other programs have read the list.', 1)
      if (from > slot || slot > to) return []
      offsets.push(offset)
      return offset === 0 ? others : [mute]
    },
  })
  const { recovered, unreadable } = await recoverForgottenTasks(world.db, silent, {
    quietMs: 10,
    overdueAfterMs: 60_000,
    onProgress: (to) => {
      readTo = to
    },
  })
  // Twice, a page after the other: one that is refused is read again, and not those before it.
  assert.deepEqual(offsets, [0, 1_000, 0, 1_000])
  assert.deepEqual([recovered, unreadable], [0, 1])
})

test('two listed tasks for a planned slot take its place: one is a duplicate', async () => {
  await clear(world)
  await watch(world, ['boxing'])
  await planPosts(world)
  const [planned] = await world.db.sql<{ id: string; slot: Date; slotEndsAt: Date }[]>`
    select id, slot, slot_ends_at as "slotEndsAt" from task`
  assert.ok(planned)
  const { installation } = await readRestoreState(world.db.sql)
  const { slot, slotEndsAt } = planned
  const posted = { store: 'ios_store', function: 'app_searches', subject: 'boxing', category: null } as const
  const place = { locationCode: 2840, languageCode: 'en', priority: 1, depth: 100 } as const
  const listed = ['1', '2'].map((end) => ({
    taskId: `01900000-0000-7000-8000-00000000000${end}`,
    attempt: 1,
    serviceId: `listed-${end}`,
    origin: { installation, slot, slotEndsAt },
    posted: { ...posted, ...place },
    postedAt: new Date(),
    costMicros: 1200,
    isDone: false,
  }))
  const { adopted } = await world.db.begin((tx) => recoverTasks(tx, listed, 60_000))
  assert.equal(adopted, 2)
  const tasks = await world.db.sql`select state from task order by state`
  assert.deepEqual([tasks.map(({ state }) => state), tasks.length], [['dropped', 'posted'], 2])
  assert.deepEqual(await readMoney(world.db), { charge: 1200, duplicate: 1200 })
  assert.equal((await world.db.sql`select from due_slot`).count, 0)
})
