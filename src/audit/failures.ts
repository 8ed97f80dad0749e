/**
 * Keeps what the service lists as failed of our own tasks; of a webhook's address, which is secret, the host.
 */
import type { Database } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import { RejectedError } from '../errors.ts'
import type { AppDataClient } from '../service/client.ts'
import { type FailedTask, MAX_FAILED_TASK_ROWS, MAX_IDS_PER_RESEND } from '../service/lists.ts'

const HOUR_MS = 60 * 60_000
/** An hour less than the list goes back, specified and as sold: no row leaves it between two pages. */
const DAY_BACK_MS = 23 * HOUR_MS
const WEEK_BACK_MS = (7 * 24 - 1) * HOUR_MS
/** Functions under which the list names a webhook that was not delivered (spec: Events). */
const WEBHOOKS = ['pingback_url', 'postback_url']

/**
 * Reads what the list has gained since the last run of `job`, and asks the service to send each failed
 * webhook again, once per failure. Free of charge.
 * @param resendsWebhooks whether our tasks are posted with webhooks
 * @returns failures of ours that were not known yet, and tasks whose webhooks were asked for again
 */
export async function recordFailures(
  db: Database,
  client: AppDataClient,
  job: string,
  { resendsWebhooks, signal }: { readonly resendsWebhooks: boolean; readonly signal?: AbortSignal },
): Promise<{ recorded: number; resent: number }> {
  const present = await client.readServiceTime()
  const backMs = await readLookBack(db, job)
  const since = (ms: number) => recordSince(db, client, new Date(present.getTime() - ms), signal)
  const recorded = await since(backMs).catch((error: unknown) => {
    if (!(error instanceof RejectedError) || backMs === DAY_BACK_MS) throw error
    return since(DAY_BACK_MS)
  })
  return { recorded, resent: resendsWebhooks ? await resendFailed(db, client, signal) : 0 }
}

/** A day, within which late rows are listed; longer after a pause, as long as any service lists it. */
async function readLookBack(db: Database, job: string): Promise<number> {
  const [last] = await db.sql<{ agoMs: number | null }[]>`
    select extract(epoch from clock_timestamp() - ended_at)::float8 * 1000 as "agoMs"
    from job_run where job = ${job} and state = 'done' order by slot desc limit 1`
  return Math.min(Math.max((last?.agoMs ?? WEEK_BACK_MS) + HOUR_MS, DAY_BACK_MS), WEEK_BACK_MS)
}

/** Until a page has room or brings nothing new: the list may ignore the offset. */
async function recordSince(
  db: Database,
  client: AppDataClient,
  from: Date,
  signal?: AbortSignal,
): Promise<number> {
  let recorded = 0
  const seen = new Set<string>()
  for (let offset = 0; ; offset += MAX_FAILED_TASK_ROWS) {
    signal?.throwIfAborted()
    const failed = await client.listFailedTasks({ from, offset, limit: MAX_FAILED_TASK_ROWS })
    recorded += await insertFailures(db, failed)
    const before = seen.size
    for (const { id, function: fn, datetime } of failed) seen.add(`${id} ${fn} ${datetime?.getTime()}`)
    if (failed.length < MAX_FAILED_TASK_ROWS || seen.size === before) return recorded
  }
}

const FAILED = `id text, function text, datetime timestamptz, errorCode int, errorMessage text, httpCode int,
  httpTime real`

/** Only tasks with a charge are ours. A failure without a time gets that of its charge. */
async function insertFailures(db: Database, failed: readonly FailedTask[]): Promise<number> {
  const told = failed.map((failure) => ({
    ...failure,
    function: failure.function ?? '',
    errorMessage: describeFailure(failure),
  }))
  const rows = await db.sql`
    insert into service_failure (service_id, function, at, error_code, error_message, http_code, http_seconds)
    select f.id, f.function, coalesce(f.datetime, booked.at), f.error_code, f.error_message, f.http_code,
      f.http_time
    from ${sql.rows('f', told, FAILED)}
    cross join lateral (
      select min(c.at) as at from charge c where c.service_id = f.id
    ) booked
    where booked.at is not null
    on conflict do nothing
    returning 1`
  return rows.length
}

/**
 * Pure: the message of a failure, with every address in it cut to its host, also where slashes are escaped.
 * The path of the webhook is removed where it stands alone, and percent-encoded addresses are removed whole.
 */
export function describeFailure({
  errorMessage,
  httpUrl,
}: Pick<FailedTask, 'errorMessage' | 'httpUrl'>): string | null {
  if (errorMessage === null) return null
  const path = httpUrl !== null && URL.canParse(httpUrl) ? new URL(httpUrl).pathname : ''
  const message = path.length > 1 ? errorMessage.replaceAll(path, '/…') : errorMessage
  return (
    message
      // The lookbehind lets a scheme begin at its first character only: trying each character would take
      // quadratic time.
      .replace(/(?<![a-z0-9+.-])([a-z0-9+.-]+):(?:\\?\/){2}(?:[^\s/\\?#@]*@)?([^\s/\\?#]*)\S*/gi, '$1://$2')
      .replace(/(?<![a-z0-9+.-])[a-z0-9+.-]+%(?:25)*3a%(?:25)*2f\S*/gi, '…')
  )
}

/** Of tasks that are still `posted`: the ready list names them too. */
async function resendFailed(db: Database, client: AppDataClient, signal?: AbortSignal): Promise<number> {
  let resent = 0
  for (;;) {
    signal?.throwIfAborted()
    const rows = await db.sql<{ id: string }[]>`
      select distinct f.service_id as id from service_failure f join task k on k.service_id = f.service_id
      where f.function = any(${WEBHOOKS}) and f.resent_at is null and k.state = 'posted'
      limit ${MAX_IDS_PER_RESEND}`
    if (rows.length === 0) return resent
    const ids = rows.map((row) => row.id)
    await client.resendWebhooks(ids)
    await db.sql`
      update service_failure set resent_at = clock_timestamp()
      where service_id = any(${ids}) and function = any(${WEBHOOKS}) and resent_at is null`
    resent += ids.length
  }
}
