/** Writes rankings: one row for each search or chart, its apps in one array. */
import type { Transaction } from '../db/database.ts'
import { type Capture, captureColumns, collected, columnsOf } from './captures.ts'

export interface RankingCapture extends Capture {
  readonly resultsCount: number | null
  /** `appIds[i]` is the dictionary id at organic rank i + 1; 0 is a hole. */
  readonly appIds: readonly number[]
  /** Which items could not be read: an app that is not in `appIds` may be one of them. Null when all could. */
  readonly incomplete: string | null
  /** Absolute ranks beside them, null where none differs. */
  readonly absolute: readonly number[] | null
}

/**
 * Stores ranks; returns the service ids of those that were new. The partitions and the dictionary rows must be there.
 */
export async function insertRankings(
  tx: Transaction,
  captures: readonly RankingCapture[],
): Promise<string[]> {
  if (captures.length === 0) return []
  const rows = await tx<{ serviceId: string }[]>`
    with result as materialized (
      select * from unnest(
        ${captures.map((capture) => capture.resultsCount)}::bigint[],
        ${captures.map((capture) => `{${capture.appIds.join(',')}}`)}::text[],
        ${captures.map((capture) => capture.incomplete)}::text[],
        ${captures.map((capture) => (capture.absolute === null ? null : `{${capture.absolute.join(',')}}`))}::text[],
        ${columnsOf(tx, captures)}
      ) as r (results_count, app_ids, incomplete, absolute, ${captureColumns(tx)})
    ),
    ${collected(tx, captures)},
    stored as (
      insert into ranking (target_id, slot, captured_at, depth, results_count, check_url, app_ids, absolute, reason)
      select c.target_id, c.slot, coalesce(r.captured_at, clock_timestamp()), c.depth, r.results_count, r.check_url,
        r.app_ids::int[], r.absolute::smallint[], r.incomplete
      from collected c join result r using (service_id)
      on conflict (target_id, slot) do update set captured_at = excluded.captured_at, depth = excluded.depth,
        results_count = excluded.results_count, check_url = excluded.check_url, app_ids = excluded.app_ids,
        absolute = excluded.absolute, gap = null, reason = excluded.reason
      where ranking.gap is not null
    )
    select service_id as "serviceId" from collected`
  return rows.map((row) => row.serviceId)
}
