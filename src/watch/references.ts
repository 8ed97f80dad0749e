/**
 * The service's reference lists, kept for watches that name their location in words, and for finding mistakes
 * in watches.
 */
import pLimit from 'p-limit'
import type { Database } from '../db/database.ts'
import { ROWS_AT_ONCE } from '../db/pieces.ts'
import { type Statement, sql } from '../db/sql.ts'
import { AccountError, StorerankError } from '../errors.ts'
import { isNotOffered } from '../service/answer.ts'
import type { AppDataClient } from '../service/client.ts'
import type { Store } from '../service/functions.ts'

const STORES: readonly Store[] = ['ios_store', 'android_store']
const NONE = { locations: 0, languages: 0, categories: 0, listingCategories: 0 }

export interface LoadedReferences extends Readonly<typeof NONE> {
  /** A sentence for each list that could not be had. */
  readonly missing: readonly string[]
}

interface List {
  readonly count: keyof typeof NONE
  readonly table: 'location' | 'language' | 'category'
  readonly fetched: Promise<readonly object[]>
  readonly replaced: Statement
  /** The service as it is specified does not have it: it would be missed, and asked for, every day. */
  readonly mayLack?: boolean
}

/**
 * Fetches every list (free of charge), each by itself, replaces ours, and opens the watches whose location
 * became known, while a slow list may still be on its way. A list that cannot be had leaves ours as it is:
 * watches that name codes need none.
 * @throws AccountError when the service refuses the account; the error of the first list when not one can be
 *   had
 */
export async function loadReferences(db: Database, client: AppDataClient): Promise<LoadedReferences> {
  const loaded = { ...NONE }
  const oneByOne = pLimit(1)
  const load = async ({ count, table, fetched, replaced }: List) => {
    const rows = await fetched
    // A list that was there does not vanish because the service had a bad moment.
    if (rows.length > 0) await replaceRows(db, table, rows, replaced)
    loaded[count] += rows.length
    if (table === 'location') await oneByOne(() => openMissingPeriods(db))
  }
  const lists = STORES.flatMap((store) => fetchOfStore(client, store))
  const errors: StorerankError[] = []
  const missing: string[] = []
  for (const [index, result] of (await Promise.allSettled(lists.map(load))).entries()) {
    if (result.status === 'fulfilled') continue
    const error: unknown = result.reason
    if (!(error instanceof StorerankError) || error instanceof AccountError) throw error
    errors.push(error)
    if (!lists[index]?.mayLack || !isNotOffered(error)) missing.push(error.message)
  }
  if (errors.length === lists.length) throw errors[0]
  return { ...loaded, missing }
}

function fetchOfStore(client: AppDataClient, store: Store): List[] {
  const locations = client.listLocations(store).then((rows) =>
    rows.map((row) => ({
      ...{ store, code: row.locationCode, name: row.locationName, parent_name: row.locationNameParent },
      ...{ country_iso_code: row.countryIsoCode, type: row.locationType },
    })),
  )
  const languages = client
    .listLanguages(store)
    .then((rows) => rows.map((row) => ({ store, code: row.languageCode, name: row.languageName })))
  const charts = client
    .listCategories(store)
    .then((names) => names.map((name) => ({ store, kind: 'chart', name })))
  const listings = client
    .listListingCategories(store)
    .then((rows) => rows.map((row) => ({ store, kind: 'listing', name: row.category, listings: row.count })))
  const ofStore = sql`store = ${store}`
  const ofKind = (kind: string) => sql`store = ${store} and kind = ${kind}`
  const mayLack = store === 'ios_store'
  return [
    { count: 'locations', table: 'location', fetched: locations, replaced: ofStore },
    { count: 'languages', table: 'language', fetched: languages, replaced: ofStore },
    { count: 'categories', table: 'category', fetched: charts, replaced: ofKind('chart') },
    {
      count: 'listingCategories',
      table: 'category',
      fetched: listings,
      replaced: ofKind('listing'),
      mayLack,
    },
  ]
}

/** The android_store has about 100,000 places, in 15 MB: they are written in pieces. */
async function replaceRows(
  db: Pick<Database, 'begin'>,
  name: string,
  rows: readonly object[],
  replaced: Statement,
): Promise<void> {
  const table = sql.identifier(name)
  await db.begin(async (tx) => {
    await tx`delete from ${table} where ${replaced}`
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
      const some = JSON.stringify(rows.slice(from, from + ROWS_AT_ONCE))
      await tx`
        insert into ${table} select * from json_populate_recordset(null::${table}, ${some}::text::json)
        on conflict do nothing`
    }
  })
}

/**
 * Opens the periods of watches that ask for something and have none: their location became known, or the
 * watch that kept them from being followed has ended in a transaction that did not see them.
 */
export async function openMissingPeriods({ sql }: Pick<Database, 'sql'>): Promise<void> {
  await sql`select start_missing_watch_periods()`
}

/** A list that could not be had is asked for again on the next day. */
const MISSING_FRESH_DAYS = 1

/** Whether the lists have been loaded within `days`. */
export async function areReferencesFresh(db: Database, days: number): Promise<boolean> {
  const [row] = await db.sql<{ fresh: boolean }[]>`
    select exists (select from job_run where job = 'references' and state = 'done'
      and ended_at > clock_timestamp() - make_interval(days =>
        case when jsonb_array_length(coalesce(summary->'missing', '[]')) = 0 then ${days}::int
          else ${MISSING_FRESH_DAYS} end)
    ) as fresh`
  return row?.fresh ?? false
}
