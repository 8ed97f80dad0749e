/** Databases that buy at one sandbox, day by day, and copies of them. */
import assert from 'node:assert/strict'
import { after, afterEach, beforeEach } from 'node:test'
import { pino } from 'pino'
import { handOutOverdue, handOutReady } from '../../src/collect/enqueue-results.ts'
import { fetchResults } from '../../src/collect/fetch.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { closeEndedSlots } from '../../src/history/close-slots.ts'
import { createDictionary } from '../../src/history/dictionary.ts'
import { storeFetched } from '../../src/history/store.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import { planDueTasks } from '../../src/plan/plan.ts'
import { type RecoveredTasks, recoverForgottenTasks } from '../../src/post/recover.ts'
import type { FaultSettingsInput } from '../../src/sandbox/faults.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { AppDataClient } from '../../src/service/client.ts'
import type { TaskIdRow } from '../../src/service/task-ids.ts'
import { restoreCopy } from '../support/copy.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { putFaults } from '../support/faults.ts'
import { readSpendDifferences, rememberPrices } from '../support/ledger.ts'
import { workUntilSent } from '../support/stages.ts'
import { LOGIN } from '../support/world.ts'
import { sweep as sweepPlanned } from './posting.ts'

export const DAY_MS = 86_400_000
/** The list has tags for a month. */
const MONTH_MS = 27 * DAY_MS
const BEGIN_MS = Date.parse('2026-03-02T06:00:00Z')
export const BUDGET = { maxDayMicros: 1_000_000_000, maxMonthMicros: null, maxRunMicros: null }
export const SIGNAL = new AbortController().signal
/** Nothing that another copy sent is on its way here. */
export const RECOVER = { quietMs: 0, overdueAfterMs: 60_000 }

/** For a file of tests: each of its tests has a sandbox of its own, at the same first morning. */
export function useService() {
  let presentMs = BEGIN_MS
  let sandbox: Sandbox
  let client: AppDataClient
  const opened: TestDatabase[] = []

  beforeEach(async () => {
    presentMs = BEGIN_MS
    const limits = { readyListsPerMinute: 1000, idListsPerMinute: 1000 }
    sandbox = await startSandbox({ now: () => presentMs, readyMs: 0, ...limits })
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
    const told = { log: pino({ level: 'silent' }), overdueAfterMs: 60_000, postbackUrl: null }
    const deps = { db, client: through, window, budget: BUDGET, ...told }
    for (const postId of postIds) await workUntilSent(deps, postId, SIGNAL)
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

  const sweep = async (db: Database) => (await sweepPlanned({ db })).enqueued

  async function recover(db: Database): Promise<RecoveredTasks> {
    const found = await recoverForgottenTasks(db, client, { ...RECOVER, signal: SIGNAL })
    // What was posted before the copy was made is overdue: hours have passed, which these tests do not wait
    // for.
    await db.sql`update task set ask_at = posted_at where state = 'posted'`
    await collect(db)
    return found
  }

  return {
    openTestDatabase,
    copy,
    at,
    plan,
    post,
    collect,
    liveDay,
    watch,
    readBooks,
    readMeasured,
    assertBooksAgree,
    assertNothingTwice,
    readHistory,
    sweep,
    recover,
    setFaults: (faults: FaultSettingsInput) => putFaults(sandbox.url, faults),
    get client() {
      return client
    },
    get sandbox() {
      return sandbox
    },
    get presentMs() {
      return presentMs
    },
    passDay: () => {
      presentMs += DAY_MS
    },
  }
}
