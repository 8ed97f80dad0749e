/**
 * The status that the service reports of itself (spec: Status record). While it reports a major outage of
 * posting nothing is posted; while it reports a delay, results are asked for by id later. A status that is
 * unknown or old stops nothing.
 */
import type { Database, SqlRunner } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import { StorerankError } from '../errors.ts'
import { formatMinute } from '../instant.ts'
import type { Logger } from '../log.ts'
import type { AppDataClient } from '../service/client.ts'

export interface ServiceStatus {
  /** `app_data` or `appendix`. */
  readonly api: string
  /** Empty: the API as a whole. */
  readonly endpoint: string
  readonly status: string
  readonly since: Date
  readonly checkedAt: Date
}

/** A major outage of posting. */
export interface Outage {
  readonly since: Date
  readonly checkedAt: Date
}

/** What asking the service for its status needs. */
export interface LookContext {
  readonly db: Database
  readonly client: AppDataClient
  readonly log: Logger
}

/** All runners together ask twice a minute at most, of the ten calls that are allowed (spec: Limits). */
const FRESH_S = 30
/** A status older than that stops nothing: posting into an outage costs time, and no money. */
const BELIEVED_MINUTES = 10
/** The parts of the service that storerank calls. Its status names all that it sells. */
const OUR_APIS = ['app_data', 'appendix']
/** Reports of late results. Asking for each result by id would only add to the load. */
const DELAYS = ['webhook_delay', 'send_delay', 'long_execution_time', 'partial_outage']
const PATIENCE_IN_DELAY = 3

/**
 * Asks the service for its status, unless a runner has asked within `freshS`, records the answer, and logs
 * what has changed. When the service cannot be asked, it logs a warning.
 */
export async function refreshServiceStatus(
  { db, client, log }: LookContext,
  freshS = FRESH_S,
): Promise<void> {
  const [row] = await db.sql<{ isFresh: boolean }[]>`
    select coalesce(max(checked_at) between clock_timestamp() - make_interval(secs => ${freshS})
      and clock_timestamp(), false) as "isFresh"
    from service_status`
  if (row?.isFresh) return
  try {
    const apis = (await client.getStatus()).filter(({ api }) => OUR_APIS.includes(api))
    const told = apis.flatMap(({ api, status, endpoints }) => [
      { api, endpoint: '', status },
      ...endpoints.map((endpoint) => ({ api, ...endpoint })),
    ])
    if (told.length === 0) return
    for (const changed of await recordStatus(db, told))
      log.warn(changed, 'the service says that its status has changed')
  } catch (error) {
    if (!(error instanceof StorerankError)) throw error
    log.warn({ err: error }, 'the status of the service could not be learned')
  }
}

/** Replaces the recorded status. Returns what has changed; the first time, what is not ok. */
async function recordStatus(
  db: Database,
  told: readonly Pick<ServiceStatus, 'api' | 'endpoint' | 'status'>[],
) {
  return db.sql<Omit<ServiceStatus, 'checkedAt'>[]>`
    with told as (
      select distinct on (api, endpoint) *
        from ${sql.rows('t', told, 'api text, endpoint text, status text')}
    ),
    gone as (
      delete from service_status s where not exists (select from told t where t.api = s.api
        and t.endpoint = s.endpoint)
    ),
    recorded as (
      insert into service_status (api, endpoint, status, since) select api, endpoint, status, storerank_now()
        from told
      on conflict (api, endpoint) do update set status = excluded.status, checked_at = clock_timestamp(),
        since = case service_status.status when excluded.status then service_status.since
          else storerank_now() end
      returning api, endpoint, status, since
    )
    select r.api, r.endpoint, r.status, r.since
    from recorded r left join service_status k using (api, endpoint)
    where r.status <> coalesce(k.status, 'ok')`
}

/** Everything that is not ok, as last told. */
export async function readServiceTroubles(db: Database): Promise<ServiceStatus[]> {
  return db.sql<ServiceStatus[]>`
    select api, endpoint, status, since, checked_at as "checkedAt"
    from service_status where status <> 'ok' order by api, endpoint`
}

/** The outage that stops posting, or null. An API that lists no endpoints speaks for all of them. */
export async function readPostingOutage(db: SqlRunner): Promise<Outage | null> {
  const [outage] = await db<Outage[]>`
    select s.since, s.checked_at as "checkedAt" from service_status s
    where s.api = 'app_data' and s.status = 'major_outage'
      and s.checked_at > clock_timestamp() - make_interval(mins => ${BELIEVED_MINUTES})
      and s.endpoint in ('task_post', '') and (s.endpoint = 'task_post' or not exists (
        select from service_status e where e.api = 'app_data' and e.endpoint = 'task_post'))`
  return outage ?? null
}

/** A sentence for a person, and for the reason of a gap. */
export function describeOutage({ since }: Outage): string {
  return `The service reports a major outage of posting since ${formatMinute(since)}.`
}

/** How many times as long as usual a result may take before it is asked for by id. */
export async function readPatience(db: SqlRunner): Promise<number> {
  const [row] = await db<{ isDelayed: boolean }[]>`
    select exists (
      select from service_status s
      where s.api = 'app_data' and s.status = any(${DELAYS})
        and s.checked_at > clock_timestamp() - make_interval(mins => ${BELIEVED_MINUTES})) as "isDelayed"`
  return row?.isDelayed ? PATIENCE_IN_DELAY : 1
}
