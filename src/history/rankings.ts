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
        ${captures.map((capture) => `{${capture.appIds.join(',')}}`)}::text[],
        ${captures.map((capture) => capture.incomplete)}::text[],
        ${captures.map(({ absolute }) => (absolute === null ? null : `{${absolute.join(',')}}`))}::text[],
        ${columnsOf(captures)}
      ) as r (results_count, app_ids, incomplete, absolute, ${CAPTURE_COLUMNS})
    ),
    ${collected(captures)},
    stored as (
      select c.target_id, c.slot, coalesce(r.captured_at, clock_timestamp()) as captured_at, c.depth,
        r.results_count, r.app_ids, r.absolute, r.incomplete
      from collected c join result r using (service_id)
    )
    select array(select service_id from collected) as ids,
      store_rankings(array_agg(target_id), array_agg(slot), array_agg(captured_at), array_agg(depth),
        array_agg(results_count),
        array_agg(app_ids), array_agg(absolute), array_agg(incomplete))
    from stored`
  return rows.flatMap(({ ids }) => ids)
}
