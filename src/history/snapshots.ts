/** Writes snapshots: an app's page, or what the store says of an app above its reviews. */
import type { Transaction } from '../db/database.ts'
import { type FieldsOf, sql, type Value } from '../db/sql.ts'
import { CAPTURE, type Capture, collected } from './captures.ts'

/** `app` is its id in the dictionary; null when the store does not know it, or has no review (40102). */
const COLUMNS = `
  app int, rating real, votesCount bigint, reviewsCount bigint, priceMicros bigint, currency text,
  isFree boolean, version text, minimumOsVersion text, size text, mainCategory text, installsCount bigint,
  releasedAt timestamptz, updatedAt timestamptz, listingHash bytea`

export type SnapshotColumns = { readonly [Column in FieldsOf<typeof COLUMNS>]?: Value }

export interface SnapshotCapture extends Capture, SnapshotColumns {
  readonly listing?: Listing
}

/** The long texts of an app's page, stored once per distinct content. */
export interface Listing {
  /** SHA-256 of the content. */
  readonly hash: Buffer
  readonly title: string | null
  readonly description: string | null
  readonly updateNotes: string | null
  readonly icon: string | null
  readonly images: readonly string[]
  readonly details: Readonly<Record<string, unknown>>
}

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
