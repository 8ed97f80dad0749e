/**
 * Captures of searches, charts and raw pages, and the guard of all captures: history row, task state, refund
 * and pages in one statement, once, however often a result arrives. A late one replaces the gap of its slot.
 * Partitions and dictionary rows must be there.
 */
import type { RawPage } from '../collect/fetch.ts'
import type { Transaction } from '../db/database.ts'
import { type Statement, sql } from '../db/sql.ts'
import { collectTasks } from '../ledger/collect.ts'

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
