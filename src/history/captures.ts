/**
 * Captures of searches, charts and raw pages, and the guard of all captures: history row, task state, refund
 * and pages in one statement, once, however often a result arrives. A late one replaces the gap of its slot.
 * Partitions and dictionary rows must be there.
 */
import type { RawPage } from '../collect/fetch.ts'
import type { Transaction } from '../db/database.ts'
import { type FieldsOf, type Statement, sql, type Value } from '../db/sql.ts'
import { collectTasks } from '../ledger/collect.ts'
import type { ReviewResponse } from '../service/results.ts'

export interface Capture {
  readonly serviceId: string
  readonly statusCode: number
  /** When the store was asked; null: now. */
  readonly capturedAt: Date | null
  readonly checkUrl: string | null
  /** How many results came: the billing units that did not are refunded. Null: nothing is. */
  readonly resultsReturned: number | null
  readonly pages: readonly RawPage[]
  /** What is missing in spite of the capture, as a sentence; null when nothing is. */
  readonly problem: string | null
}

export const CAPTURE = `
  serviceId text, statusCode int, capturedAt timestamptz, checkUrl text, resultsReturned int, problem text`
const PAGE = 'serviceId text, number int, scannedAt timestamptz, htmlGzip bytea'

/**
 * The guard: `result`, the captures, and `collected`, those to be stored, with their tasks, refunds, targets
 * and pages.
 * @param columns of the captures
 */
export function collected<Row extends Capture>(captures: readonly Row[], columns = CAPTURE): Statement {
  const pages = captures.flatMap(({ serviceId, pages }) =>
    pages.map((page, index) => ({ ...page, serviceId, number: index + 1 })),
  )
  return sql`
    result as (select * from ${sql.rows('r', captures, columns)}),
    ${collectTasks()},
    refreshed as (
      update target t set captured_at = storerank_now(), check_url = coalesce(measured.check_url, t.check_url)
      from (
        select k.id, said.check_url from target k
        join (
          select c.target_id, max(r.check_url) as check_url from collected c join result r using (service_id)
            group by c.target_id
        ) said on said.target_id = k.id
        order by k.id for update of k
      ) as measured
      where t.id = measured.id
    ),
    archived as (
      insert into page (target_id, slot, number, scanned_at, html_gzip)
      select c.target_id, c.slot, p.number, p.scanned_at, p.html_gzip
      from ${sql.rows('p', pages, PAGE)} join collected c using (service_id)
      on conflict do nothing
    )`
}

export interface RankingCapture extends Capture {
  readonly resultsCount: number | null
  /** `appIds[i]` is the dictionary id at organic rank i + 1; 0 is a hole. */
  readonly appIds: readonly number[]
  /** Which items are lacking: an app that is not in `appIds` may be one of them. Null when it has all. */
  readonly incomplete: string | null
  /** Absolute ranks beside them, null where none differs. */
  readonly absolute: readonly number[] | null
  /** Advertised apps by their dictionary ids, from top to bottom, each at its place among all results. */
  readonly paid: readonly { readonly id: number; readonly place: number }[]
}

/** Arrays of different lengths, each as its text. */
const RANKING = `${CAPTURE},
  resultsCount bigint, appIds text, absolute text, incomplete text, paidIds text, paidPlaces text`

/** Stores ranks; returns the service ids of those that were new. */
export async function insertRankings(
  tx: Transaction,
  captures: readonly RankingCapture[],
): Promise<string[]> {
  if (captures.length === 0) return []
  const rows = captures.map((capture) => ({
    ...capture,
    appIds: asArray(capture.appIds),
    absolute: capture.absolute && asArray(capture.absolute),
    paidIds: capture.paid.length === 0 ? null : asArray(capture.paid.map(({ id }) => id)),
    paidPlaces: capture.paid.length === 0 ? null : asArray(capture.paid.map(({ place }) => place)),
  }))
  const stored = await tx<{ ids: string[] }[]>`
    with ${collected(rows, RANKING)}
    select array_agg(c.service_id) as ids,
      store_rankings(array_agg(c.target_id), array_agg(c.slot),
        array_agg(coalesce(r.captured_at, clock_timestamp())), array_agg(c.depth),
        array_agg(r.results_count), array_agg(r.app_ids), array_agg(r.absolute), array_agg(r.incomplete),
        array_agg(r.paid_ids), array_agg(r.paid_places))
    from collected c join result r using (service_id)`
  return stored.flatMap(({ ids }) => ids ?? [])
}

const asArray = (numbers: readonly number[]) => `{${numbers.join(',')}}`

const PAGES_ONLY = sql`'The service offers raw pages only; they are in page.'::text`

/**
 * Stores pages where nothing else is offered: they cannot be ranked, so that the slot is a gap, `html_only`.
 * @returns the service ids of those that were new
 */
export async function insertPages(tx: Transaction, captures: readonly Capture[]): Promise<string[]> {
  if (captures.length === 0) return []
  const rows = await tx<{ serviceId: string }[]>`
    with ${collected(captures)},
    closed as (
      select c.target_id, c.slot, c.depth, t.function,
        coalesce(r.captured_at, clock_timestamp()) as captured_at
      from collected c join result r using (service_id) join target t on t.id = c.target_id
    ),
    ranked as (
      select store_gaps(array_agg(target_id), array_agg(slot), array_agg('html_only'::text),
        array_agg(${PAGES_ONLY}), array_agg(captured_at), array_agg(depth))
      from closed where function in ('app_searches', 'app_list')
    ),
    described as (
      insert into app_snapshot (target_id, slot, captured_at, gap, reason)
      select target_id, slot, captured_at, 'html_only', ${PAGES_ONLY}
      from closed where function in ('app_info', 'app_reviews')
      on conflict (target_id, slot) do nothing
    )
    select service_id as "serviceId" from collected where (select count(*) from ranked) >= 0`
  return rows.map((row) => row.serviceId)
}

/** `app` is its id in the dictionary; null when the store does not know it, or has no review (40102). */
const COLUMNS = `
  app int, rating real, votesCount bigint, reviewsCount bigint, priceMicros bigint, currency text,
  isFree boolean, version text, minimumOsVersion text, size text, mainCategory text, installsCount bigint,
  releasedAt timestamptz, updatedAt timestamptz, listingHash bytea`

export type SnapshotColumns = { readonly [Column in FieldsOf<typeof COLUMNS>]?: Value }

export interface SnapshotCapture extends Capture, SnapshotColumns {
  readonly listing?: Readonly<Record<FieldsOf<typeof LISTING>, unknown>>
}

/** The long texts of an app's page, stored once per distinct content: `hash` is its SHA-256. */
const LISTING = `
  hash bytea, title text, description text, updateNotes text, icon text, images jsonb, details jsonb`

/** Stores snapshots; returns the service ids of those that were new. */
export async function insertSnapshots(
  tx: Transaction,
  captures: readonly SnapshotCapture[],
): Promise<string[]> {
  if (captures.length === 0) return []
  const listings = captures.flatMap(({ listing }) => listing ?? [])
  await tx`
    insert into listing (hash, title, description, update_notes, icon, images, details)
    select hash, title, description, update_notes, icon, array(select jsonb_array_elements_text(images)),
      details
    from ${sql.rows('l', listings, LISTING)}
    order by hash
    on conflict (hash) do nothing`
  const rows = await tx<{ serviceId: string }[]>`
    with ${collected(captures, `${CAPTURE}, ${COLUMNS}`)},
    stored as (
      insert into app_snapshot (target_id, slot, captured_at, found, ${sql.columns(COLUMNS)})
      select c.target_id, c.slot, coalesce(r.captured_at, clock_timestamp()), r.app is not null,
        ${sql.columns(COLUMNS, 'r')}
      from collected c join result r using (service_id)
      on conflict (target_id, slot) do update set (captured_at, found, gap, reason, ${sql.columns(COLUMNS)})
        = (excluded.captured_at, excluded.found, null, null, ${sql.columns(COLUMNS, 'excluded')})
      where app_snapshot.gap is not null
    )
    select service_id as "serviceId" from collected`
  return rows.map((row) => row.serviceId)
}

const CONTENT = `
  version text, rating real, title text, text text, author text, authorImage text, helpfulCount int,
  responses jsonb, writtenAt timestamptz`
const REVIEW = `${CONTENT}, app int, reviewId text`
const SEEN = 'serviceId text, firstSeenAt timestamptz, lastSeenAt timestamptz, place int'

type Content = { readonly [Column in Exclude<FieldsOf<typeof CONTENT>, 'responses'>]: Value }

export interface SeenReview extends Content {
  /** Of the capture that shows it: where it was written is known by its target. */
  readonly serviceId: string
  /** In the dictionary. */
  readonly app: number
  readonly reviewId: string
  readonly responses: readonly ReviewResponse[] | null
  /** Captures that showed it first and last; null: now. */
  readonly firstSeenAt: Date | null
  readonly lastSeenAt: Date | null
}

/** A review has some hundred bytes, and 100,000 characters at most. */
const ROWS_PER_STATEMENT = 5_000

/** Stores reviews of captures that are new: an edited one is what its latest capture shows. */
export async function upsertReviews(tx: Transaction, seen: readonly SeenReview[]): Promise<void> {
  const reviews = mergeReviews(seen)
  for (let from = 0; from < reviews.length; from += ROWS_PER_STATEMENT) {
    await upsertPart(tx, reviews.slice(from, from + ROWS_PER_STATEMENT))
  }
}

/** Pure: each review once, as its latest capture shows it, in the order in which all writers lock them. */
export function mergeReviews(seen: readonly SeenReview[]): SeenReview[] {
  const timeOf = (at: Date | null) => at?.getTime() ?? Infinity
  const byKey = new Map<string, SeenReview>()
  for (const review of seen) {
    const key = `${review.app} ${review.reviewId}`
    const other = byKey.get(key) ?? review
    const [older, newer] =
      timeOf(review.lastSeenAt) < timeOf(other.lastSeenAt) ? [review, other] : [other, review]
    const isFirst = timeOf(older.firstSeenAt) <= timeOf(newer.firstSeenAt)
    byKey.set(key, { ...newer, firstSeenAt: isFirst ? older.firstSeenAt : newer.firstSeenAt })
  }
  return [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, review]) => review)
}

async function upsertPart(tx: Transaction, reviews: readonly SeenReview[]): Promise<void> {
  const rows = reviews.map((review, place) => ({ ...review, place }))
  await tx`
    insert into review as r (location_code, language_code, first_seen_at, last_seen_at,
      ${sql.columns(REVIEW)})
    select t.location_code, t.language_code, coalesce(s.first_seen_at, clock_timestamp()),
      coalesce(s.last_seen_at, clock_timestamp()), ${sql.columns(REVIEW, 's')}
    from ${sql.rows('s', rows, `${REVIEW}, ${SEEN}`)}
    join task k using (service_id) join target t on t.id = k.target_id
    order by s.place
    on conflict (app, review_id) do update set (${sql.columns(CONTENT)}) = (
        select ${sql.columns(CONTENT, 'r')} where excluded.last_seen_at < r.last_seen_at
        union all
        select ${sql.columns(CONTENT, 'excluded')} where excluded.last_seen_at >= r.last_seen_at),
      first_seen_at = least(r.first_seen_at, excluded.first_seen_at),
      last_seen_at = greatest(r.last_seen_at, excluded.last_seen_at)`
}
