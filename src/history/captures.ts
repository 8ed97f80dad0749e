/**
 * What every capture has, and the guard under which it is written: history row, task state, refund and pages
 * in one statement. A result is stored once, however often it arrives. A late result replaces the gap of its
 * slot.
 */
import type { RawPage } from '../collect/fetch.ts'
import { sql } from '../db/sql.ts'
import { collectTasks } from '../ledger/collect.ts'

/** What every captured result has, whatever it measured. */
export interface Capture {
  readonly serviceId: string
  readonly statusCode: number
  /** When the store was asked; null: now. */
  readonly capturedAt: Date | null
  readonly checkUrl: string | null
  /** How many results came: the billing units that did not are refunded. Null: nothing is. */
  readonly resultsReturned: number | null
  /** Raw pages, kept beside the capture. */
  readonly pages: readonly RawPage[]
  /** What is missing in spite of the capture, as a sentence; null when nothing is. */
  readonly problem: string | null
}

/** The columns of `Capture`, in the order in which every statement names them: `CAPTURE_COLUMNS`. */
export function columnsOf(captures: readonly Capture[]) {
  return sql`
    ${captures.map((capture) => capture.serviceId)}::text[],
      ${captures.map((capture) => capture.statusCode)}::int[],
    ${captures.map((capture) => capture.capturedAt?.toISOString() ?? null)}::timestamptz[],
      ${captures.map((capture) => capture.checkUrl)}::text[],
    ${captures.map((capture) => capture.resultsReturned)}::int[],
    ${captures.map((capture) => capture.problem)}::text[]`
}

/** The names of `columnsOf`. */
export const CAPTURE_COLUMNS = sql`service_id, status_code, captured_at, check_url, results_returned, problem`

/**
 * The guard, and what is written with every capture: the task is `collected`, its refund booked,
 * `captured_at` and `check_url` of its target set, and its pages kept. Common table expressions, to stand
 * behind `result` with the columns of `CAPTURE_COLUMNS`.
 */
export function collected(captures: readonly Capture[]) {
  const pages = captures.flatMap((capture) =>
    capture.pages.map((page, index) => ({ ...page, serviceId: capture.serviceId, number: index + 1 })),
  )
  return sql`
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
      from unnest(${pages.map((page) => page.serviceId)}::text[], ${pages.map((page) => page.number)}::int[],
        ${pages.map((page) => page.scannedAt?.toISOString() ?? null)}::timestamptz[],
        ${pages.map((page) => `\\x${page.htmlGzip.toString('hex')}`)}::text[]::bytea[]
      ) as p (service_id, number, scanned_at, html_gzip) join collected c using (service_id)
      on conflict do nothing
    )`
}
