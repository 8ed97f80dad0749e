import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import type { Database } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { closeEndedSlots } from '../../src/history/close-slots.ts'
import { Secret } from '../../src/secret.ts'
import { AppDataClient } from '../../src/service/client.ts'
import type { SendWindow } from '../../src/service/transport.ts'
import { stall, startWireServer } from '../service/wire-server.ts'
import { lasting } from '../support/lasting.ts'
import { readSpendDifferences } from '../support/ledger.ts'
import { createWorld } from '../support/world.ts'
import {
  answered,
  answerOf,
  claim,
  claimAt,
  claimed,
  clientThat,
  countStates,
  failAtService,
  forgetAll,
  openOther,
  type PostCall,
  planPost,
  planPosts,
  readGaps,
  readMoney,
  readOwnBooks,
  replaceCalls,
  rowsOf,
  runAt,
  subjectsClaimed,
  watch,
  work,
} from './posting.ts'

const world = lasting(() => createWorld({ sandbox: { readyMs: 3_600_000 } }))
afterEach(async () => {
  const differences = await readSpendDifferences(world.db.sql)
  await forgetAll(world)
  assert.deepEqual([...differences], [])
})

/** When the slot of the only task ends, which is at the same moment as the next one begins. */
async function readSlotEnd(): Promise<string> {
  const [row] = await world.db.sql<{ at: Date }[]>`select slot_ends_at as at from task`
  return row?.at.toISOString() ?? ''
}

const readPost = () => rowsOf(world, 'select state, token from post')

describe('a claim', () => {
  test('gives a post to one of many runners that ask at once', async () => {
    const postId = await planPost(world, ['yoga'])
    const claims = await Promise.all(Array.from({ length: 8 }, () => claim(world, postId)))
    assert.deepEqual(claims.map((claim) => claim.kind).sort(), ['claimed', ...Array(7).fill('taken')])
  })

  test('drops a task whose slot is over, which becomes a gap and frees its money', async () => {
    const postId = await planPost(world, ['yoga'])
    const slotEnd = await readSlotEnd()
    assert.deepEqual(await claimAt(world, postId, slotEnd), { kind: 'empty' })
    assert.deepEqual(await rowsOf(world, 'select state from post'), [{ state: 'settled' }])
    await runAt(world, slotEnd, closeEndedSlots)
    assert.deepEqual(await rowsOf(world, 'select gap from ranking'), [{ gap: 'missed' }])
    assert.deepEqual(await readMoney(world.db), {})
  })

  test('drops a task that nobody watches any more, and frees its money', async () => {
    const postId = await planPost(world, ['yoga', 'pilates'])
    await world.db.sql`delete from keyword_watch where keyword = 'pilates'`
    assert.deepEqual(await subjectsClaimed(world, postId), ['yoga'])
    assert.deepEqual(await readMoney(world.db), { reserved: 1200 })
    await closeEndedSlots(world.db)
    assert.deepEqual(await countStates(world.db), { posting: 1 })
    assert.deepEqual(await readGaps(world), [])
  })

  test('ends a task that was charged before and that nobody watches any more as failed', async () => {
    const postId = await planPost(world, ['yoga'])
    await failAtService(world)
    await world.db.sql`delete from keyword_watch`
    assert.deepEqual(await claim(world, postId), { kind: 'empty' })
    assert.deepEqual(await countStates(world.db), { failed: 1 })
    assert.deepEqual(await readMoney(world.db), {})
    const reason = 'No watch asks for it any more, and it was not posted again after: 40101: It failed.'
    assert.deepEqual(await readGaps(world), [{ gap: 'failed', reason }])
  })

  test('ends one that was charged before as failed, also where nothing is told of the failure', async () => {
    const postId = await planPost(world, ['yoga'])
    await failAtService(world)
    await world.db.sql`update task set problem = null`
    await world.db.sql`delete from keyword_watch`
    assert.deepEqual(await claim(world, postId), { kind: 'empty' })
    assert.deepEqual(await countStates(world.db), { failed: 1 })
  })

  test('ends a task that was charged before and whose slot is over, and its gap says both', async () => {
    const postId = await planPost(world, ['yoga'])
    await failAtService(world)
    const slotEnd = await readSlotEnd()
    assert.deepEqual(await claimAt(world, postId, slotEnd), { kind: 'empty' })
    assert.deepEqual(await countStates(world.db), { failed: 1 })
    const reason = 'It was planned, but its slot ended before it could be sent. 40101: It failed.'
    assert.deepEqual(await readGaps(world), [{ gap: 'failed', reason }])
  })

  test('brings what the service has to be told of each task', async () => {
    const place = { project: 'fitness', location_code: 2840, language_code: 'en' }
    const charts = [
      { collection: 'topselling_free', category: 'game' },
      { collection: 'topselling_free', depth: 7, priority: 2 },
      { collection: 'topgrossing', category: 'family', age_rating: 'ages_6_8' },
      { collection: 'new_ios', store: 'ios_store', depth: 1000 },
    ]
    const apps = [
      { store: 'android_store', app_id: 'com.ashlune.yoga', info: true },
      { store: 'ios_store', app_id: '1480010017', reviews: true },
    ]
    for (const chart of charts) await world.db.sql`insert into chart_watch ${sql.row({ ...place, ...chart })}`
    for (const app of apps) await world.db.sql`insert into app_watch ${sql.row({ ...place, ...app })}`
    const told: object[] = []
    for (const postId of await planPosts(world)) {
      told.push(...(await claimed(world, postId)).tasks.map(({ tag: _, ...task }) => task))
    }
    const usual = { locationCode: 2840, languageCode: 'en', priority: 1 }
    const family = { category: 'family', ageRating: 'ages_6_8' }
    assert.deepEqual(
      new Set(told),
      new Set([
        { ...usual, subject: 'topselling_free', category: 'game', depth: 100 },
        { ...usual, subject: 'topselling_free', depth: 7, priority: 2 },
        { ...usual, subject: 'topgrossing', ...family, depth: 100 },
        { ...usual, subject: 'new_ios', depth: 1000 },
        { ...usual, subject: 'com.ashlune.yoga' },
        // A diary of reviews wants the newest.
        { ...usual, subject: '1480010017', sortBy: 'most_recent', depth: 50 },
      ]),
    )
  })

  test('keeps a shared task that another project still watches', async () => {
    await watch(world, ['yoga'], { project: 'health' })
    const postId = await planPost(world, ['yoga'])
    await world.db.sql`delete from keyword_watch where project = 'health'`
    assert.equal((await claim(world, postId)).kind, 'claimed')
  })

  test('has results delivered where there is an address, only told of where pages are wanted', async () => {
    const postId = await planPost(world, ['yoga', 'pilates'], { store: 'android_store', depth: 30 })
    await world.db.sql`
      update task set html = true where target_id = (select id from target where subject = 'pilates')`
    const postbackUrl = new Secret('https://ranks.example.com/hooks/0123456789abcdef01234567')
    const { tasks } = await claimed(world, postId, { postbackUrl })
    const url = `${postbackUrl.reveal()}?id=$id&tag=$tag`
    const webhooks = tasks.map(({ subject, postbackUrl, postbackData, pingbackUrl }) =>
      [subject, postbackUrl, postbackData, pingbackUrl].join(' '),
    )
    assert.deepEqual(webhooks.sort(), [`pilates   ${url}`, `yoga ${url} advanced `])
  })

  test('waits when the call window is full, and changes nothing', async () => {
    const postId = await planPost(world, ['yoga'])
    const window = { ...world.settings, callsPerMinute: 1, runner: 'test' }
    await world.db.sql`select take_call_permits('{task_get}', '{/}', 'other', null, 1, 30, 25000)`
    const made = await claim(world, postId, { window })
    assert.ok(made.kind === 'wait' && made.waitMs > 0)
    assert.deepEqual(await readPost(), [{ state: 'ready', token: null }])
  })
})

describe('a post whose claim is in doubt', () => {
  test('is not sent when the transaction failed, and another run posts it once', async () => {
    const postId = await planPost(world, ['yoga'])
    const calls: PostCall[] = []
    const client = clientThat(world, calls, () => assert.fail('it was sent'))
    const db = openOther(world)
    const { sql } = world.db
    await sql`create function break() returns trigger language plpgsql as $$
      begin raise exception 'broken'; end $$`
    await sql`create constraint trigger break after update on post deferrable initially deferred
      for each row execute function break()`
    try {
      await assert.rejects(work(world, postId, { db, client }), { code: 'unavailable' })
    } finally {
      await sql`drop function break() cascade`
      await db.close()
    }
    assert.equal(calls.length, 0)
    assert.deepEqual(await countStates(world.db), { planned: 1 })
    await work(world, postId)
    assert.equal((await readOwnBooks(world)).length, 1)
  })

  test('is not sent when the commit went through and its answer was lost, and is given back', async () => {
    const postId = await planPost(world, ['yoga'])
    const calls: PostCall[] = []
    const client = clientThat(world, calls, () => assert.fail('it was sent'))
    const begin: Database['begin'] = async (...transaction) => {
      await world.db.begin(...transaction)
      throw new Error('the connection was lost after the commit')
    }
    await assert.rejects(work(world, postId, { db: { ...world.db, begin }, client }), { code: 'unavailable' })
    assert.equal(calls.length, 0)
    assert.deepEqual(await countStates(world.db), { planned: 1 })
    assert.deepEqual(await readPost(), [{ state: 'ready', token: null }])
    await work(world, postId)
    const books = await readOwnBooks(world)
    assert.deepEqual(
      books.map((entry) => entry.tag.split('.')[1]),
      ['2'],
    )
  })
})

describe('the time to send', () => {
  test('ends half a second after the claim began, on both clocks', async () => {
    const postId = await planPost(world, ['yoga'])
    const calls: PostCall[] = []
    const claimedMs = performance.now()
    let sentMs = 0
    const client = clientThat(world, calls, ({ tags }) => {
      sentMs = performance.now()
      return answered(tags.map((tag) => answerOf(tag, 20100)))
    })
    await work(world, postId, { client })
    const send = calls[0]?.send
    assert.ok(send?.wallDeadlineMs !== undefined)
    assert.ok(send.deadlineMs >= claimedMs + 500 && send.deadlineMs <= sentMs + 500)
    const [post] = await world.db.sql<{ before: Date }[]>`select send_before as before from post`
    assert.ok(send.wallDeadlineMs <= (post?.before.getTime() ?? 0) + 1)
  })

  const freezePast = ({ deadlineMs }: SendWindow) => {
    while (performance.now() < deadlineMs + 100);
  }
  for (const isHandedOver of [false, true]) {
    const when = isHandedOver ? 'with the request handed over and not yet written' : 'before it sends'
    test(`passes while the process is frozen ${when}: no byte leaves`, async (t) => {
      const postId = await planPost(world, ['yoga'])
      const server = await startWireServer(t, stall)
      const real = new AppDataClient({ baseUrl: server.baseUrl, login: 'me', password: 'secret' })
      t.after(() => real.close())
      const client = replaceCalls(real, {
        postTasks: (...args: Parameters<typeof real.postTasks>) => {
          if (!isHandedOver) freezePast(args[3])
          const outcome = real.postTasks(...args)
          if (isHandedOver) freezePast(args[3])
          return outcome
        },
      })
      await assert.rejects(work(world, postId, { client }), /was not sent/)
      assert.equal(server.bytesReceived(), 0)
      assert.deepEqual(await countStates(world.db), { planned: 1 })
      await work(world, postId)
      assert.equal((await readOwnBooks(world)).length, 1)
      assert.deepEqual(await readMoney(world.db), { charge: 1200 })
    })
  }
})
