/**
 * A database that is restored from an older copy, or is empty, pays for nothing again: it refuses to post,
 * reads back what was bought, and its books and history are what they would have been.
 */
import assert from 'node:assert/strict'
import { after, afterEach, beforeEach, describe, test } from 'node:test'
import { pino } from 'pino'
import { auditPosted } from '../../src/audit/audit.ts'
import { handOutOverdue, handOutReady } from '../../src/collect/enqueue-results.ts'
import { fetchResults } from '../../src/collect/fetch.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { closeEndedSlots } from '../../src/history/close-slots.ts'
import { createDictionary } from '../../src/history/dictionary.ts'
import { storeFetched } from '../../src/history/store.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import {
  adoptInstallationId,
  isChecked,
  readRestoreHold,
  recordCheck,
  standApart,
} from '../../src/ledger/restored.ts'
import { planDueTasks } from '../../src/plan/plan.ts'
import { type RecoveredTasks, recoverForgottenTasks } from '../../src/post/recover.ts'
import { checkForRestore, readInstallations, refuseRestored } from '../../src/post/restored.ts'
import { sweepPosts } from '../../src/post/sweep.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { AppDataClient } from '../../src/service/client.ts'
import type { TaskIdRow } from '../../src/service/task-ids.ts'
import { findPrograms, restoreCopy } from '../support/copy.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { endAttemptPauses, readSpendDifferences, rememberPrices } from '../support/ledger.ts'
import { workUntilSent } from '../support/stages.ts'
import { LOGIN } from '../support/world.ts'
import { startLossyProxy } from './lossy-proxy.ts'

const DAY_MS = 86_400_000
/** The list has tags for a month. */
const MONTH_MS = 27 * DAY_MS
const BEGIN_MS = Date.parse('2026-03-02T06:00:00Z')
const BUDGET = { maxDayMicros: 1_000_000_000, maxMonthMicros: null, maxRunMicros: null }
const SIGNAL = AbortSignal.timeout(300_000)
/** Nothing that another copy sent is on its way here. */
const RECOVER = { quietMs: 0, overdueAfterMs: 60_000 }

let presentMs = BEGIN_MS
let sandbox: Sandbox
let client: AppDataClient
const opened: TestDatabase[] = []

beforeEach(async () => {
  presentMs = BEGIN_MS
  sandbox = await startSandbox({
    now: () => presentMs,
    readyMs: 0,
    readyListsPerMinute: 1000,
    idListsPerMinute: 1000,
  })
  client = new AppDataClient({ ...LOGIN, baseUrl: sandbox.url })
})

afterEach(async () => {
  await client.close()
  await sandbox.close()
})

after(async () => {
  for (const database of opened) await database.drop()
})

async function openTestDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase()
  opened.push(database)
  await rememberPrices(database.sql)
  return database
}

async function copy(original: TestDatabase): Promise<TestDatabase> {
  const target = await restoreCopy(original)
  opened.push(target)
  return target
}

/** A process at an instant of business time: its connections end with what it does. */
async function at<T>(database: TestDatabase, work: (db: Database) => Promise<T>): Promise<T> {
  const name = new URL(database.url).pathname.slice(1)
  const now = new Date(presentMs).toISOString()
  await database.sql.unsafe(`alter database "${name}" set storerank.now = '${now}'`)
  const db = openDatabase(database.url)
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

async function plan(db: Database): Promise<string[]> {
  const postIds: string[] = []
  await closeEndedSlots(db)
  await planDueTasks(db, BUDGET, async (_tx, ids) => void postIds.push(...ids))
  return postIds
}

async function post(db: Database, postIds: readonly string[], through = client): Promise<void> {
  const window = { callsPerMinute: 2000, maxConcurrentRequests: 30, runner: 'test' }
  const deps = {
    db,
    client: through,
    window,
    log: pino({ level: 'silent' }),
    budget: BUDGET,
    overdueAfterMs: 60_000,
  }
  for (const postId of postIds) await workUntilSent({ ...deps, postbackUrl: null }, postId, SIGNAL)
}

async function collect(db: Database): Promise<void> {
  const items: FetchItem[] = []
  const take = async (_tx: unknown, found: readonly FetchItem[]) => void items.push(...found)
  await handOutReady(db, client, { overdueAfterMs: 60_000 }, take)
  await handOutOverdue(db, take)
  const fetched = await fetchResults(client, items, 8, SIGNAL)
  await storeFetched({ db, dictionary: createDictionary(db), maxAttempts: 3 }, fetched, async () => {})
}

/** One day of a runner's life, and the night after it. */
async function liveDay(database: TestDatabase): Promise<void> {
  await at(database, async (db) => {
    await post(db, await plan(db))
    await collect(db)
  })
  presentMs += DAY_MS
}

function watch(database: TestDatabase): Promise<void> {
  return at(database, async ({ sql }) => {
    await sql`
      insert into keyword_watch (project, store, keyword, location_code, language_code, depth, every)
      values ('fitness', 'ios_store', 'yoga', 2840, 'en', 300, '1 day'),
        ('fitness', 'android_store', '100% c++', 2840, 'en', 30, '1 day'),
        ('learning', 'ios_store', 'yoga', 2840, 'en', 300, '1 day'),
          ('fitness', 'ios_store', 'weekly', 2840, 'en', 100, '7 days')`
    await sql`
      insert into app_watch (project, store, app_id, info, reviews, location_code, language_code)
      values ('fitness', 'ios_store', '1480010017', true, true, 2840, 'en')`
  })
}

/** The service's own books: of a month with tags, of six without. */
async function readBooks({ withTags = false } = {}): Promise<TaskIdRow[]> {
  const to = await client.readServiceTime()
  const from = new Date(withTags ? to.getTime() - MONTH_MS : BEGIN_MS - DAY_MS)
  return client.listTaskIds({ from, to, offset: 0, limit: 1000, includeMetadata: withTags, sort: 'asc' })
}

/** What was measured: the parameters, and the slot by the tag. */
async function readMeasured(): Promise<string[]> {
  return (await readBooks({ withTags: true })).map(({ url, metadata, tag }) => {
    const { tag: _, ...parameters } = metadata ?? {}
    return JSON.stringify([url, parameters, tag?.split('.')[3]])
  })
}

async function assertBooksAgree({ sql }: TestDatabase): Promise<void> {
  const [ours] = await sql<{ micros: string; ids: string }[]>`
    select sum(amount_micros) as micros, count(distinct service_id) as ids from charge`
  const books = await readBooks()
  assert.deepEqual(
    { micros: Number(ours?.micros), ids: Number(ours?.ids) },
    { micros: books.reduce((sum, row) => sum + (row.costMicros ?? 0), 0), ids: books.length },
  )
  assert.deepEqual(await readSpendDifferences(sql), [])
}

function assertNothingTwice(measured: readonly string[]): void {
  assert.deepEqual(
    measured.filter((one, place) => measured.indexOf(one) !== place),
    [],
  )
}

/** Without the time of a result that says none: then it is that of storing. */
async function readHistory({ sql }: TestDatabase): Promise<string[]> {
  const rows = await sql`
    select t.store, t.function, t.subject, r.slot, r.gap, case when cardinality(r.app_ids) > 0
      then r.captured_at end as captured_at,
      r.depth, r.results_count, r.reason, md5((
        select string_agg(a.app_id, ' ' order by u.rank) from unnest(r.app_ids) with ordinality u (id, rank)
          join app a on a.id = u.id
      )) as content
    from ranking r join target t on t.id = r.target_id
    union all
    select t.store, t.function, t.subject, s.slot, s.gap, s.captured_at, null, s.reviews_count, s.reason,
      s.rating::text
    from app_snapshot s join target t on t.id = s.target_id`
  return rows.map((row) => JSON.stringify(row)).sort()
}

async function sweep(db: Database): Promise<string[]> {
  const postIds: string[] = []
  await sweepPosts(db, async (_tx, ids) => void postIds.push(...ids))
  return postIds
}

async function recover(db: Database): Promise<RecoveredTasks> {
  const found = await recoverForgottenTasks(db, client, { ...RECOVER, signal: SIGNAL })
  // What was posted before the copy was made is overdue: hours have passed, which these tests do not wait
  // for.
  await db.sql`update task set ask_at = posted_at where state = 'posted'`
  await collect(db)
  return found
}

describe('a database that was restored from an older copy', () => {
  test('pays for nothing again: it has the books of the service, the history of the original', async () => {
    const original = await openTestDatabase()
    await watch(original)
    // With dumps, in the proofs, a month with a backup on day 20; else a week.
    const [backupDay, lastDay] = (await findPrograms(original)) === null ? [3, 7] : [20, 30]
    for (let day = 0; day < backupDay; day += 1) await liveDay(original)
    // The copy is made while some tasks are planned, and others are posted and not collected.
    const planned = await at(original, plan)
    await at(original, (db) => post(db, planned.slice(0, 1)))
    const restored = await copy(original)
    await at(original, async (db) => {
      await post(db, planned.slice(1))
      await collect(db)
    })
    presentMs += DAY_MS
    for (let day = backupDay + 1; day < lastDay; day += 1) await liveDay(original)
    await at(original, plan)

    await assert.rejects(
      at(restored, (db) => refuseRestored(db, client)),
      /is a copy of the one that has bought as \w{12}: .*storerank recover/,
    )
    const bought = (await readBooks()).length
    await at(restored, async (db) => post(db, await plan(db)))
    assert.equal((await readBooks()).length, bought, 'a database that is held posted')

    const found = await at(restored, recover)
    assert.ok(found.recovered > 5)
    assert.equal(found.duplicates + found.unreadable, 0)
    await assertBooksAgree(restored)
    assert.deepEqual(await readHistory(restored), await readHistory(original))
    assert.equal(await at(restored, (db) => readRestoreHold(db.sql)), null)

    await liveDay(restored)
    await liveDay(restored)
    assertNothingTwice(await readMeasured())
    await assertBooksAgree(restored)
    assert.equal(await at(restored, (db) => isChecked(db)), true)
  })

  test('may be ended in the middle of a recovery and recovered again', async () => {
    const original = await openTestDatabase()
    await watch(original)
    await liveDay(original)
    const restored = await copy(original)
    for (let day = 1; day < 6; day += 1) await liveDay(original)
    const stopping = new AbortController()
    const options = { ...RECOVER, signal: stopping.signal, onProgress: () => stopping.abort() }
    await assert.rejects(at(restored, (db) => recoverForgottenTasks(db, client, options)))
    assert.match((await at(restored, (db) => readRestoreHold(db.sql))) ?? '', /storerank recover/)
    await at(restored, recover)
    await assertBooksAgree(restored)
    assert.equal((await at(restored, recover)).recovered, 0)
    await liveDay(restored)
    assertNothingTwice(await readMeasured())
  })

  test('that works beside the original is found by the audit of the night, and posting stops', async () => {
    const original = await openTestDatabase()
    await watch(original)
    await liveDay(original)
    const beside = await copy(original)
    await liveDay(original)
    await at(beside, async (db) => {
      await recordCheck(db)
      assert.equal(await readRestoreHold(db.sql), null)
      const day = { from: new Date(presentMs - DAY_MS), to: new Date(presentMs) }
      await auditPosted(db, client, day, { overdueAfterMs: 60_000 })
      assert.match((await readRestoreHold(db.sql)) ?? '', /storerank recover/)
    })
  })

  test('that was copied within a server is told from the original, which goes on', async () => {
    const original = await openTestDatabase()
    await watch(original)
    await liveDay(original)
    assert.equal(await at(original, (db) => isChecked(db)), true)
    const restored = await copy(original)
    assert.equal(await at(restored, (db) => isChecked(db)), false)
    await original.sql`create table kept as select * from restore_check`
    await original.sql`delete from restore_check`
    await original.sql`insert into restore_check select * from kept`
    assert.equal(await at(original, (db) => isChecked(db)), false)
  })

  test('has no slot due any more that was bought, though a budget had cut it', async () => {
    const original = await openTestDatabase()
    await watch(original)
    const restored = await copy(original)
    await at(restored, async (db) => {
      await standApart(db)
      await db.begin((tx) => adoptInstallationId(tx, '0123456789ab'))
      await planDueTasks(db, { ...BUDGET, maxDayMicros: 1200 }, async () => {})
      assert.ok((await db.sql`select from due_slot where cut is not null`).count > 0)
    })
    await original.sql`update ledger set installation = '0123456789ab'`
    await at(original, async (db) => post(db, await plan(db)))
    await at(restored, async (db) => {
      await recover(db)
      assert.equal((await db.sql`select from due_slot where cut is not null`).count, 0)
      assert.deepEqual(await plan(db), [])
    })
    assertNothingTwice(await readMeasured())
  })

  test('takes a task that failed at the store and was posted again for what it is', async () => {
    const original = await openTestDatabase()
    await watch(original)
    const restored = await copy(original)
    await setFaults({ storeError: 1 })
    await at(original, async (db) => {
      await post(db, await plan(db))
      await collect(db)
      await setFaults({ storeError: 0 })
      const [again] = await db.sql<
        { id: string }[]
      >`select id from task where state = 'planned' and attempt = 2`
      assert.ok(again !== undefined)
      await endAttemptPauses(db.sql)
      await post(db, await sweep(db))
      await collect(db)
    })
    await at(restored, async (db) => {
      await standApart(db)
      const [own] = await original.sql<{ installation: string }[]>`select installation from ledger`
      await db.begin((tx) => adoptInstallationId(tx, own?.installation ?? ''))
      const found = await recover(db)
      assert.deepEqual([found.recovered, found.duplicates], [10, 0])
    })
    await assertBooksAgree(restored)
    assert.deepEqual(await readHistory(restored), await readHistory(original))
  })
})

/** The server of a copy of files has started since, and runners reach it elsewhere. */
async function copyFiles(original: TestDatabase): Promise<TestDatabase> {
  const target = await copy(original)
  await at(target, async (db) => {
    await recordCheck(db)
    await db.sql`
      update restore_check set server_started_at = server_started_at - interval '1 hour',
        places = '{db.example.com:5432/ranks}', written_by = pg_current_xact_id()::xid::text`
  })
  return target
}

describe('a copy beside its original, at the very instant at which it was made', () => {
  for (const [way, make] of Object.entries({ 'by a dump': copy, 'of the files': copyFiles })) {
    test(`posts nothing before a person has said what it is: one ${way}`, async () => {
      const original = await openTestDatabase()
      await watch(original)
      await liveDay(original)
      await at(original, plan)
      const beside = await make(original)
      const bought = (await readBooks()).length
      await at(beside, async (db) => {
        await post(db, await sweep(db))
        assert.match((await readRestoreHold(db.sql)) ?? '', /is a copy .*recover --apart` here/)
      })
      assert.equal((await readBooks()).length, bought, 'the copy has bought')
      await at(original, async (db) => post(db, await sweep(db)))
      assertNothingTwice(await readMeasured())

      await at(beside, async (db) => {
        await standApart(db)
        await refuseRestored(db, client)
        await post(db, await sweep(db))
      })
      const counts = new Map<string, number>()
      for (const one of await readMeasured()) counts.set(one, (counts.get(one) ?? 0) + 1)
      assert.equal(Math.max(...counts.values()), 2, 'the copy that stands apart buys for itself')
      await at(original, async (db) => {
        await auditPosted(db, client, { from: new Date(presentMs - DAY_MS), to: new Date(presentMs) }, RECOVER)
        assert.equal(await readRestoreHold(db.sql), null)
        assert.equal((await db.sql`select from charge where kind = 'duplicate'`).count, 0)
      })
    })
  }

  test('is no copy where its server has only started again, or is reached by another name too', async () => {
    const original = await openTestDatabase()
    await watch(original)
    await liveDay(original)
    await original.sql`
      update restore_check set server_started_at = server_started_at - interval '1 hour',
        written_by = pg_current_xact_id()::xid::text`
    await at(original, (db) => refuseRestored(db, client))
    await original.sql`update restore_check set places = '{db:5432/x}', written_by = pg_current_xact_id()::xid::text`
    await at(original, (db) => refuseRestored(db, client))
    const [check] = await original.sql<{ places: string[] }[]>`select places from restore_check`
    assert.equal(check?.places.length, 2)
  })
})

describe('an empty database', () => {
  test('asks what it is, takes the place of the one that bought, and gets what was bought', async () => {
    const original = await openTestDatabase()
    await original.sql`update ledger set installation = '0123456789ab'`
    await watch(original)
    for (let day = 0; day < 3; day += 1) await liveDay(original)
    const empty = await openTestDatabase()
    await assert.rejects(
      at(empty, (db) => refuseRestored(db, client)),
      /another storerank database, 0123456789ab \(\d+ tasks seen, the last posted at .*stands in.*--apart/,
    )
    await at(empty, async (db) => {
      const found = await readInstallations(client, {
        from: new Date(presentMs - 20 * DAY_MS),
        to: new Date(presentMs),
      })
      assert.deepEqual(
        found.map((one) => one.installation),
        ['0123456789ab'],
      )
      await db.begin((tx) => adoptInstallationId(tx, '0123456789ab'))
      await recover(db)
    })
    await assertBooksAgree(empty)
    assert.deepEqual(await readHistory(empty), await readHistory(original))
    await watch(empty)
    await liveDay(empty)
    assertNothingTwice(await readMeasured())
    await assertBooksAgree(empty)
  })

  test('that stands apart leaves the tasks of the others alone', async () => {
    const original = await openTestDatabase()
    await original.sql`update ledger set installation = '0123456789ab'`
    await watch(original)
    await liveDay(original)
    const other = await openTestDatabase()
    await at(other, async (db) => {
      await checkForRestore(db, client)
      assert.match((await readRestoreHold(db.sql)) ?? '', /--apart/)
      await standApart(db)
      await refuseRestored(db, client)
      assert.equal((await recover(db)).recovered, 0)
      assert.equal((await db.sql`select from charge`).count, 0)
    })
  })
})

test('the first post of a database whose answer was lost is no other copy at work', async (t) => {
  const database = await openTestDatabase()
  await watch(database)
  const proxy = await startLossyProxy(t, sandbox.url)
  proxy.lose = 'answer'
  await at(database, async (db) => post(db, await plan(db), proxy.client))
  const bought = await database.sql`select from task where state = 'posting'`
  assert.ok(bought.count > 0)
  assert.equal((await database.sql`select from charge`).count, 0)
  await database.sql`delete from restore_check`
  await at(database, (db) => refuseRestored(db, client))
  // A copy from before that post knows nothing of its tasks.
  await database.sql`delete from restore_check`
  await database.sql`delete from task`
  await assert.rejects(
    at(database, (db) => refuseRestored(db, client)),
    /nothing is paid for twice/,
  )
})

async function setFaults(faults: object): Promise<void> {
  const response = await fetch(`${sandbox.url}/faults`, {
    method: 'PUT',
    headers: { authorization: `Basic ${btoa('sandbox:sandbox')}`, 'content-type': 'application/json' },
    body: JSON.stringify(faults),
  })
  assert.equal(response.status, 200)
}
