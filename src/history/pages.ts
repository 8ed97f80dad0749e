/**
 * Closes slots for which the service offers raw pages only: the result was paid for and its pages are kept,
 * but they cannot be ranked. The gap is `html_only`, written under the same guard as any capture.
 */
import type { Transaction } from '../db/database.ts'
import { CAPTURE_COLUMNS, type Capture, collected, columnsOf } from './captures.ts'

/**
 * Stores captures that are pages alone; returns the service ids of those that were new. The partitions must
 * be there.
 */
export async function insertPages(tx: Transaction, captures: readonly Capture[]): Promise<string[]> {
  if (captures.length === 0) return []
  const rows = await tx<{ serviceId: string }[]>`
    with result as (
      select * from unnest(${columnsOf(captures)}) as r (${CAPTURE_COLUMNS})
    ),
    ${collected(captures)},
    closed as (
      select c.target_id, c.slot, c.depth, t.function, coalesce(r.captured_at,
        clock_timestamp()) as captured_at
      from collected c join result r using (service_id) join target t on t.id = c.target_id
    ),
    ranked as (
      select store_gaps(array_agg(target_id), array_agg(slot), array_agg('html_only'::text),
        array_agg('The service offers raw pages only; they are in page.'::text), array_agg(captured_at),
          array_agg(depth))
      from closed where function in ('app_searches', 'app_list')
    ),
    described as (
      insert into app_snapshot (target_id, slot, captured_at, gap, reason)
      select target_id, slot, captured_at, 'html_only', 'The service offers raw pages only; they are in page.'
      from closed where function in ('app_info', 'app_reviews')
      on conflict (target_id, slot) do nothing
    )
    select service_id as "serviceId" from collected where (select count(*) from ranked) >= 0`
  return rows.map((row) => row.serviceId)
}
