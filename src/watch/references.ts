/**
 * The service's reference lists, kept for watches that name their location in words, and for finding mistakes
 * in watches.
 */
import pLimit from 'p-limit'
import type { Database, Transaction } from '../db/database.ts'
import { ROWS_AT_ONCE } from '../db/pieces.ts'
import { AccountError, StorerankError } from '../errors.ts'
import { isNotOffered } from '../service/answer.ts'
import type { AppDataClient } from '../service/client.ts'
import type { Store } from '../service/functions.ts'
import type { Language, ListingCategory, Location } from '../service/references.ts'

const STORES: readonly Store[] = ['ios_store', 'android_store']

interface Counts {
  readonly locations: number
  readonly languages: number
  readonly categories: number
  readonly listingCategories: number
}

export interface LoadedReferences extends Counts {
  /** A sentence for each list that could not be had. */
  readonly missing: readonly string[]
}

/**
 * Fetches every list (free of charge), each by itself, replaces ours, and opens the watches whose location
 * became known, while a slow list may still be on its way. A list that cannot be had leaves ours as it is:
 * watches that name codes need none.
 * @throws AccountError when the service refuses the account; the error of the first list when not one can be
 *   had
 */
export async function loadReferences(db: Database, client: AppDataClient): Promise<LoadedReferences> {
  const loaded = { locations: 0, languages: 0, categories: 0, listingCategories: 0 }
  const load = async <Row>(list: keyof Counts, fetched: Promise<Row[]>, replace: Replace<Row>) => {
    const rows = await fetched
    // An empty answer replaces nothing: a list that was there does not vanish because the service had a bad
    // moment.
    if (rows.length > 0) await db.begin((tx) => replace(tx, rows))
    loaded[list] += rows.length
  }
  const oneByOne = pLimit(1)
  const openWatches = () => oneByOne(() => openMissingPeriods(db))
  const loadListingCategories = (store: Store) =>
    load('listingCategories', client.listListingCategories(store), (tx, rows) =>
      replaceListingCategories(tx, store, rows),
    )
  // The service as it is specified does not have it (docs/service.md: listing categories): it would be
  // missed, and asked for, every day.
  const mayLack = loadListingCategories('ios_store')
  const loads = [
    ...STORES.flatMap((store) => [
      load('locations', client.listLocations(store), (tx, rows) => replaceLocations(tx, store, rows)).then(
        openWatches,
      ),
      load('languages', client.listLanguages(store), (tx, rows) => replaceLanguages(tx, store, rows)),
      load('categories', client.listCategories(store), (tx, rows) => replaceCategories(tx, store, rows)),
    ]),
    loadListingCategories('android_store'),
    mayLack,
  ]
  const errors: StorerankError[] = []
  const missing: string[] = []
  for (const [index, result] of (await Promise.allSettled(loads)).entries()) {
    if (result.status === 'fulfilled') continue
    const error: unknown = result.reason
    if (!(error instanceof StorerankError) || error instanceof AccountError) throw error
    errors.push(error)
    if (loads[index] !== mayLack || !isNotOffered(error)) missing.push(error.message)
  }
  if (errors.length === loads.length) throw errors[0]
  return { ...loaded, missing }
}

/**
 * Opens the periods of watches that ask for something and have none: their location became known, or the
 * watch that kept them from being followed has ended in a transaction that did not see them.
 */
export async function openMissingPeriods({ sql }: Pick<Database, 'sql'>): Promise<void> {
  await sql`select start_missing_watch_periods()`
}

type Replace<Row> = (tx: Transaction, rows: readonly Row[]) => Promise<void>

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

/** The android_store has about 100,000 places, in 15 MB: they are written in pieces. */
async function replaceLocations(tx: Transaction, store: Store, rows: readonly Location[]): Promise<void> {
  await tx`delete from location where store = ${store}`
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    const some = rows.slice(from, from + ROWS_AT_ONCE)
    await tx`
      insert into location (store, code, name, parent_name, country_iso_code, type)
      select ${store}, * from unnest(
        ${some.map((row) => row.locationCode)}::int[], ${some.map((row) => row.locationName)}::text[],
        ${some.map((row) => row.locationNameParent)}::text[],
        ${some.map((row) => row.countryIsoCode)}::text[],
        ${some.map((row) => row.locationType)}::text[]) as l (code, name, parent_name, country_iso_code, type)
      on conflict do nothing`
  }
}

async function replaceLanguages(tx: Transaction, store: Store, rows: readonly Language[]): Promise<void> {
  await tx`delete from language where store = ${store}`
  await tx`
    insert into language (store, code, name)
    select distinct on (code) ${store}, * from unnest(
      ${rows.map((row) => row.languageCode)}::text[],
        ${rows.map((row) => row.languageName)}::text[]) as l (code, name)`
}

async function replaceCategories(tx: Transaction, store: Store, names: readonly string[]): Promise<void> {
  await tx`delete from category where store = ${store} and kind = 'chart'`
  await tx`insert into category (store, name) select distinct ${store}, name
    from unnest(${[...names]}::text[]) as c (name)`
}

async function replaceListingCategories(
  tx: Transaction,
  store: Store,
  rows: readonly ListingCategory[],
): Promise<void> {
  await tx`delete from category where store = ${store} and kind = 'listing'`
  await tx`
    insert into category (store, kind, name, listings)
    select distinct on (name) ${store}, 'listing', * from unnest(
      ${rows.map((row) => row.category)}::text[], ${rows.map((row) => row.count)}::bigint[]) as c (name,
        listings)`
}
