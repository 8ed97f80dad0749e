/**
 * How fast results are stored, and how much room they take: `storeFetched` beside one row per rank inserted
 * by the ORM, in one run on one PostgreSQL. Figures of different machines do not compare, the ratios do.
 * Bounded: each part stops after its time.
 */
import { integer, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import type { Fetched } from '../../src/collect/fetch.ts'
import type { Database } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { createDictionary } from '../../src/history/dictionary.ts'
import { makePartitionsAhead } from '../../src/history/partitions.ts'
import { storeFetched } from '../../src/history/store.ts'
import type { SearchItem } from '../../src/service/results.ts'
import { TIMINGS } from '../../src/timings.ts'
import { printBars } from './bars.ts'
import { withDatabase } from './database.ts'

/** As a fetch job has. */
const RESULTS_PER_BATCH = TIMINGS.resultsPerFetchJob
const APPS_PER_RESULT = 100
const APPS = 5_000
const STORE_MS = 5_000
const BASELINE_MS = 5_000
const ZERO_SLOT = Date.parse('2026-01-01T00:00:00Z')
const DAY_MS = 86_400_000

interface Measured {
  readonly results: number
  readonly seconds: number
}

const secondsSince = (startedMs: number) => (performance.now() - startedMs) / 1000
const perSecond = ({ results, seconds }: Measured) => Math.round(results / seconds)

async function prepareApps(db: Database): Promise<void> {
  await db.sql`insert into project (name) values ('bench')`
  await db.sql`
    insert into app (store, app_id, title)
    select 'ios_store', (1000000000 + n)::text, 'The title of app ' || n
      from generate_series(0, ${APPS - 1}) n`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'keyword ' || n, 2840, 'en'
      from generate_series(1, ${RESULTS_PER_BATCH}) n`
  await makePartitionsAhead(db, 1)
}

/** Batch `day`: one slot of every target, posted and paid for. */
async function prepareTasks(db: Database, day: number): Promise<Fetched[]> {
  const slot = new Date(ZERO_SLOT + day * DAY_MS)
  const tasks = await db.sql<{ serviceId: string }[]>`
    with posted as (
      insert into task (target_id, slot, slot_ends_at, state, depth, priority, estimate_micros, payers,
        service_id)
      select id, ${slot}, ${new Date(slot.getTime() + DAY_MS)}, 'posted', 100, 1, 1200,
        array(select p.id from project p where p.name = 'bench'), gen_random_uuid()::text
      from target where subject like 'keyword %'
      returning id, target_id, slot, service_id
    ),
    charged as (
      insert into charge (kind, project_id, amount_micros, target_id, slot, service_id)
      select 'charge', (select id from project where name = 'bench'), 1200, target_id, slot, service_id
        from posted
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
    resultsReturned: 100,
    html: null,
    incomplete: null,
    problem: null,
    search: {
      keyword: null,
      seDomain: null,
      locationCode: null,
      languageCode: null,
      checkUrl: `https://apps.example.com/us/search?term=keyword%20${keyword}&country=us&language=en`,
      datetime: new Date(),
      resultsCount: 250,
      itemsCount: 100,
      refused: [],
      shortfall: null,
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
    create table rank_row (store text not null, keyword text not null, app_id text not null,
      slot timestamptz not null,
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
async function measureBytes(
  db: Database,
  of: 'ranking' | 'charge' | 'rank_row',
  observed: 'ranking' | 'rank_row',
): Promise<number> {
  const observations = observed === 'ranking' ? sql`sum(cardinality(app_ids))` : sql`count(*)`
  const [row] = await db.sql<{ bytes: number }[]>`
    select (select sum(pg_total_relation_size(relid))
        from (select relid from pg_partition_tree(${of}::regclass) union
          select ${of}::regclass) as part)::float8
      / (select ${observations} from ${sql.identifier(observed)})::float8 as bytes`
  return row?.bytes ?? Number.NaN
}

await withDatabase(async (db) => {
  await prepareApps(db)
  const stored = await measureStore(db)
  const storedBytes = await measureBytes(db, 'ranking', 'ranking')
  const chargeBytes = await measureBytes(db, 'charge', 'ranking')
  const baseline = await measureBaseline(db)
  const baselineBytes = await measureBytes(db, 'rank_row', 'rank_row')
  const ratio = perSecond(stored) / perSecond(baseline)
  printBars('storing results of 100 apps', [
    { what: 'results a second: an array each, by storeFetched', value: perSecond(stored), unit: '' },
    { what: 'results a second: a row for each rank, by the ORM', value: perSecond(baseline), unit: '' },
    { what: 'the one against the other', value: ratio, unit: '×' },
    { what: 'bytes an observation: the history', value: storedBytes, unit: '' },
    {
      what: 'bytes an observation: the history and its charges',
      value: storedBytes + chargeBytes,
      unit: '',
      atMost: 9,
    },
    { what: 'bytes an observation: a row for each rank', value: baselineBytes, unit: '' },
  ])
})
