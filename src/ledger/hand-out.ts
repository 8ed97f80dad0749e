/** `hand out`: a posted task is leased to one fetch job at a time, by the clock: a crash ends no lease. */
import type { SqlRunner, Transaction } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import type { ResultForm, ServiceFunction, Store } from '../service/functions.ts'
import { TIMINGS } from '../timings.ts'

/** One result to fetch, as it travels in a fetch job. */
export interface FetchItem {
  readonly serviceId: string
  /** As the ready list gave it; null: ask by id. */
  readonly path: string | null
  /** The form at `path`; raw pages only where nothing else is offered. */
  readonly kind: ResultForm
  /** The raw pages are wanted beside the result. */
  readonly html: boolean
  /** Where they are, as the ready list gave it; null: ask by id. */
  readonly htmlPath: string | null
  readonly store: Store
  readonly function: ServiceFunction
  readonly depth: number | null
  /** What its answer is compared with; missing in a job that an earlier version left in the queue. */
  readonly asked?: AskedTask
}

/** What a task asks for, beside its store, function and depth. */
export interface AskedTask {
  readonly taskId: string
  readonly attempt: number
  /** The keyword, the app's id or the collection. */
  readonly subject: string
  readonly category: string | null
  readonly locationCode: number
  readonly languageCode: string
  /** How long ago it was sent, at most, by the clock of the database when its result was handed out. */
  readonly ageMs: number
}

/** Columns of a FetchItem, of the task `k` and its target `t`. A recovered task was sent when reserved. */
export const FETCH_COLUMNS = sql`k.html, t.store, t.function, k.depth,
    jsonb_build_object('taskId', k.id, 'attempt', k.attempt, 'subject', t.subject, 'category', t.category,
      'locationCode', t.location_code, 'languageCode', t.language_code,
      'ageMs', ceil(extract(epoch from clock_timestamp() - least(k.posted_at, k.reserved_at)) * 1000)
    ) as asked`

/** The other columns of one that is asked for by its id. */
export const BY_ID = sql`null as path, 'advanced' as kind, null as "htmlPath"`

/** A row of a ready list, or a pingback. */
export interface ReadyTask extends Pick<FetchItem, 'path' | 'kind' | 'htmlPath'> {
  readonly id: string
}

const OVERDUE_AT_ONCE = 1_000
const lease = () => sql`make_interval(secs => ${TIMINGS.leaseMs / 1000})`
const IS_FREE = sql`(k.fetching_until is null or k.fetching_until < clock_timestamp())`

/** Leases the tasks that are `posted` and not leased. Those that another transaction has locked are left. */
export async function leaseReadyTasks(tx: Transaction, ready: readonly ReadyTask[]): Promise<FetchItem[]> {
  return tx<FetchItem[]>`
    with free as (
      select k.id, r.path, r.kind, r.html_path
      from ${sql.rows('r', ready, 'id text, path text, kind text, htmlPath text')}
      join task k on k.service_id = r.id
      where k.state = 'posted' and ${IS_FREE}
      for update of k skip locked
    )
    update task k set fetching_until = clock_timestamp() + ${lease()}
    from free f, target t
    where k.id = f.id and t.id = k.target_id
    returning k.service_id as "serviceId", f.path, f.kind, f.html_path as "htmlPath", ${FETCH_COLUMNS}`
}

/** Tasks that were posted or leased by a clock which was ahead, and is set right, wait for it no longer. */
export async function endLeasesOfFuture(db: SqlRunner): Promise<void> {
  await db`
    update task set fetching_until = null, posted_at = least(posted_at, clock_timestamp()),
      ask_at = ask_at - greatest(posted_at - clock_timestamp(), interval '0')
    where attempt > 0 and state = 'posted' and (posted_at > clock_timestamp() or problem is null
      and fetching_until > clock_timestamp() + ${lease()})`
}

/**
 * Leases overdue tasks, which no ready list has named in time. They stay overdue until their result comes.
 * @param patience how many times as long as usual it may take
 */
export async function leaseOverdueTasks(tx: Transaction, patience: number): Promise<FetchItem[]> {
  return tx<FetchItem[]>`
    with overdue as (
      select k.id from task k
      -- A subquery, because a volatile function is no bound of an index scan.
      where k.attempt > 0 and k.state = 'posted' and k.ask_at < (select clock_timestamp())
        and k.posted_at + (k.ask_at - k.posted_at) * ${patience}::float8 < clock_timestamp() and ${IS_FREE}
      order by k.ask_at limit ${OVERDUE_AT_ONCE} for update skip locked
    )
    update task k set fetching_until = clock_timestamp() + ${lease()},
      ask_at = clock_timestamp() + least(interval '1 day',
        greatest(make_interval(secs => ${TIMINGS.askAgainFromMs / 1000}), clock_timestamp() - k.posted_at))
    from overdue o, target t
    where k.id = o.id and t.id = k.target_id
    returning k.service_id as "serviceId", ${BY_ID}, ${FETCH_COLUMNS}`
}

export type Endpoint = Pick<FetchItem, 'store' | 'function'>

/**
 * Endpoints with tasks that are not leased, or with unknown posts: all ready lists share 20 calls a minute.
 * The index of posted tasks is read for each from the newest to the first that is not leased.
 */
export async function listOutstandingEndpoints(db: SqlRunner): Promise<Endpoint[]> {
  const next = sql`select k.endpoint, k.target_id from task k
      where k.attempt > 0 and k.state = 'posted' and ${IS_FREE}`
  return db<Endpoint[]>`
    with recursive awaited as (
      (${next} and k.endpoint is not null order by k.endpoint desc limit 1)
      union all
      select further.* from awaited a
      cross join lateral (${next} and k.endpoint < a.endpoint order by k.endpoint desc limit 1) further
    )
    select t.store, t.function from awaited a join target t on t.id = a.target_id
    union
    -- A search in listings has no ready list.
    select store, function from post where state = 'unknown' and endpoint_of(store, function) is not null
    order by 1, 2`
}
