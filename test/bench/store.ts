/**
 * How fast results are stored, and how much room they take: `storeFetched` and the whole way from the service, beside one
 * row per rank inserted by the ORM, in one run on one PostgreSQL. Figures of different machines do not compare, the
 * ratios do. Bounded: each part stops after its time.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { integer, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/postgres-js'
import pLimit from 'p-limit'
import { pino } from 'pino'
import postgres from 'postgres'
import { handOutReady } from '../../src/collect/enqueue-results.ts'
import { type Fetched, fetchResults } from '../../src/collect/fetch.ts'
import type { Database } from '../../src/db/database.ts'
import { createDictionary } from '../../src/history/dictionary.ts'
import { makePartitionsAhead } from '../../src/history/partitions.ts'
import { storeFetched } from '../../src/history/store.ts'
import type { FetchItem } from '../../src/ledger/hand-out.ts'
import { planDueTasks } from '../../src/plan/plan.ts'
import { workPost } from '../../src/post/work-post.ts'
import { createClient } from '../../src/service/client.ts'
import type { SearchItem } from '../../src/service/results.ts'
import { withDatabase } from './database.ts'

const RESULTS_PER_BATCH = 100
const APPS_PER_RESULT = 100
const APPS = 5_000
const STORE_MS = 5_000
const BASELINE_MS = 5_000
/** As a runner works: so many fetch jobs, and so many requests, at once. */
const FETCH_JOBS_AT_ONCE = 4
const REQUESTS_AT_ONCE = 30
const BOUGHT = 2_000
const START_LIMIT_MS = 10_000
const ZERO_SLOT = Date.parse('2026-01-01T00:00:00Z')
const DAY_MS = 86_400_000
const COLLECT_SETTINGS = { overdueAfterMs: 3_600_000 }

interface Measured {
  readonly results: number
  readonly seconds: number
}

const secondsSince = (startedMs: number) => (performance.now() - startedMs) / 1000
const perSecond = ({ results, seconds }: Measured) => Math.round(results / seconds)
const print = (line: string) => process.stdout.write(`${line}\n`)

async function prepareApps(db: Database): Promise<void> {
  await db.sql`insert into project (name) values ('bench')`
  await db.sql`
    insert into app (store, app_id, title)
    select 'ios_store', (1000000000 + n)::text, 'The title of app ' || n from generate_series(0, ${APPS - 1}) n`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'keyword ' || n, 2840, 'en' from generate_series(1, ${RESULTS_PER_BATCH}) n`
  await makePartitionsAhead(db, 1)
}

/** Batch `day`: one slot of every target, posted and paid for. */
async function prepareTasks(db: Database, day: number): Promise<Fetched[]> {
  const slot = new Date(ZERO_SLOT + day * DAY_MS)
  const tasks = await db.sql<{ serviceId: string }[]>`
    with posted as (
      insert into task (target_id, slot, slot_ends_at, state, depth, priority, estimate_micros, payers, service_id)
      select id, ${slot}, ${new Date(slot.getTime() + DAY_MS)}, 'posted', 100, 1, 1200,
        array(select p.id from project p where p.name = 'bench'), gen_random_uuid()::text
      from target where subject like 'keyword %'
      returning id, target_id, slot, service_id
    ),
    charged as (
      insert into charge (kind, project_id, amount_micros, target_id, slot, service_id)
      select 'charge', (select id from project where name = 'bench'), 1200, target_id, slot, service_id from posted
    )
    select service_id as "serviceId" from posted`
  return tasks.map(({ serviceId }, index) => toResult(serviceId, index, day))
}

/** Neighbours change places from day to day, as ranks do. */
function toResult(serviceId: string, keyword: number, day: number): Fetched {
  const items = Array.from({ length: APPS_PER_RESULT }, (_, place): SearchItem => {
    const app = (keyword * 37 + (place ^ (day & 7))) % APPS
    const appId = String(1_000_000_000 + app)
    const title = `The title of app ${app}`
    return { rank: place + 1, absolute: place + 1, appId, title, developer: null, icon: null, url: null }
  })
  return {
    kind: 'ranking',
    item: {
      serviceId,
      path: null,
      kind: 'advanced',
      html: false,
      htmlPath: null,
      store: 'ios_store',
      function: 'app_searches',
      depth: 100,
    },
    statusCode: 20000,
    unitsPosted: 1,
    unitsReturned: 1,
    html: null,
    incomplete: null,
    problem: null,
    search: {
      keyword: null,
      checkUrl: null,
      datetime: new Date(),
      resultsCount: 250,
      itemsCount: 100,
      refused: [],
      items,
    },
  }
}

async function measureStore(db: Database): Promise<Measured> {
  const deps = { db, dictionary: createDictionary(db), maxAttempts: 3 }
  let results = 0
  let ms = 0
  await storeFetched(deps, await prepareTasks(db, 0), async () => {})
  for (let day = 1; ms < STORE_MS && day < 2000; day += 1) {
    const batch = await prepareTasks(db, day)
    const startedMs = performance.now()
    results += (await storeFetched(deps, batch, async () => {})).stored
    ms += performance.now() - startedMs
  }
  return { results, seconds: ms / 1000 }
}

const rankRow = pgTable(
  'rank_row',
  {
    store: text().notNull(),
    keyword: text().notNull(),
    appId: text('app_id').notNull(),
    slot: timestamp({ withTimezone: true }).notNull(),
    rank: integer().notNull(),
    absolute: integer().notNull(),
  },
  (row) => [primaryKey({ columns: [row.store, row.keyword, row.appId, row.slot] })],
)

/** One statement a result, one transaction a batch: no task, no money, no dictionary. */
async function measureBaseline(db: Database): Promise<Measured> {
  await db.sql`
    create table rank_row (store text not null, keyword text not null, app_id text not null, slot timestamptz not null,
      rank integer not null, absolute integer not null, primary key (store, keyword, app_id, slot))`
  const client = postgres(db.url, { max: 1 })
  const orm = drizzle(client)
  const startedMs = performance.now()
  let results = 0
  for (let day = 0; performance.now() - startedMs < BASELINE_MS; day += 1) {
    const batch = Array.from({ length: RESULTS_PER_BATCH }, (_, keyword) => toResult('', keyword, day))
    await orm.transaction(async (tx) => {
      for (const [index, one] of batch.entries()) {
        if (one.kind !== 'ranking') continue
        const slot = new Date(ZERO_SLOT + day * DAY_MS)
        const rows = one.search?.items.map(({ appId, rank, absolute }) => ({
          store: 'ios_store',
          keyword: `keyword ${index}`,
          appId,
          slot,
          rank,
          absolute,
        }))
        await tx.insert(rankRow).values(rows ?? [])
      }
    })
    results += batch.length
  }
  const seconds = secondsSince(startedMs)
  await client.end()
  return { results, seconds }
}

/** Bytes on disk, indexes and all, for each rank of each app. */
async function measureBytes(db: Database, of: 'ranking' | 'rank_row'): Promise<number> {
  const observations = of === 'ranking' ? db.sql`sum(cardinality(app_ids))` : db.sql`count(*)`
  const [row] = await db.sql<{ bytes: number }[]>`
    select (select sum(pg_total_relation_size(relid))
        from (select relid from pg_partition_tree(${of}::regclass) union select ${of}::regclass) as part)::float8
      / (select ${observations} from ${db.sql(of)})::float8 as bytes`
  return row?.bytes ?? Number.NaN
}

/** The whole way, as a runner goes it, against a sandbox in another process on the same machine. */
async function measureWhole(db: Database): Promise<Measured> {
  return withSandbox(async (baseUrl) => {
    const client = createClient({ baseUrl, login: 'sandbox', password: 'sandbox' })
    const dictionary = createDictionary(db)
    await buy(db, client)
    const lists: FetchItem[] = []
    const dependencies = { db, dictionary, maxAttempts: 3 }
    const limit = pLimit(FETCH_JOBS_AT_ONCE)
    const startedMs = performance.now()
    let results = 0
    while (results < BOUGHT) {
      lists.length = 0
      await handOutReady(db, client, COLLECT_SETTINGS, async (_tx, items) => {
        lists.push(...items)
      })
      if (lists.length === 0) throw new Error(`Only ${results} of ${BOUGHT} results were ready.`)
      const jobs = Array.from({ length: Math.ceil(lists.length / RESULTS_PER_BATCH) }, (_, job) =>
        lists.slice(job * RESULTS_PER_BATCH, (job + 1) * RESULTS_PER_BATCH),
      )
      const stored = await limit.map(jobs, async (items) => {
        const at = Math.floor(REQUESTS_AT_ONCE / FETCH_JOBS_AT_ONCE)
        const fetched = await fetchResults(client, items, at, AbortSignal.timeout(60_000))
        return storeFetched(dependencies, fetched, async () => {})
      })
      results += stored.reduce((sum, one) => sum + one.stored, 0)
    }
    const seconds = secondsSince(startedMs)
    await client.close()
    return { results, seconds }
  })
}

async function buy(db: Database, client: ReturnType<typeof createClient>): Promise<void> {
  await db.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'bench', 'ios_store', 'yoga ' || n, 2840, 'en' from generate_series(1, ${BOUGHT}) n`
  // What autovacuum does in time; this server is a few seconds old.
  await db.sql`analyze`
  const budget = { maxDayMicros: 1_000_000_000, maxMonthMicros: null, maxRunMicros: null }
  const posts: string[] = []
  await planDueTasks(db, budget, async (_tx, ids) => {
    posts.push(...ids)
  })
  const window = { callsPerMinute: 100_000, maxConcurrentRequests: REQUESTS_AT_ONCE, runner: 'bench' }
  const deps = {
    db,
    client,
    budget,
    window,
    log: pino({ level: 'silent' }),
    ...COLLECT_SETTINGS,
    postbackUrl: null,
  }
  for (const post of posts) await workPost(deps, post, AbortSignal.timeout(60_000))
}

async function withSandbox<T>(work: (url: string) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), 'storerank-bench-'))
  const announceFile = join(home, 'sandbox.json')
  const main = join(import.meta.dirname, '../../src/sandbox/main.ts')
  const sandbox = spawn(process.execPath, [main], { stdio: ['pipe', 'inherit', 'inherit'] })
  sandbox.stdin.end(
    JSON.stringify({ announceFile, readyMs: 0, callsPerMinute: 1_000_000, readyListsPerMinute: 1_000 }),
  )
  try {
    return await work(await readUrl(announceFile))
  } finally {
    sandbox.kill()
    await rm(home, { recursive: true, force: true })
  }
}

async function readUrl(announceFile: string): Promise<string> {
  const deadlineMs = performance.now() + START_LIMIT_MS
  for (;;) {
    const announced = await readFile(announceFile, 'utf8').catch(() => null)
    if (announced !== null) return JSON.parse(announced).url
    if (performance.now() > deadlineMs) throw new Error('The sandbox did not start.')
    await sleep(50)
  }
}

await withDatabase(async (db) => {
  await prepareApps(db)
  const stored = await measureStore(db)
  const storedBytes = await measureBytes(db, 'ranking')
  const baseline = await measureBaseline(db)
  const baselineBytes = await measureBytes(db, 'rank_row')
  const whole = await measureWhole(db)
  const ratio = perSecond(stored) / perSecond(baseline)
  print(
    `one array per result, storeFetched:         ${perSecond(stored)} results/s, ${ratio.toFixed(1)} times the baseline`,
  )
  print(`one row per rank, ORM insert (baseline):    ${perSecond(baseline)} results/s`)
  print(
    `bytes an observation, array against row:    ${storedBytes.toFixed(1)} against ${baselineBytes.toFixed(1)}`,
  )
  print(`fetched, parsed and stored, 1 process:      ${perSecond(whole)} results/s`)
})
