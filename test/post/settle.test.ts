import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, describe, type TestContext, test } from 'node:test'
import timers from 'node:timers/promises'
import { releasePost } from '../../src/ledger/release.ts'
import { formatTag, parseTag } from '../../src/ledger/tag.ts'
import { sortAnswers } from '../../src/post/settle.ts'
import { AppDataClient } from '../../src/service/client.ts'
import type { PostOutcome } from '../../src/service/post-tasks.ts'
import { lasting } from '../support/lasting.ts'
import { createWorld } from '../support/world.ts'
import {
  answerAll,
  answered,
  answerOf,
  claimed,
  clientThat,
  countStates,
  forgetAll,
  type PostCall,
  planPost,
  planPosts,
  readGaps,
  readMoney,
  readOwnBooks,
  rowsOf,
  settle,
  sweep,
  work,
} from './posting.ts'

const world = lasting(() => createWorld({ sandbox: { readyMs: 3_600_000 } }))
afterEach(() => forgetAll(world))

const claimKeywords = async (keywords: readonly string[]) => claimed(world, await planPost(world, keywords))

/** By the tags in the books of the service. */
const readAttempts = async () => (await readOwnBooks(world)).map((entry) => entry.tag.split('.')[1])

/** The client to which the service answers each task so. */
const clientSaying = (...said: readonly [statusCode: number, message?: string][]) =>
  clientThat(world, [], ({ tags }) =>
    answered(tags.map((tag, n) => answerOf(tag, ...(said[n] ?? said[0] ?? [20100])))),
  )

async function stateOfPost(postId: string): Promise<string> {
  const [post] = await world.db.sql<{ state: string }[]>`select state from post where id = ${postId}`
  return post?.state ?? 'gone'
}

const ORIGIN = {
  installation: '0123456789ab',
  slot: new Date('2026-03-01T00:00:00Z'),
  slotEndsAt: new Date('2026-04-01T00:00:00Z'),
}

describe('a tag', () => {
  test('comes back as the task, attempt, database and slot of which it was made', () => {
    const taskId = '01a1fe40-5038-79f3-b915-9d60b7ec36b2'
    for (const attempt of [1, 9_999, 10_000, 32_767]) {
      const tag = formatTag({ taskId, attempt, ...ORIGIN })
      assert.deepEqual(parseTag(tag), { taskId, attempt, origin: ORIGIN })
    }
  })

  test('of an older version has no more than the task and attempt', () => {
    const taskId = '01a1fe40-5038-79f3-b915-9d60b7ec36b2'
    assert.deepEqual(parseTag(`${taskId}.2`), { taskId, attempt: 2, origin: null })
  })

  test('of another program is none of ours', () => {
    for (const tag of [null, '', 'mine', '01a1fe40-5038-79f3-b915-9d60b7ec36b2', `${randomUUID()}.1`]) {
      assert.equal(parseTag(tag), null)
    }
  })
})

describe('each answer stands for its own task', () => {
  const tag = formatTag({ taskId: '01a1fe40-5038-79f3-b915-9d60b7ec36b2', attempt: 1, ...ORIGIN })
  const kindOf = (statusCode: number) => {
    const sorted = sortAnswers([answerOf(tag, statusCode)])
    return Object.entries(sorted).find(([, answers]) => answers.length > 0)?.[0] ?? 'unknown'
  }

  test('and only a proof that nothing was created fails it or gives it back', () => {
    assert.deepEqual([20000, 20100].map(kindOf), ['created', 'created'])
    assert.deepEqual([40006, 40501, 40404].map(kindOf), ['failed', 'failed', 'failed'])
    assert.deepEqual([40200, 40202, 40203, 40209, 40210, 40104].map(kindOf), Array(6).fill('refused'))
    assert.deepEqual([40101, 40102, 40601, 50000, 50301, 12, 99999].map(kindOf), Array(7).fill('unknown'))
  })

  test('but a refusal that has a cost proves nothing', () => {
    for (const statusCode of [40006, 40200, 40202, 40501])
      assert.deepEqual(sortAnswers([{ ...answerOf(tag, statusCode), costMicros: 1200 }]), {
        ...{ created: [], failed: [], refused: [], undelivered: [] },
      })
  })

  test('in any order, twice, for another attempt or for nobody: the matching one counts, once', async () => {
    const post = await claimKeywords(['yoga', 'pilates'])
    const [first = '', second = ''] = post.tasks.map((task) => task.tag)
    const answers = [second, 'mine', first, second].map((tag) => answerOf(tag, 20100))
    assert.equal((await settle(world, post, answers)).unknown, 0)
    assert.equal((await settle(world, post, answers.toReversed())).unknown, 0)
    assert.deepEqual(await countStates(world.db), { posted: 2 })
    assert.deepEqual(await readMoney(world.db), { charge: 2400 })
    assert.equal(await stateOfPost(post.postId), 'settled')
  })

  test('a refusal of an earlier attempt decides nothing about this one', async () => {
    const post = await claimKeywords(['yoga', 'pilates'])
    const others = post.tasks.map((task) => task.tag.replace('.1.', '.7.'))
    await settle(world, post, [answerOf(others[0] ?? '', 40501), answerOf(others[1] ?? '', 40210)])
    assert.deepEqual(await countStates(world.db), { posting: 2 })
  })

  test('what has no answer is unknown, and keeps its money', async () => {
    const post = await claimKeywords(['yoga', 'pilates'])
    const settled = await settle(world, post, [answerOf(post.tasks[0]?.tag ?? '', 20100)])
    assert.equal(settled.unknown, 1)
    assert.deepEqual(await countStates(world.db), { posted: 1, posting: 1 })
    assert.deepEqual(await readMoney(world.db), { charge: 1200, reserved: 1200 })
    assert.equal(await stateOfPost(post.postId), 'unknown')
  })

  test('an invalid task fails alone, with its message and a gap, and its money is free again', async () => {
    const post = await claimKeywords(['yoga', 'pilates'])
    const [first = '', second = ''] = post.tasks.map((task) => task.tag)
    const message = "Invalid Field: 'keyword'."
    const settled = await settle(world, post, [answerOf(first, 40501, message), answerOf(second, 20100)])
    assert.deepEqual(settled, { created: 1, failed: 1, released: 0, unknown: 0 })
    assert.deepEqual(await countStates(world.db), { failed: 1, posted: 1 })
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
    assert.deepEqual(await readGaps(world), [{ gap: 'failed', reason: `40501: ${message}` }])
  })

  test('a task not delivered in the form asked for is posted again, once, to be fetched', async () => {
    const refusal = "Invalid Field: 'postback_data'."
    const post = await claimKeywords(['yoga'])
    const settled = await settle(world, post, [answerOf(post.tasks[0]?.tag ?? '', 40501, refusal)])
    assert.deepEqual(settled, { created: 0, failed: 0, released: 1, unknown: 0 })
    const tasks = await rowsOf(world, 'select state, attempt, html, problem from task')
    assert.deepEqual(tasks, [{ state: 'planned', attempt: 2, html: true, problem: null }])
    assert.deepEqual(await readMoney(world.db), { reserved: 1200 })

    const [postId = ''] = await planPosts(world)
    const again = await claimed(world, postId)
    const last = await settle(world, again, [answerOf(again.tasks[0]?.tag ?? '', 40501, refusal)])
    assert.deepEqual(last, { created: 0, failed: 1, released: 0, unknown: 0 })
    assert.deepEqual(await readMoney(world.db), {})
  })

  test('an invalid task fails alone at the service too', async () => {
    const postId = await planPost(world, ['yoga', 'pilates'])
    await world.db.sql`update target set location_code = 999999 where subject = 'pilates'`
    await work(world, postId)
    assert.deepEqual(await countStates(world.db), { failed: 1, posted: 1 })
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
    assert.equal((await readOwnBooks(world)).length, 1)
  })
})

describe('without money', () => {
  test('a task is planned again under a new tag, with its money reserved once', async () => {
    const postId = await planPost(world, ['yoga', 'pilates'])
    const client = clientSaying([20100], [40210, 'Insufficient funds.'])
    const refused = { code: 'account_money', message: /Insufficient funds/ }
    await assert.rejects(work(world, postId, { client }), refused)
    assert.deepEqual(await countStates(world.db), { planned: 1, posted: 1 })
    assert.deepEqual(await readMoney(world.db), { charge: 1200, reserved: 1200 })
    assert.equal(await stateOfPost(postId), 'settled')

    const [again = ''] = (await sweep(world)).enqueued
    await work(world, again)
    assert.deepEqual(await readAttempts(), ['2'])
    assert.deepEqual(await readMoney(world.db), { charge: 2400 })
  })

  test('a task refused for pace only waits, and blames nobody', async () => {
    const postId = await planPost(world, ['yoga'])
    const client = clientSaying([40202, 'Rate limit per minute exceeded.'])
    const result = await work(world, postId, { client })
    assert.equal(result.kind === 'settled' && result.released, 1)
    assert.deepEqual(await countStates(world.db), { planned: 1 })
  })

  test('a task refused by a code that no list has is its own fault: the others go on', async () => {
    const postId = await planPost(world, ['yoga', 'pilates'])
    const client = clientSaying([20100], [40205, 'The duplicate task limit per hour has been exceeded.'])
    const result = await work(world, postId, { client })
    assert.deepEqual(result.kind === 'settled' && [result.created, result.failed, result.released], [1, 1, 0])
    const [gap] = await world.db.sql`select reason from ranking where gap = 'failed'`
    assert.equal(
      gap?.reason,
      '40205: The duplicate task limit per hour has been exceeded. The account limits how often the same ' +
        'task may be posted: raise that limit there, or measure less often.',
    )
  })

  test('a task refused for the account says so', async () => {
    const postId = await planPost(world, ['yoga'])
    const client = clientSaying([40104, 'Account not verified.'])
    const message = /not verified yet: finish that with the service\. What was not posted stays planned\.$/
    await assert.rejects(work(world, postId, { client }), { code: 'account', message })
  })
})

/** Pauses of the product end at once until the test ends; @returns how long each would have been */
function replacePauses(t: TestContext): number[] {
  const pausesMs: number[] = []
  t.mock.method(timers, 'setTimeout', async (ms: number) => {
    pausesMs.push(ms)
  })
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  return pausesMs
}

describe('a refusal of the whole call', () => {
  const refusals = [
    { httpStatus: 401, statusCode: 40100, cause: 'account', error: { code: 'account' } },
    { httpStatus: 402, statusCode: 40200, cause: 'money', error: { code: 'account_money' } },
    { httpStatus: 404, statusCode: 40400, cause: 'not_found', error: { code: 'rejected' } },
  ] as const
  for (const { error, ...refusal } of refusals) {
    test(`with HTTP ${refusal.httpStatus} gives the post back, and the next run posts it once`, async () => {
      const postId = await planPost(world, ['yoga', 'pilates'])
      const client = clientThat(world, [], () => ({ kind: 'refused', message: 'No.', ...refusal }))
      await assert.rejects(work(world, postId, { client }), error)
      assert.deepEqual(await countStates(world.db), { planned: 2 })
      assert.deepEqual(await readMoney(world.db), { reserved: 2400 })
      assert.deepEqual((await sweep(world)).enqueued, [postId])
      await work(world, postId)
      assert.deepEqual(await readAttempts(), ['2', '2'])
      assert.deepEqual(await readMoney(world.db), { charge: 2400 })
    })
  }

  test('for pace waits as long as the service asks, and then posts it once', async (t) => {
    const pausesMs = replacePauses(t)
    const postId = await planPost(world, ['yoga'])
    const calls: PostCall[] = []
    const slower = { kind: 'refused', cause: 'rate_limit', statusCode: 40202, httpStatus: 200 } as const
    const client = clientThat(world, calls, ({ tags }): PostOutcome => {
      if (calls.length === 1) return { ...slower, message: 'Slower.', retryAfterMs: 12_345 }
      return answered(tags.map((tag) => answerOf(tag, 20100)))
    })
    await work(world, postId, { client })
    assert.deepEqual(pausesMs, [12_345])
    assert.deepEqual(
      calls.map((call) => call.tags[0]?.split('.')[1]),
      ['1', '2'],
    )
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
  })

  test('for a wrong password is an error of the account, and nothing is lost', async () => {
    const postId = await planPost(world, ['yoga'])
    const client = new AppDataClient({ baseUrl: world.sandboxUrl, login: 'sandbox', password: 'wrong' })
    await assert.rejects(work(world, postId, { client }), { code: 'account', message: /APP_DATA_PASSWORD/ })
    await client.close()
    assert.deepEqual(await countStates(world.db), { planned: 1 })
    await work(world, postId)
    assert.equal((await readOwnBooks(world)).length, 1)
  })
})

describe('without a network', () => {
  test('everything stays planned, and a later run posts it once', async () => {
    const postId = await planPost(world, ['yoga', 'pilates'])
    const client = new AppDataClient({ baseUrl: 'http://127.0.0.1:9', login: 'me', password: 'secret' })
    await assert.rejects(work(world, postId, { client }), { code: 'unavailable' })
    await assert.rejects(work(world, postId, { client }), { code: 'unavailable' })
    await client.close()
    assert.deepEqual(await countStates(world.db), { planned: 2 })
    assert.deepEqual(await readMoney(world.db), { reserved: 2400 })

    await work(world, postId)
    assert.equal((await readOwnBooks(world)).length, 2)
    assert.deepEqual(await readMoney(world.db), { charge: 2400 })
  })
})

describe('a runner that lost its claim', () => {
  test('can neither give the post back nor fail its tasks', async () => {
    const post = await claimKeywords(['yoga', 'pilates'])
    const stale = { ...post, token: randomUUID() }
    const [first = '', second = ''] = post.tasks.map((task) => task.tag)
    assert.equal(await releasePost(world.db.sql, stale.postId, stale.token, 'late'), false)
    const settled = await settle(world, stale, [answerOf(first, 40501), answerOf(second, 40210)])
    assert.deepEqual(settled, { created: 0, failed: 0, released: 0, unknown: 2 })
    assert.deepEqual(await countStates(world.db), { posting: 2 })
    assert.equal(await stateOfPost(post.postId), 'sending')
  })

  test('still brings facts, and the holder only the rest', async () => {
    const post = await claimKeywords(['yoga', 'pilates'])
    const [first = '', second = ''] = post.tasks.map((task) => task.tag)
    await settle(world, { ...post, token: randomUUID() }, [answerOf(first, 20100)])
    assert.deepEqual(await countStates(world.db), { posted: 1, posting: 1 })
    await settle(world, post, [answerOf(second, 20100)])
    assert.deepEqual(await readMoney(world.db), { charge: 2400 })
    assert.equal(await stateOfPost(post.postId), 'settled')
  })

  test('books nothing of an id beside the one that the list has named: the list is asked again', async () => {
    const post = await claimKeywords(['yoga'])
    const tag = post.tasks[0]?.tag ?? ''
    await settle(world, post, [answerOf(tag, 20100, 'Task Created.', 's-listed')])
    await settle(world, { ...post, token: randomUUID() }, [answerOf(tag, 20100)])
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
    assert.equal(await stateOfPost(post.postId), 'unknown')
  })

  test('does not decide on a post that became unknown meanwhile, not even with its own token', async () => {
    const post = await claimKeywords(['yoga'])
    await world.db.sql`update post set state = 'unknown'`
    assert.equal(await releasePost(world.db.sql, post.postId, post.token, 'late'), false)
    await answerAll(world, post, 40501)
    assert.deepEqual(await countStates(world.db), { posting: 1 })
  })
})

test('facts are written as soon as the database is back', async () => {
  const postId = await planPost(world, ['yoga'])
  const client = clientThat(world, [], async ({ tags }) => {
    await world.db.sql`create function break() returns trigger language plpgsql as $$
        begin raise exception 'broken'; end $$`
    await world.db.sql`create trigger break before insert on charge for each row execute function break()`
    setTimeout(() => void world.db.sql`drop function break() cascade`, 100)
    return answered(tags.map((tag) => answerOf(tag, 20100)))
  })
  await work(world, postId, { client })
  assert.deepEqual(await countStates(world.db), { posted: 1 })
  assert.deepEqual(await readMoney(world.db), { charge: 1200 })
})
