/** How fast results are stored, and how much room they take: `storeFetched` in batches as a fetch job has. */
import type { Fetched } from '../../src/collect/fetch.ts'
import type { Database } from '../../src/db/database.ts'
import { createDictionary } from '../../src/history/dictionary.ts'
import { makePartitionsAhead } from '../../src/history/retention.ts'
import { storeFetched } from '../../src/history/store.ts'
import type { ListedNumbers, RankedApp } from '../../src/service/search-result.ts'
import { TIMINGS } from '../../src/timings.ts'
import { atMost, type Measured, plain } from './bars.ts'

const BATCH = TIMINGS.resultsPerFetchJob
const APPS_PER_RESULT = 100
const APPS = 5_000

async function prepareTargets(db: Database): Promise<void> {
  await db.sql`insert into project (name) values ('bench')`
  await db.sql`
    insert into app (store, app_id, title)
    select 'ios_store', (1000000000 + n)::text, 'The title of app ' || n
      from generate_series(0, ${APPS - 1}::int) n`
  await db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', 'keyword ' || n, 2840, 'en' from generate_series(1, ${BATCH}::int) n`
}

/** One slot of every target, posted and paid for. */
async function prepareBatch(db: Database, day: number): Promise<Fetched[]> {
  const tasks = await db.sql<{ serviceId: string }[]>`
    with posted as (
      insert into task (target_id, slot, slot_ends_at, state, depth, priority, estimate_micros, payers,
        service_id)
      select t.id, s.slot, s.slot + interval '1 day', 'posted', 100, 1, 1200,
        array(select id from project), gen_random_uuid()::text
      from target t cross join (
        select date_trunc('day', now(), 'UTC') + make_interval(days => ${day}::int) as slot) s
      returning target_id, slot, service_id
    ),
    charged as (
      insert into charge (kind, project_id, amount_micros, target_id, slot, service_id)
      select 'charge', (select id from project), 1200, target_id, slot, service_id from posted
    )
    select service_id as "serviceId" from posted`
  return tasks.map(({ serviceId }, keyword) => toResult(serviceId, keyword, day))
}

/**
 * 10 to a million votes, evenly over the orders of magnitude, which grow by 0.05 % a day on average; one in
 * 25 ratings moves by a hundredth, one app in twelve is paid. So a little over half of the apps change a day.
 */
function numbersOf(app: number, day: number): ListedNumbers {
  const first = 10 ** (1 + (5 * app) / APPS)
  const votes = Math.floor(first * (1 + (0.001 * day * ((app * 7919) % 1000)) / 1000))
  const rating = 300 + ((app + Math.floor((app + day) / 25)) % 200)
  return { votes, rating, priceMicros: app % 12 === 0 ? 2_990_000 : 0, currency: 'USD' }
}

/** Neighbours change places from day to day, as ranks do. */
function toResult(serviceId: string, keyword: number, day: number): Fetched {
  const apps = Array.from({ length: APPS_PER_RESULT }, (_, place): RankedApp => {
    const app = (keyword * 37 + (place ^ (day & 7))) % APPS
    const shown = { title: `The title of app ${app}`, developer: null, icon: null, url: null }
    return { appId: String(1_000_000_000 + app), ...shown, numbers: numbersOf(app, day) }
  })
  const asked = { kind: 'advanced', html: false, htmlPath: null, store: 'ios_store' } as const
  return {
    kind: 'ranking',
    item: { serviceId, path: null, ...asked, function: 'app_searches', depth: APPS_PER_RESULT },
    statusCode: 20000,
    resultsReturned: APPS_PER_RESULT,
    html: null,
    incomplete: null,
    problem: null,
    search: {
      keyword: null,
      seDomain: null,
      locationCode: 2840,
      languageCode: null,
      checkUrl: `https://apps.example.com/us/search?term=keyword%20${keyword}&country=us&language=en`,
      datetime: new Date(Date.now() + day * 86_400_000),
      resultsCount: 250,
      itemsCount: APPS_PER_RESULT,
      refused: [],
      shortfall: null,
      apps,
      absolute: null,
      paid: keyword % 3 === 0 ? apps.slice(20, 21).map((app) => ({ place: 1, app })) : [],
    },
  }
}

/** Bytes on disk, indexes and all, for each rank of each app. */
async function readBytes(db: Database): Promise<Readonly<Record<'history' | 'charges' | 'numbers', number>>> {
  const [row] = await db.sql<{ history: number; charges: number; numbers: number }[]>`
    select sum(pg_total_relation_size(relid))::float8 / o.count as history,
      pg_total_relation_size('charge')::float8 / o.count as charges,
      pg_total_relation_size('app_numbers')::float8 / o.count as numbers
    from pg_partition_tree('ranking')
    cross join (select sum(cardinality(app_ids))::float8 as count from ranking) o group by o.count`
  if (row === undefined) throw new Error('Nothing was stored.')
  return row
}

export async function measureStored(db: Database, results: number): Promise<Measured> {
  const days = Math.ceil(results / BATCH)
  await prepareTargets(db)
  await makePartitionsAhead(db, 2 + Math.ceil(days / 28))
  const deps = { db, dictionary: createDictionary(db), maxAttempts: 3 }
  let [stored, ms] = [0, 0]
  for (let day = 0; day < days; day += 1) {
    const batch = await prepareBatch(db, day)
    const startedMs = performance.now()
    stored += (await storeFetched(deps, batch, async () => {})).stored
    ms += performance.now() - startedMs
  }
  const { history, charges, numbers } = await readBytes(db)
  return {
    'results a second': plain((stored * 1000) / ms, '/s'),
    'bytes an observation: the history': plain(history),
    'bytes an observation: the history and its charges': atMost(9, history + charges),
    'bytes an observation: with the numbers of apps': atMost(10, history + charges + numbers),
  }
}
