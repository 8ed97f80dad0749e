/** Writes snapshots: an app's page, or what the store says of an app above its reviews. */
import type { Transaction } from '../db/database.ts'
import { CAPTURE_COLUMNS, type Capture, collected, columnsOf } from './captures.ts'

export interface SnapshotCapture extends Capture {
  /** Null when the store does not know the app, or has no review of it (40102). */
  readonly app: AppDetails | null
}

export interface AppDetails {
  /** In the dictionary. */
  readonly id: number
  readonly rating: number | null
  readonly votesCount: number | null
  readonly reviewsCount: number | null
  /** What its own page says; null above its reviews. */
  readonly page: AppPage | null
}

export interface AppPage {
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

/**
 * Stores snapshots; returns the service ids of those that were new. The partitions and the dictionary rows
 * must be there.
 */
export async function insertSnapshots(
  tx: Transaction,
  captures: readonly SnapshotCapture[],
): Promise<string[]> {
  if (captures.length === 0) return []
  const apps = captures.map((capture) => capture.app)
  const pages = apps.map((app) => app?.page ?? null)
  await insertListings(
    tx,
    pages.flatMap((page) => page?.listing ?? []),
  )
  const rows = await tx<{ serviceId: string }[]>`
    with result as (
      select * from unnest(
        ${apps.map((app) => app?.id ?? null)}::int[], ${apps.map((app) => app?.rating ?? null)}::real[],
        ${apps.map((app) => app?.votesCount ?? null)}::bigint[],
          ${apps.map((app) => app?.reviewsCount ?? null)}::bigint[],
        ${pages.map((page) => page?.priceMicros ?? null)}::bigint[],
          ${pages.map((page) => page?.currency ?? null)}::text[],
        ${pages.map((page) => page?.isFree?.toString() ?? null)}::text[]::boolean[],
          ${pages.map((page) => page?.version ?? null)}::text[],
        ${pages.map((page) => page?.minimumOsVersion ?? null)}::text[],
          ${pages.map((page) => page?.size ?? null)}::text[],
        ${pages.map((page) => page?.mainCategory ?? null)}::text[],
          ${pages.map((page) => page?.installsCount ?? null)}::bigint[],
        ${pages.map((page) => page?.releasedAt?.toISOString() ?? null)}::timestamptz[],
          ${pages.map((page) => page?.updatedAt?.toISOString() ?? null)}::timestamptz[],
        ${pages.map((page) => page?.listing.hash ?? null)}::text[]::bytea[],
        ${columnsOf(captures)}
      ) as r (app, rating, votes_count, reviews_count, price_micros, currency, is_free, version,
        minimum_os_version, size,
        main_category, installs_count, released_at, updated_at, listing_hash, ${CAPTURE_COLUMNS})
    ),
    ${collected(captures)},
    stored as (
      insert into app_snapshot (target_id, slot, captured_at, app, found, rating, votes_count, reviews_count,
        price_micros,
        currency, is_free, version, minimum_os_version, size, main_category, installs_count, released_at,
          updated_at,
        listing_hash)
      select c.target_id, c.slot, coalesce(r.captured_at, clock_timestamp()), r.app, r.app is not null,
        r.rating,
        r.votes_count, r.reviews_count, r.price_micros, r.currency, r.is_free, r.version,
          r.minimum_os_version, r.size,
        r.main_category, r.installs_count, r.released_at, r.updated_at, r.listing_hash
      from collected c join result r using (service_id)
      on conflict (target_id, slot) do update set captured_at = excluded.captured_at, app = excluded.app,
        found = excluded.found, rating = excluded.rating, votes_count = excluded.votes_count,
        reviews_count = excluded.reviews_count, price_micros = excluded.price_micros,
          currency = excluded.currency,
        is_free = excluded.is_free, version = excluded.version,
          minimum_os_version = excluded.minimum_os_version,
        size = excluded.size, main_category = excluded.main_category,
          installs_count = excluded.installs_count,
        released_at = excluded.released_at, updated_at = excluded.updated_at,
        listing_hash = excluded.listing_hash, gap = null, reason = null
      where app_snapshot.gap is not null
    )
    select service_id as "serviceId" from collected`
  return rows.map((row) => row.serviceId)
}

async function insertListings(tx: Transaction, listings: readonly Listing[]): Promise<void> {
  if (listings.length === 0) return
  await tx`
    insert into listing (hash, title, description, update_notes, icon, images, details)
    select hash, title, description, update_notes, icon,
      array(select jsonb_array_elements_text(images::jsonb)),
      details::jsonb
    from unnest(
      ${listings.map((listing) => listing.hash)}::text[]::bytea[],
        ${listings.map((listing) => listing.title)}::text[],
      ${listings.map((listing) => listing.description)}::text[],
        ${listings.map((listing) => listing.updateNotes)}::text[],
      ${listings.map((listing) => listing.icon)}::text[],
        ${listings.map((listing) => JSON.stringify(listing.images))}::text[],
      ${listings.map((listing) => JSON.stringify(listing.details))}::text[]
    ) as l (hash, title, description, update_notes, icon, images, details)
    order by hash
    on conflict (hash) do nothing`
}
