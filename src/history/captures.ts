/**
 * Writes captures: history row, task state and refund in one statement, guarded by the task's state. However often and
 * however a result arrives, it is stored once; a gap that a late result fills gives way to it.
 */
import type { Transaction } from '../db/database.ts'

/** What every captured result has, whatever it measured. */
export interface Capture {
  readonly serviceId: string
  readonly statusCode: number
  /** When the store was asked; null: now. */
  readonly capturedAt: Date | null
  readonly checkUrl: string | null
  /** Billing units of what was asked, and of what came back: the difference is refunded (spec: Task posting, rule 3). */
  readonly unitsPosted: number
  readonly unitsReturned: number
}

export interface RankingCapture extends Capture {
  readonly resultsCount: number | null
  /** `appIds[i]` is the dictionary id at organic rank i + 1; 0 is a hole. */
  readonly appIds: readonly number[]
  /** Absolute ranks beside them, null where none differs. */
  readonly absolute: readonly number[] | null
}

export interface SnapshotCapture extends Capture {
  /** Null when the store does not know the app (40102). */
  readonly app: AppDetails | null
}

export interface AppDetails {
  readonly id: number
  readonly rating: number | null
  readonly votesCount: number | null
  readonly reviewsCount: number | null
  readonly priceMicros: number | null
  readonly currency: string | null
  readonly isFree: boolean | null
  readonly version: string | null
  readonly minimumOsVersion: string | null
  readonly size: string | null
  readonly mainCategory: string | null
  readonly installsCount: number | null
  readonly releasedAt: Date | null
  readonly updatedAt: Date | null
  readonly listing: Listing
}

/** The long texts of an app's page, stored once per distinct content. */
export interface Listing {
  /** SHA-256 of the content, as Postgres reads bytes: `\\x…`. */
  readonly hash: string
  readonly title: string | null
  readonly description: string | null
  readonly updateNotes: string | null
  readonly icon: string | null
  readonly images: readonly string[]
  readonly details: Readonly<Record<string, unknown>>
}

/** Stores search results; returns how many were new. The partitions and the dictionary rows must be there. */
export async function insertRankings(tx: Transaction, captures: readonly RankingCapture[]): Promise<number> {
  const [row] = await tx<{ stored: number }[]>`
    with result as materialized (
      select * from unnest(
        ${captures.map((one) => one.resultsCount)}::bigint[],
        ${captures.map((one) => `{${one.appIds.join(',')}}`)}::text[],
        ${captures.map((one) => (one.absolute === null ? null : `{${one.absolute.join(',')}}`))}::text[],
        ${columnsOf(tx, captures)}
      ) as r (results_count, app_ids, absolute, service_id, status_code, captured_at, check_url, units_posted, units_returned)
    ),
    ${collected(tx)},
    stored as (
      insert into ranking (target_id, slot, captured_at, depth, results_count, check_url, app_ids, absolute)
      select c.target_id, c.slot, coalesce(r.captured_at, clock_timestamp()), c.depth, r.results_count, r.check_url,
        r.app_ids::int[], r.absolute::smallint[]
      from collected c join result r using (service_id)
      on conflict (target_id, slot) do update set captured_at = excluded.captured_at, depth = excluded.depth,
        results_count = excluded.results_count, check_url = excluded.check_url, app_ids = excluded.app_ids,
        absolute = excluded.absolute, gap = null, reason = null
      where ranking.gap is not null
    )
    select count(*) as stored from collected`
  return row?.stored ?? 0
}

/** Stores app details; returns how many were new. */
export async function insertSnapshots(
  tx: Transaction,
  captures: readonly SnapshotCapture[],
): Promise<number> {
  await insertListings(tx, captures)
  const apps = captures.map((one) => one.app)
  const [row] = await tx<{ stored: number }[]>`
    with result as materialized (
      select * from unnest(
        ${apps.map((app) => app?.id ?? null)}::int[], ${apps.map((app) => app?.rating ?? null)}::real[],
        ${apps.map((app) => app?.votesCount ?? null)}::bigint[], ${apps.map((app) => app?.reviewsCount ?? null)}::bigint[],
        ${apps.map((app) => app?.priceMicros ?? null)}::bigint[], ${apps.map((app) => app?.currency ?? null)}::text[],
        ${apps.map((app) => app?.isFree?.toString() ?? null)}::text[]::boolean[], ${apps.map((app) => app?.version ?? null)}::text[],
        ${apps.map((app) => app?.minimumOsVersion ?? null)}::text[], ${apps.map((app) => app?.size ?? null)}::text[],
        ${apps.map((app) => app?.mainCategory ?? null)}::text[], ${apps.map((app) => app?.installsCount ?? null)}::bigint[],
        ${apps.map((app) => app?.releasedAt?.toISOString() ?? null)}::timestamptz[], ${apps.map((app) => app?.updatedAt?.toISOString() ?? null)}::timestamptz[],
        ${apps.map((app) => app?.listing.hash ?? null)}::text[]::bytea[],
        ${columnsOf(tx, captures)}
      ) as r (app, rating, votes_count, reviews_count, price_micros, currency, is_free, version, minimum_os_version, size,
        main_category, installs_count, released_at, updated_at, listing_hash,
        service_id, status_code, captured_at, check_url, units_posted, units_returned)
    ),
    ${collected(tx)},
    stored as (
      insert into app_snapshot (target_id, slot, captured_at, app, found, rating, votes_count, reviews_count, price_micros,
        currency, is_free, version, minimum_os_version, size, main_category, installs_count, released_at, updated_at,
        check_url, listing_hash)
      select c.target_id, c.slot, coalesce(r.captured_at, clock_timestamp()), r.app, r.app is not null, r.rating,
        r.votes_count, r.reviews_count, r.price_micros, r.currency, r.is_free, r.version, r.minimum_os_version, r.size,
        r.main_category, r.installs_count, r.released_at, r.updated_at, r.check_url, r.listing_hash
      from collected c join result r using (service_id)
      on conflict (target_id, slot) do update set captured_at = excluded.captured_at, app = excluded.app,
        found = excluded.found, rating = excluded.rating, votes_count = excluded.votes_count,
        reviews_count = excluded.reviews_count, price_micros = excluded.price_micros, currency = excluded.currency,
        is_free = excluded.is_free, version = excluded.version, minimum_os_version = excluded.minimum_os_version,
        size = excluded.size, main_category = excluded.main_category, installs_count = excluded.installs_count,
        released_at = excluded.released_at, updated_at = excluded.updated_at, check_url = excluded.check_url,
        listing_hash = excluded.listing_hash, gap = null, reason = null
      where app_snapshot.gap is not null
    )
    select count(*) as stored from collected`
  return row?.stored ?? 0
}

async function insertListings(tx: Transaction, captures: readonly SnapshotCapture[]): Promise<void> {
  const listings = captures.flatMap((one) => (one.app === null ? [] : [one.app.listing]))
  if (listings.length === 0) return
  await tx`
    insert into listing (hash, title, description, update_notes, icon, images, details)
    select hash, title, description, update_notes, icon, array(select jsonb_array_elements_text(images::jsonb)),
      details::jsonb
    from unnest(
      ${listings.map((one) => one.hash)}::text[]::bytea[], ${listings.map((one) => one.title)}::text[],
      ${listings.map((one) => one.description)}::text[], ${listings.map((one) => one.updateNotes)}::text[],
      ${listings.map((one) => one.icon)}::text[], ${listings.map((one) => JSON.stringify(one.images))}::text[],
      ${listings.map((one) => JSON.stringify(one.details))}::text[]
    ) as l (hash, title, description, update_notes, icon, images, details)
    order by hash
    on conflict (hash) do nothing`
}

/** The columns of `Capture`, in the order in which every statement names them. */
export function columnsOf(tx: Transaction, captures: readonly Capture[]) {
  return tx`
    ${captures.map((one) => one.serviceId)}::text[], ${captures.map((one) => one.statusCode)}::int[],
    ${captures.map((one) => one.capturedAt?.toISOString() ?? null)}::timestamptz[], ${captures.map((one) => one.checkUrl)}::text[],
    ${captures.map((one) => one.unitsPosted)}::int[], ${captures.map((one) => one.unitsReturned)}::int[]`
}

/**
 * The guard, and what goes with every capture: the task ends, its target is fresh, and of what was charged for the units
 * posted, that for the units not returned comes back, split like the charge. Rows are locked in one order, so that two
 * batches that share some wait for each other and never in a circle.
 */
export function collected(tx: Transaction) {
  return tx`
    open as materialized (
      select k.id, k.service_id from task k
      where k.service_id in (select service_id from result) and k.state in ('planned', 'posting', 'posted')
      order by k.id for update
    ),
    collected as (
      update task k set state = 'collected', ended_at = clock_timestamp(), status_code = r.status_code, problem = null,
        fetching_until = null
      from open o join result r using (service_id)
      where k.id = o.id
      returning k.id, k.service_id, k.target_id, k.slot, k.depth, k.attempt, k.post_id, r.units_posted,
        r.units_posted - r.units_returned as units_back
    ),
    paid as (
      select k.*, c.project,
        (sum(c.amount_micros) over same_task)::bigint * k.units_back / k.units_posted as back_micros,
        row_number() over (same_task order by c.project) as place, count(*) over same_task as payers
      from collected k join charge c on c.service_id = k.service_id and c.kind = 'charge'
      window same_task as (partition by c.service_id)
    ),
    refunded as (
      insert into charge (kind, project, amount_micros, task_id, attempt, target_id, slot, post_id, service_id)
      select 'refund', project, -(back_micros / payers + case when place = 1 then back_micros % payers else 0 end),
        id, attempt, target_id, slot, post_id, service_id
      from paid where back_micros > 0
      on conflict do nothing
    ),
    refreshed as (
      update target t set captured_at = clock_timestamp()
      from (select id from target where id in (select target_id from collected) order by id for update) as measured
      where t.id = measured.id
    )`
}
