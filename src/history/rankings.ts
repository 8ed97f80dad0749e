/** Writes rankings: one row for each search or chart, its apps in one array. */
import type { Transaction } from '../db/database.ts'
import { CAPTURE_COLUMNS, type Capture, collected, columnsOf } from './captures.ts'

export interface RankingCapture extends Capture {
  readonly resultsCount: number | null
  /** `appIds[i]` is the dictionary id at organic rank i + 1; 0 is a hole. */
  readonly appIds: readonly number[]
  /**
   * Which items could not be read or are lacking: an app that is not in `appIds` may be one of them. Null
   * when it has all.
   */
  readonly incomplete: string | null
  /** Absolute ranks beside them, null where none differs. */
  readonly absolute: readonly number[] | null
  /** Advertised apps by their dictionary ids, from top to bottom, each at its place among all results. */
  readonly paid: readonly { readonly id: number; readonly place: number }[]
}

/**
 * Stores ranks; returns the service ids of those that were new. The partitions and the dictionary rows must
 * be there.
 */
export async function insertRankings(
  tx: Transaction,
  captures: readonly RankingCapture[],
): Promise<string[]> {
  if (captures.length === 0) return []
  const rows = await tx<{ ids: string[] }[]>`
    with result as (
      select * from unnest(
        ${captures.map((capture) => capture.resultsCount)}::bigint[],
        ${captures.map((capture) => asArray(capture.appIds))}::text[],
        ${captures.map((capture) => capture.incomplete)}::text[],
        ${captures.map(({ absolute }) => absolute && asArray(absolute))}::text[],
        ${captures.map(({ paid }) => asArrayOfAny(paid.map(({ id }) => id)))}::text[],
        ${captures.map(({ paid }) => asArrayOfAny(paid.map(({ place }) => place)))}::text[],
        ${columnsOf(captures)}
      ) as r (results_count, app_ids, incomplete, absolute, paid_ids, paid_places, ${CAPTURE_COLUMNS})
    ),
    ${collected(captures)},
    stored as (
      select c.target_id, c.slot, coalesce(r.captured_at, clock_timestamp()) as captured_at, c.depth,
        r.results_count, r.app_ids, r.absolute, r.incomplete, r.paid_ids, r.paid_places
      from collected c join result r using (service_id)
    )
    select array(select service_id from collected) as ids,
      store_rankings(array_agg(target_id), array_agg(slot), array_agg(captured_at), array_agg(depth),
        array_agg(results_count),
        array_agg(app_ids), array_agg(absolute), array_agg(incomplete), array_agg(paid_ids),
        array_agg(paid_places))
    from stored`
  return rows.flatMap(({ ids }) => ids)
}

/** As the text of an array in Postgres. */
const asArray = (numbers: readonly number[]) => `{${numbers.join(',')}}`
const asArrayOfAny = (numbers: readonly number[]) => (numbers.length === 0 ? null : asArray(numbers))
