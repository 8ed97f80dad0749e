/**
 * A service that refuses a range of its list which reaches up to its present, as it is sold. What was posted
 * in the last seconds is not listed yet: the next look sees it, and nothing is proven without it
 * (docs/protocol.md: Where the list ends).
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, type TestContext, test } from 'node:test'
import { recordAccountUsage } from '../../src/account/usage.ts'
import { auditPosted } from '../../src/audit/audit.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { readRestoreHold, recordCheck } from '../../src/ledger/restored.ts'
import { reconcileUnknownPosts } from '../../src/post/reconcile.ts'
import { recoverForgottenTasks } from '../../src/post/recover.ts'
import { checkForRestore } from '../../src/post/restored.ts'
import { restoreCopy } from '../support/copy.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { createWorld, type World } from '../support/world.ts'
import { startLossyProxy } from './lossy-proxy.ts'
import {
  countStates,
  forgetAll,
  planPost,
  readMoney,
  replaceCalls,
  setServiceClock,
  work,
} from './posting.ts'

const QUIET_MS = 20 * 60_000
/** A little less than the product takes, so that what waits for it does not wait long. */
const UNLISTED_MS = 3_000

let database: TestDatabase
let world: World
before(async () => {
  database = await createTestDatabase()
  world = await createWorld({
    database,
    sandbox: { readyMs: 3_600_000, deviations: ['strict-present'] },
    client: { unlistedMs: UNLISTED_MS },
  })
})
beforeEach(async () => {
  // The service keeps the tasks of the other tests, whose database this one is not.
  await world.db.sql`update ledger set installation = default, is_apart = true`
  await recordCheck(world.db)
})
afterEach(() => forgetAll(world))
after(() => world.close())

const reconcile = () =>
  reconcileUnknownPosts(world.db, world.client, { quietMs: QUIET_MS, overdueAfterMs: 60_000 })

async function lose(t: TestContext, what: 'answer' | 'request'): Promise<void> {
  const proxy = await startLossyProxy(t, world.sandboxUrl)
  proxy.lose = what
  await work(world, await planPost(world, ['yoga']), { client: proxy.client })
}

/** The post was sent so long ago, and a scan has missed its tasks since. */
const sentBefore = (ms: number) => world.db.sql`
  update post set send_before = clock_timestamp() - make_interval(secs => ${ms / 1000}),
    scanned_at = clock_timestamp() - make_interval(secs => ${ms / 1000 - 60})`

const readHold = (db: Database) => readRestoreHold(db.sql)

test('the service refuses its present, and the client never asks for it', async () => {
  const { present, listedTo } = await world.client.readListEnd()
  const query = { from: new Date(present.getTime() - 60_000), offset: 0, limit: 10, sort: 'asc' } as const
  await assert.rejects(
    world.client.listTaskIds({ ...query, to: new Date(present.getTime() + 60_000), includeMetadata: true }),
    /datetime_to - must be earlier than present date/,
  )
  assert.deepEqual(await world.client.listTaskIds({ ...query, to: listedTo, includeMetadata: true }), [])
})

describe('an answer that was lost a moment ago', () => {
  test('is not found yet, decides nothing, and is found by the next look', async (t) => {
    await lose(t, 'answer')
    const { adopted, released, unknownPosts } = await reconcile()
    assert.deepEqual({ adopted, released, unknownPosts }, { adopted: 0, released: 0, unknownPosts: 1 })
    await setServiceClock(t, world, 5 / 3600)
    assert.equal((await reconcile()).adopted, 1)
    assert.deepEqual(await countStates(world.db), { posted: 1 })
    assert.deepEqual(await readMoney(world.db), { charge: 1200 })
  })

  test('is not taken for missing by a scan that ends before the quiet time', async (t) => {
    await lose(t, 'request')
    await sentBefore(QUIET_MS + UNLISTED_MS - 500)
    assert.equal((await reconcile()).released, 0)
    await sentBefore(QUIET_MS + UNLISTED_MS + 500)
    assert.equal((await reconcile()).released, 1)
    assert.deepEqual(await countStates(world.db), { planned: 1 })
  })
})

describe('a copy that takes the place of a database which bought until a moment ago', () => {
  /** The copy, and the original after it has bought something that the copy does not know. */
  async function copyAndBuy(t: TestContext, keyword: string): Promise<Database> {
    const copy = await restoreCopy(database)
    t.after(() => copy.drop())
    await work(world, await planPost(world, [keyword]))
    const db = openDatabase(copy.url)
    t.after(() => db.close())
    // As after a failover: all that its rows say of where they were written holds, and its server is another.
    await recordCheck(db)
    await db.sql`
      update restore_check set server_started_at = server_started_at - interval '1 hour',
        written_by = pg_current_xact_id()::xid::text`
    return db
  }

  test('posts nothing, though what it lacks was bought within the last second', async (t) => {
    await work(world, await planPost(world, ['yoga']))
    const copy = await copyAndBuy(t, 'tea')
    await checkForRestore(copy, world.client, t.signal)
    assert.match((await readHold(copy)) ?? '', /its ledger does not know: it was restored from an older copy/)
  })

  test('that had bought nothing yet posts nothing either', async (t) => {
    const copy = await copyAndBuy(t, 'zen')
    await checkForRestore(copy, world.client, t.signal)
    assert.match((await readHold(copy)) ?? '', /storerank recover/)
  })

  test('reads back what was bought within the last second', async (t) => {
    await work(world, await planPost(world, ['yoga']))
    const copy = await copyAndBuy(t, 'chess')
    const options = { quietMs: 0, overdueAfterMs: 60_000, signal: t.signal }
    assert.equal((await recoverForgottenTasks(copy, world.client, options)).recovered, 1)
    assert.deepEqual(await readMoney(copy), { charge: 2400 })
    assert.equal(await readHold(copy), null)
  })

  test('reads back what was bought while the clock was ahead, which the copy has not', async (t) => {
    await setServiceClock(t, world, -1)
    await work(world, await planPost(world, ['yoga']))
    const copy = await copyAndBuy(t, 'run')
    await setServiceClock(t, world, 0)
    await copy.sql`
      insert into account_usage (fetched_at, login, ahead_s, prices)
      values (clock_timestamp() - interval '1 minute', 'sandbox', 3600, '[]'),
        (clock_timestamp() - interval '2 minutes', 'sandbox', 40 * 86400, '[]')`
    const options = { quietMs: 0, overdueAfterMs: 60_000, signal: t.signal }
    assert.equal((await recoverForgottenTasks(copy, world.client, options)).recovered, 1)
  })

  test('keeps how far ahead the clock was until it is recovered', async (t) => {
    const copy = await restoreCopy(database)
    t.after(() => copy.drop())
    const db = openDatabase(copy.url)
    t.after(() => db.close())
    await db.sql`
      insert into account_usage (fetched_at, login, ahead_s, prices)
      values (clock_timestamp() + interval '30 minutes', 'sandbox', 3600, '[]')`
    const countAhead = async () =>
      (await db.sql`select from account_usage where fetched_at > clock_timestamp()`).count
    await recordAccountUsage(db, world.client)
    assert.equal(await countAhead(), 1)
    await db.sql`update ledger set recover_from = null, hold_reason = null`
    await recordCheck(db)
    await recordAccountUsage(db, world.client)
    assert.equal(await countAhead(), 0)
  })
})

test('a copy that was checked before is not kept waiting when its check is renewed', async (t) => {
  await world.db.sql`
    update restore_check set checked_at = checked_at - interval '2 hours',
      written_by = pg_current_xact_id()::xid::text`
  await checkForRestore(world.db, replaceCalls(world.client, { unlistedMs: 3_600_000 }), t.signal)
  const [check] = await world.db.sql`
    select checked_at > clock_timestamp() - interval '1 minute' as "isNew" from restore_check`
  assert.equal(check?.isNew, true)
})

test('an audit of what ended just now asks for nothing beyond the list', async () => {
  const now = Date.now()
  const range = { from: new Date(now - 3_600_000), to: new Date(now) }
  const { missing } = await auditPosted(world.db, world.client, range, { overdueAfterMs: 60_000 })
  assert.equal(missing, 0)
})
