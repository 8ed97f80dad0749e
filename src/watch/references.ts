/**
 * The service's reference lists, kept for watches that name their location in words, and for finding mistakes
 * in watches.
 */
import type { Database } from '../db/database.ts'
import { ROWS_AT_ONCE } from '../db/pieces.ts'
import { sql } from '../db/sql.ts'
import { AccountError, StorerankError } from '../errors.ts'
import { isNotOffered } from '../service/answer.ts'
import type { AppDataClient } from '../service/client.ts'
import type { Store } from '../service/functions.ts'

const STORES: readonly Store[] = ['ios_store', 'android_store']
const NONE = { locations: 0, languages: 0, categories: 0, listingCategories: 0 }

interface List {
  readonly count: keyof typeof NONE
  readonly table: 'location' | 'language' | 'category'
  readonly store: Store
  /** Of categories. */
  readonly kind?: 'chart' | 'listing'
  readonly fetched: Promise<readonly object[]>
}

/**
 * Fetches every list (free of charge), each by itself, replaces ours, and opens the watches whose location
 * became known, while a slow list may still be on its way. A list that cannot be had leaves ours as it is:
 * watches that name codes need none.
 * @returns how many there are, and a sentence for each list that could not be had
 * @throws AccountError when the service refuses the account; the error of the first list when not one can be
 *   had
 */
export async function loadReferences(db: Database, client: AppDataClient) {
  const loaded = { ...NONE }
  const load = async (list: List) => {
    const rows = await list.fetched
    // A list that was there does not vanish because the service had a bad moment.
    if (rows.length > 0) await replaceRows(db, list, rows)
    loaded[list.count] += rows.length
    if (list.table === 'location') await openMissingPeriods(db)
  }
  const lists = STORES.flatMap((store) => fetchOfStore(client, store))
  const errors: StorerankError[] = []
  const missing: string[] = []
  for (const [index, result] of (await Promise.allSettled(lists.map(load))).entries()) {
    if (result.status === 'fulfilled') continue
    const error: unknown = result.reason
    if (!(error instanceof StorerankError) || error instanceof AccountError) throw error
    errors.push(error)
    // The service as it is specified does not have it: it would be missed, and asked for, every day.
    const mayLack = lists[index]?.kind === 'listing' && lists[index].store === 'ios_store'
    if (!mayLack || !isNotOffered(error)) missing.push(error.message)
  }
  if (errors.length === lists.length) throw errors[0]
  return { ...loaded, missing }
}

function fetchOfStore(client: AppDataClient, store: Store): List[] {
  const locations = client.listLocations(store).then((rows) =>
    rows.map((row) => ({
      ...{ code: row.locationCode, name: row.locationName, parent_name: row.locationNameParent },
      ...{ country_iso_code: row.countryIsoCode, type: row.locationType },
    })),
  )
  const languages = client
    .listLanguages(store)
    .then((rows) => rows.map((row) => ({ code: row.languageCode, name: row.languageName })))
  const charts = client.listCategories(store).then((names) => names.map((name) => ({ name })))
  const listings = client
    .listListingCategories(store)
    .then((rows) => rows.map((row) => ({ name: row.category, listings: row.count })))
  return [
    { count: 'locations', table: 'location', store, fetched: locations },
    { count: 'languages', table: 'language', store, fetched: languages },
    { count: 'categories', table: 'category', store, kind: 'chart', fetched: charts },
    { count: 'listingCategories', table: 'category', store, kind: 'listing', fetched: listings },
  ]
}

/** The android_store has about 100,000 places, in 15 MB: they are written in pieces. */
async function replaceRows({ begin }: Database, { table, store, kind }: List, rows: readonly object[]) {
  const name = sql.identifier(table)
  await begin(async (tx) => {
    await tx`delete from ${name} where store = ${store} ${kind ? sql`and kind = ${kind}` : sql``}`
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
      const some = rows.slice(from, from + ROWS_AT_ONCE).map((row) => ({ store, kind, ...row }))
      await tx`
        insert into ${name} select * from json_populate_recordset(null::${name},
          ${JSON.stringify(some)}::text::json)
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
