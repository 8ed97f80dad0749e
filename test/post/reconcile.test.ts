import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, describe, type TestContext, test } from 'node:test'
import { RejectedError, UnreadableError } from '../../src/errors.ts'
import { countSendingPosts, readUnknownPosts } from '../../src/ledger/release.ts'
import { reconcileUnknownPosts } from '../../src/post/reconcile.ts'
import { recoverForgottenTasks } from '../../src/post/recover.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import type { TaskIdQuery, TaskIdRow } from '../../src/service/task-ids.ts'
import { putFaults } from '../support/faults.ts'
import { lasting } from '../support/lasting.ts'
import { createWorld } from '../support/world.ts'
import { startLossyProxy } from './lossy-proxy.ts'
import {
  answerAll,
  answerOf,
  claim,
  claimed,
  countStates,
  forgetAll,
  planPost,
  readMoney,
  readOwnBooks,
  replaceCalls,
  rowsOf,
  setServiceClock,
  settle,
  work,
} from './posting.ts'

const MINUTE_MS = 60_000
const QUIET_MS = 20 * MINUTE_MS

const world = lasting(() => createWorld({ sandbox: { readyMs: 3_600_000 } }))
afterEach(() => forgetAll(world))

function reconcile(client: AppDataClient = world.client) {
  return reconcileUnknownPosts(world.db, client, { quietMs: QUIET_MS, overdueAfterMs: MINUTE_MS })
}

/** As if everything so far had happened that much earlier. */
async function letPass(interval: string): Promise<void> {
  await world.db.sql`
    update post set send_before = send_before - ${interval}::interval,
      scanned_at = scanned_at - ${interval}::interval`
}

/** A post of the keywords, which the service got or did not get, and whose answer is lost. */
async function loseAnswer(t: TestContext, lose: 'answer' | 'request', keywords: readonly string[]) {
  const proxy = await startLossyProxy(t, world.sandboxUrl)
  proxy.lose = lose
  const postId = await planPost(world, keywords)
  const result = await work(world, postId, { client: proxy.client })
  assert.equal(result.kind === 'settled' && result.unknown, keywords.length)
  assert.equal(proxy.posts, 1)
  return postId
}

async function readPost() {
  const [post] = await world.db.sql<{ state: string; scannedAt: Date | null }[]>`
    select state, scanned_at as "scannedAt" from post`
  assert.ok(post !== undefined)
  return post
}

/** The world's client, whose task history is what the test says. */
function withHistory(listTaskIds: (query: TaskIdQuery) => Promise<TaskIdRow[]>): AppDataClient {
  return replaceCalls(world.client, { listTaskIds })
}

function row(id: string, tag: string | null = null, fields: Partial<TaskIdRow> = {}): TaskIdRow {
  const unfinished = { datetimePosted: new Date(), datetimeDone: null, status: '40602', costMicros: 1200 }
  return { id, tag, ...unfinished, url: null, metadata: null, ...fields }
}

const manyRows = () => Array.from({ length: 1500 }, (_, n) => row(`other-${n}`))
const NOT_SCANNED = { state: 'unknown', scannedAt: null }

describe('a lost answer', () => {
  test('is found in the task history: the tasks are adopted, and charged once', async (t) => {
    const postId = await loseAnswer(t, 'answer', ['yoga', 'pilates'])
    assert.deepEqual(await readMoney(world.db), { reserved: 2400 })
    assert.deepEqual(await work(world, postId), { kind: 'nothing' })

    const { adopted, unknownPosts, released } = await reconcile()
    assert.deepEqual({ adopted, unknownPosts, released }, { adopted: 2, unknownPosts: 0, released: 0 })
    assert.deepEqual(await countStates(world.db), { posted: 2 })
    assert.deepEqual(await readMoney(world.db), { charge: 2400 })
    assert.equal((await readOwnBooks(world)).length, 2)
    assert.equal((await reconcile()).adopted, 0)
  })

  test('is looked for without waiting for tasks whose charge is known', async (t) => {
    await work(world, await planPost(world, ['zen']))
    await loseAnswer(t, 'answer', ['yoga'])
    const { adopted } = await world.db.begin(async (tx) => {
      await tx`select from task where state = 'posted' for update`
      return reconcile()
    })
    assert.equal(adopted, 1)
  })

  for (const [whose, hours] of [
    ['runner', -5],
    ['runner', 5],
    ['service', -5],
    ['service', 5],
  ] as const) {
    test(`is found when the clock of the ${whose} is ${hours} hours off, not given back`, async (t) => {
      if (whose === 'service') await setServiceClock(t, world, hours)
      else t.mock.timers.enable({ apis: ['Date'], now: Date.now() + hours * 60 * MINUTE_MS })
      await loseAnswer(t, 'answer', ['yoga'])
      await letPass('1 hour')
      await world.db.sql`update post set scanned_at = clock_timestamp() - interval '1 minute'`
      const { adopted, released } = await reconcile()
      assert.deepEqual({ adopted, released }, { adopted: 1, released: 0 })
    })
  }

  test('is found when the clock of the service was set forward before the scan', async (t) => {
    await setServiceClock(t, world, -4 / 60)
    await loseAnswer(t, 'answer', ['yoga'])
    await setServiceClock(t, world, 0)
    const { adopted, unknownPosts } = await reconcile()
    assert.deepEqual({ adopted, unknownPosts }, { adopted: 1, unknownPosts: 0 })
  })
})

for (const [fault, told] of [
  ['shortRows', /was answered with a part of its list\. The answer counts/],
  ['otherQuery', /says offset = 1000, which was not asked for: it is the list of something else/],
] as const) {
  test(`a list with the fault ${fault} proves nothing: nothing is given back`, async (t) => {
    await loseAnswer(t, 'answer', ['yoga', 'pilates'])
    await putFaults(world.sandboxUrl, { [fault]: 1 })
    t.after(() => putFaults(world.sandboxUrl, {}))
    for (let scan = 1; scan <= 2; scan += 1) {
      await letPass('1 hour')
      await assert.rejects(reconcile(), told)
    }
    assert.deepEqual(await countStates(world.db), { posting: 2 })
    await putFaults(world.sandboxUrl, {})
    assert.equal((await reconcile()).adopted, 2)
  })
}

test('a list that is never whole ends the recovery with a sentence', async (t) => {
  await loseAnswer(t, 'request', ['yoga'])
  const rows = Array.from({ length: 1000 }, (_, n) => ({ id: `task-${n}`, tag: null }) as TaskIdRow)
  let pages = 0
  const client = withHistory(async () => {
    pages += 1
    assert.ok(pages <= 8)
    return rows
  })
  await assert.rejects(
    recoverForgottenTasks(world.db, client, { quietMs: 0, overdueAfterMs: 60_000 }),
    /^UnavailableError: The tasks that the service lists of its unknown posts changed places each time/,
  )
  await world.db.sql`update ledger set recover_from = null`
})

describe('a POST that never arrived', () => {
  test('is given back after two scans, the second after the quiet time, and then posted once', async (t) => {
    const postId = await loseAnswer(t, 'request', ['yoga', 'pilates'])
    await letPass('1 minute')
    const first = await reconcile()
    assert.equal(first.released, 0)
    assert.ok((first.waitsUntil?.getTime() ?? 0) > Date.now() + 15 * MINUTE_MS)
    assert.equal((await reconcile()).released, 0)
    assert.deepEqual(await countStates(world.db), { posting: 2 })
    assert.deepEqual(await readMoney(world.db), { reserved: 2400 })

    await letPass('20 minutes')
    assert.equal((await reconcile()).released, 2)
    assert.deepEqual(await countStates(world.db), { planned: 2 })
    await work(world, postId)
    const tags = (await readOwnBooks(world)).map((entry) => entry.tag.split('.')[1])
    assert.deepEqual(tags, ['2', '2'])
    assert.deepEqual(await readMoney(world.db), { charge: 2400 })
  })

  test('is not given back by one scan, however late', async (t) => {
    await loseAnswer(t, 'request', ['yoga'])
    await letPass('2 days')
    assert.equal((await reconcile()).released, 0)
    assert.equal((await reconcile()).released, 1)
  })

  test('is not given back when the scan before found it to be in its quiet time still', async (t) => {
    await loseAnswer(t, 'request', ['yoga'])
    await letPass('19 minutes')
    await reconcile()
    assert.equal((await reconcile()).released, 0)
  })

  test('is not taken for scanned by a scan that began before the end of its time to send', async (t) => {
    await loseAnswer(t, 'request', ['yoga'])
    await world.db.sql`update post set send_before = clock_timestamp() + interval '1 minute'`
    await reconcile()
    assert.deepEqual(await readPost(), NOT_SCANNED)
  })

  test('starts anew with its scans when it is lost a second time', async (t) => {
    const postId = await loseAnswer(t, 'request', ['yoga'])
    await letPass('1 hour')
    await reconcile()
    await reconcile()
    const proxy = await startLossyProxy(t, world.sandboxUrl)
    proxy.lose = 'request'
    await work(world, postId, { client: proxy.client })
    assert.deepEqual(await readPost(), NOT_SCANNED)
    await letPass('1 hour')
    assert.equal((await reconcile()).released, 0)
  })
})

describe('an adoption beats a release', () => {
  test('when the answer arrives while the last scan is read', async () => {
    const post = await claimed(world, await planPost(world, ['yoga']))
    await settle(world, post, [])
    await letPass('1 hour')
    await reconcile(withHistory(async () => []))
    const { released } = await reconcile(
      withHistory(async () => {
        await answerAll(world, post, 20100)
        return []
      }),
    )
    assert.equal(released, 0)
    assert.deepEqual(await countStates(world.db), { posted: 1 })
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
    assert.equal((await readPost()).state, 'settled')
  })

  test('task by task: only what is still missing is given back', async () => {
    const post = await claimed(world, await planPost(world, ['yoga', 'pilates']))
    await settle(world, post, [answerOf(post.tasks[0]?.tag ?? '', 20100)])
    await letPass('1 hour')
    const nothing = withHistory(async () => [])
    await reconcile(nothing)
    assert.equal((await reconcile(nothing)).released, 1)
    assert.deepEqual(await countStates(world.db), { planned: 1, posted: 1 })
    assert.deepEqual(await readMoney(world.db), { charge: 1200, reserved: 1200 })
  })

  test('when it arrives after the release and before the next claim: nothing is left to post', async (t) => {
    const postId = await loseAnswer(t, 'answer', ['yoga'])
    await letPass('1 hour')
    await reconcile(withHistory(async () => []))
    assert.equal((await reconcile(withHistory(async () => []))).released, 1)
    const [entry] = await readOwnBooks(world)
    assert.ok(entry !== undefined)
    await settle(world, { postId, token: randomUUID() }, [answerOf(entry.tag, 20100)])
    assert.deepEqual(await work(world, postId), { kind: 'nothing' })
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
    assert.equal((await readOwnBooks(world)).length, 1)
  })
})

test('a task that is done already is charged in full: its refund is written when it is stored', async (t) => {
  await loseAnswer(t, 'answer', ['yoga'])
  const [entry] = await readOwnBooks(world)
  assert.ok(entry !== undefined)
  const done = row(entry.id, entry.tag, { datetimeDone: new Date(), status: '20000', costMicros: 400 })
  assert.equal((await reconcile(withHistory(async () => [done]))).adopted, 1)
  assert.deepEqual(await readMoney(world.db), { charge: 1200 })
})

describe('a scan proves something only when it is complete', () => {
  /** A history in which another task, far behind, finishes and moves to the front as the test says. */
  function restless(rows: TaskIdRow[], movesBefore: (page: number) => boolean) {
    let page = 0
    return withHistory(async ({ offset, limit }) => {
      page += 1
      if (movesBefore(page)) rows.unshift(...rows.splice(1200, 1))
      return rows.slice(offset, offset + limit)
    })
  }

  test('a task that moves in front of the page just read is found by another pass', async (t) => {
    await loseAnswer(t, 'answer', ['yoga'])
    const [entry] = await readOwnBooks(world)
    const rows = manyRows()
    rows[1200] = row(entry?.id ?? '', entry?.tag ?? '')
    const { adopted } = await reconcile(restless(rows, (page) => page === 2))
    assert.equal(adopted, 1)
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
  })

  test('a history that never stands still releases nothing, and is no first scan', async (t) => {
    await loseAnswer(t, 'request', ['yoga'])
    await letPass('1 hour')
    const rows = manyRows()
    let made = 0
    const growing = withHistory(async ({ offset, limit }) => {
      if (offset > 0) rows.unshift(row(`new-${made++}`))
      return rows.slice(offset, offset + limit)
    })
    assert.equal((await reconcile(growing)).released, 0)
    assert.equal((await readPost()).scannedAt, null)
  })

  test('nor when it fails on the way, or the service does not tell its time', async (t) => {
    await loseAnswer(t, 'request', ['yoga'])
    await letPass('1 hour')
    const readListEnd = () => Promise.reject(new UnreadableError('no date', 'date'))
    await assert.rejects(reconcile(replaceCalls(world.client, { readListEnd })), { code: 'unreadable' })
    const failing = withHistory(() => Promise.reject(new RejectedError('no', 40501)))
    await assert.rejects(reconcile(failing), { code: 'rejected' })
    assert.deepEqual(await readPost(), NOT_SCANNED)
  })

  test('a post that becomes unknown while the scan runs is not covered by it', async () => {
    const first = await claimed(world, await planPost(world, ['yoga']))
    const second = await claimed(world, await planPost(world, ['pilates']))
    await settle(world, first, [])
    await letPass('1 hour')
    await reconcile(
      withHistory(async () => {
        await settle(world, second, [])
        return []
      }),
    )
    const scanned = await rowsOf(world, 'select id from post where scanned_at is not null')
    assert.deepEqual(scanned, [{ id: first.postId }])
  })
})

test('what the service no longer tells of fails, is never bought again, and blocks no post', async (t) => {
  await loseAnswer(t, 'answer', ['yoga'])
  await letPass('28 days')
  await reconcile(withHistory(() => assert.fail('it was asked')))
  assert.deepEqual(await countStates(world.db), { failed: 1 })
  assert.deepEqual(await readMoney(world.db), {})
  assert.equal((await readPost()).state, 'settled')
  assert.deepEqual(await rowsOf(world, 'select gap from ranking'), [{ gap: 'failed' }])
})

test('several unknown posts are awaited until the list proves the last of them lost', async () => {
  const { sql } = world.db
  await sql`
    insert into post (store, function, state, send_before)
    select 'ios_store', 'app_searches', 'unknown', timestamptz '2026-03-10 12:00+00' - n * interval '1 hour'
    from generate_series(0, 2) n`
  assert.deepEqual(await readUnknownPosts(sql, QUIET_MS), {
    unknownPosts: 3,
    waitsUntil: new Date('2026-03-10T12:20:04Z'),
  })
})

test('a runner that ends now is told how many of its posts are on the way', async () => {
  await claim(world, await planPost(world, ['yoga']))
  assert.equal(await countSendingPosts(world.db.sql, 'test'), 1)
  assert.equal(await countSendingPosts(world.db.sql, 'another'), 0)
})
