/**
 * Archives raw pages: the measurement was paid for and is kept, but nothing in it can be ranked. Its slot closes as
 * `html_only`, under the same guard as any capture.
 */
import { gzipSync } from 'node:zlib'
import type { Transaction } from '../db/database.ts'
import type { HtmlPage } from '../service/html-result.ts'
import { type Capture, collected, columnsOf } from './captures.ts'

export interface PagesCapture extends Capture {
  readonly pages: readonly HtmlPage[]
}

/** Stores pages; returns how many captures were new. The partitions must be there. */
export async function insertPages(tx: Transaction, captures: readonly PagesCapture[]): Promise<number> {
  const pages = captures.flatMap((one) =>
    one.pages.map((page, index) => ({ ...page, serviceId: one.serviceId, number: index + 1 })),
  )
  const [row] = await tx<{ stored: number }[]>`
    with result as materialized (
      select * from unnest(${columnsOf(tx, captures)})
        as r (service_id, status_code, captured_at, check_url, units_posted, units_returned)
    ),
    ${collected(tx)},
    archived as (
      insert into page (target_id, slot, number, scanned_at, html_gzip)
      select c.target_id, c.slot, p.number, p.scanned_at, p.html_gzip
      from unnest(${pages.map((page) => page.serviceId)}::text[], ${pages.map((page) => page.number)}::int[],
        ${pages.map((page) => page.date?.toISOString() ?? null)}::timestamptz[],
        ${pages.map((page) => `\\x${gzipSync(page.html).toString('hex')}`)}::text[]::bytea[]
      ) as p (service_id, number, scanned_at, html_gzip) join collected c using (service_id)
      on conflict do nothing
    ),
    closed as (
      select c.target_id, c.slot, c.depth, t.function, coalesce(r.captured_at, clock_timestamp()) as captured_at
      from collected c join result r using (service_id) join target t on t.id = c.target_id
    ),
    searched as (
      insert into ranking (target_id, slot, captured_at, depth, gap, reason)
      select target_id, slot, captured_at, depth, 'html_only', 'The service offers raw pages only; they are in page.'
      from closed where function = 'app_searches'
      on conflict (target_id, slot) do nothing
    ),
    described as (
      insert into app_snapshot (target_id, slot, captured_at, gap, reason)
      select target_id, slot, captured_at, 'html_only', 'The service offers raw pages only; they are in page.'
      from closed where function = 'app_info'
      on conflict (target_id, slot) do nothing
    )
    select count(*) as stored from collected`
  return row?.stored ?? 0
}
