import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { handOutReady } from '../../src/collect/enqueue-results.ts'
import { claimPost } from '../../src/post/claim.ts'
import { settlePost } from '../../src/post/settle.ts'
import { countStates, depsOf, planPost, readMoney } from '../post/posting.ts'
import { lasting } from '../support/lasting.ts'
import { clear, fetchItems, handOut, store } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'
import {
  type BoughtTask,
  bend,
  buyOne,
  buyTasks,
  buyUnread,
  countCaptures,
  keywordsOf,
  openReceiver,
  readAnswer,
} from './receiving.ts'

const world = lasting(() => createWorld({ sandbox: { callsPerMinute: 100_000 } }))
afterEach(() => clear(world))

const OTHER_TAG = `${'0'.repeat(8)}-0000-7000-8000-${'0'.repeat(12)}.1`
// biome-ignore lint/suspicious/noExplicitAny: a test bends an answer into any shape.
const untag = (sent: any) => {
  delete sent.data.tag
}

async function readPosts(): Promise<string[]> {
  const rows = await world.db.sql<{ state: string }[]>`select state from post`
  return rows.map(({ state }) => state)
}

describe('a postback', () => {
  test('is stored below any prefix that a proxy adds, compressed or not', async (t) => {
    const { origin, secret } = await openReceiver(t, world)
    const [packed, plain] = await buyTasks(world, ['yoga', 'chess'])
    assert.ok(packed !== undefined && plain !== undefined)
    const urlOf = (prefix: string, { id, tag }: BoughtTask) =>
      `${origin}${prefix}/${secret}?id=${id}&tag=${tag}`
    const first = await fetch(urlOf(`/a/${'prefix-'.repeat(40)}/b`, packed), {
      method: 'POST',
      body: gzipSync(packed.answer),
    })
    const second = await fetch(urlOf('/hooks', plain), {
      method: 'POST',
      body: plain.answer,
      headers: { 'content-encoding': 'gzip', 'content-type': 'application/json' },
    })
    assert.deepEqual([first.status, await first.text(), second.status], [200, '', 200])
    const rows = await world.db
      .sql`select keyword, outcome from rank_history where outcome <> 'pending' order by keyword`
    assert.deepEqual(await countStates(world.db), { collected: 2 })
    assert.equal(await countCaptures(world), 2, JSON.stringify(rows))
  })

  test('that comes again and again, at once and later, counts once', async (t) => {
    const { deliver, stored, batches } = await openReceiver(t, world)
    const task = await buyOne(world, 'xqzvbnk', 700)
    const answers = await Promise.all(Array.from({ length: 30 }, () => deliver(task, task.answer)))
    assert.deepEqual(new Set(answers), new Set([200]))
    assert.equal(await deliver(task, task.answer), 200)
    assert.equal(stored(), 1)
    assert.ok(
      batches.every((ids) => ids.length === 1),
      'no batch has it twice',
    )
    assert.deepEqual(await readMoney(world.db), { charge: 8400, refund: -7200 })
  })

  test('that is fetched at the same moment counts once', async (t) => {
    const { deliver, stored } = await openReceiver(t, world)
    const tasks = await buyTasks(world, keywordsOf(60))
    const items = tasks.map((task) => ({
      serviceId: task.id,
      path: null,
      kind: 'advanced' as const,
      store: 'ios_store' as const,
      function: 'app_searches' as const,
      depth: 10,
      html: false,
      htmlPath: null,
    }))
    const fetched = await fetchItems(world, items)
    const [collected] = await Promise.all([
      store(world, fetched),
      ...tasks.map(async (task) => assert.equal(await deliver(task, task.answer), 200)),
    ])
    assert.equal(collected.stored + stored(), 60)
    assert.deepEqual(await countStates(world.db), { collected: 60 })
  })

  test('before its post is settled books nothing, and is left to the ready list', async (t) => {
    const { deliver } = await openReceiver(t, world)
    const postId = await planPost(world, ['yoga', 'chess'], { depth: 100 })
    const token = randomUUID()
    const claim = await claimPost(world.db, postId, token, depsOf(world))
    assert.ok(claim.kind === 'claimed')
    const { tasks, send } = claim.post
    const outcome = await world.client.postTasks('ios_store', 'app_searches', tasks, send)
    assert.ok(outcome.kind === 'answered')
    const [{ tag, serviceId } = { tag: '', serviceId: null }] = outcome.answers
    const id = serviceId ?? ''
    assert.equal(await deliver({ id, tag }, bend(await readAnswer(world, id), untag)), 404)
    assert.deepEqual(await readMoney(world.db), { reserved: 2400 })
    const settled = await settlePost(world.db, { postId, token }, outcome.answers, 60_000, null)
    assert.equal(settled.unknown, 0)
    assert.deepEqual(await readMoney(world.db), { charge: 2400 })
    // The test has read one itself, which took it off the list.
    assert.equal((await handOut(world)).length, 1)
  })

  test('under an id that the service did not tell books nothing, whatever its body says', async (t) => {
    const { deliver } = await openReceiver(t, world)
    const task = await buyOne(world)
    const other = { id: randomUUID(), tag: task.tag }
    const renamed = bend(task.answer, (sent) => {
      sent.id = other.id
    })
    for (const body of [undefined, 'nothing', task.answer, renamed, bend(renamed, untag)])
      assert.equal(await deliver(other, body), 404)
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
    assert.deepEqual(await readPosts(), ['settled'])
    assert.equal(await deliver(task, task.answer), 200)
    assert.deepEqual(await countStates(world.db), { collected: 1 })
  })

  test('of a task that was sent away without its tag is known by its id', async (t) => {
    const { origin, secret } = await openReceiver(t, world)
    const task = await buyOne(world)
    const response = await fetch(`${origin}/${secret}?id=${task.id}`, { method: 'POST', body: task.answer })
    assert.equal(response.status, 200)
  })
})

describe('a postback that brings no result', () => {
  const outcomes: [code: number, status: number, states: object][] = [
    [40602, 503, { posted: 1 }],
    [50000, 503, { posted: 1 }],
    [40101, 503, { posted: 1 }],
    [40403, 503, { posted: 1 }],
    [40102, 200, { collected: 1 }],
  ]
  for (const [code, status, states] of outcomes) {
    test(`but ${code} is answered with ${status}: the service is asked for the rest`, async (t) => {
      const { deliver } = await openReceiver(t, world)
      const task = await buyOne(world)
      const answer = bend(task.answer, (sent) => {
        Object.assign(sent, { status_code: code, status_message: 'As it is.', result: null })
      })
      assert.equal(await deliver(task, answer), status)
      assert.deepEqual(await countStates(world.db), states)
    })
  }
})

describe('a pingback', () => {
  test('hands its task to a fetch job, once', async (t) => {
    const { deliver, handedOut } = await openReceiver(t, world)
    const tasks = await buyUnread(world, keywordsOf(30))
    const twice = [...tasks, ...tasks]
    assert.deepEqual(new Set(await Promise.all(twice.map((task) => deliver(task)))), new Set([200]))
    assert.deepEqual(handedOut.map((item) => item.serviceId).sort(), tasks.map((task) => task.id).sort())
    assert.equal((await handOut(world)).length, 0, 'the ready list hands out none of them again')
    assert.equal((await store(world, await fetchItems(world, handedOut))).stored, 30)
    assert.equal(await deliver({ id: tasks[0]?.id ?? '', tag: '' }), 200)
    assert.equal(handedOut.length, 30)
  })

  test('before its post is settled proves nothing', async (t) => {
    const { deliver, handedOut } = await openReceiver(t, world)
    const postId = await planPost(world, ['yoga'])
    const claim = await claimPost(world.db, postId, randomUUID(), depsOf(world))
    assert.ok(claim.kind === 'claimed')
    const [task] = claim.post.tasks
    assert.equal(await deliver({ id: 'service-1', tag: task?.tag ?? '' }), 404)
    assert.deepEqual(await countStates(world.db), { posting: 1 })
    assert.equal(handedOut.length, 0)
  })

  test('of another program is left to it', async (t) => {
    const { deliver, handedOut } = await openReceiver(t, world)
    for (const tag of ['theirs', OTHER_TAG]) assert.equal(await deliver({ id: randomUUID(), tag }), 404)
    assert.equal(handedOut.length, 0)
  })

  test('is not handed out when no job could be enqueued', async (t) => {
    const enqueue = () => Promise.reject(new Error('no queue'))
    const { deliver, logLines } = await openReceiver(t, world, { enqueue })
    const [task = { id: '', tag: '' }] = await buyUnread(world, ['yoga'])
    assert.equal(await deliver(task), 503)
    assert.match(logLines[0] ?? '', /no queue/)
    assert.equal((await handOut(world)).length, 1, 'the ready list hands it out')
  })
})

test('a pingback and a ready list at once hand each task out once', async (t) => {
  const { deliver, handedOut } = await openReceiver(t, world)
  const tasks = await buyUnread(world, keywordsOf(100))
  const listed: string[] = []
  await Promise.all([
    ...tasks.map((task) => deliver(task)),
    handOutReady(world.db, world.client, world.settings, async (_tx, items) => {
      listed.push(...items.map((item) => item.serviceId))
    }),
  ])
  const all = [...listed, ...handedOut.map((item) => item.serviceId)]
  assert.equal(new Set(all).size, all.length)
  assert.equal(all.length + (await handOut(world)).length, 100)
})
