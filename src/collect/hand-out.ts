/**
 * Which results are fetched next: what the ready lists name, and what should long have been named. A task is handed to one
 * fetch job at a time; the job that loses it to a crash gives it back by the clock.
 */
import type { Database, Transaction } from '../db/database.ts'
import { readPatience } from '../plan/service-status.ts'
import { adoptOrphans, type CreatedTask } from '../post/evidence.ts'
import { parseTag } from '../post/tag.ts'
import type { AppDataClient } from '../service/client.ts'
import type { ResultForm, ServiceFunction, Store } from '../service/functions.ts'
import { MAX_READY_ROWS, type ReadyRow } from '../service/ready-list.ts'

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
}

/** Called in the transaction that hands the tasks out, so that none is handed out without a job. */
export type EnqueueFetch = (tx: Transaction, items: readonly FetchItem[]) => Promise<void>

export interface HandOutOptions {
  readonly overdueAfterMs: number
  /** Ends it between two lists. */
  readonly signal?: AbortSignal
}

export interface HandedOut {
  readonly handedOut: number
  /** Rows with a tag that is not ours: another program of the account owns them. */
  readonly foreign: number
}

interface Endpoint {
  readonly store: Store
  readonly function: ServiceFunction
}

/** A fetch job that has not ended by then is dead. */
const HANDED_OUT_MS = 5 * 60_000
const OVERDUE_AT_ONCE = 1_000
/** Asking again for what is overdue: each time twice as late, at most a day (asking is free). */
const ASK_AGAIN_FROM_MS = 5 * 60_000

/** Asks the ready list of each endpoint that may name something new, and keeps asking while a list comes back full. */
export async function handOutReady(
  db: Database,
  client: AppDataClient,
  options: HandOutOptions,
  enqueue: EnqueueFetch,
): Promise<HandedOut> {
  let handedOut = 0
  let foreign = 0
  for (const endpoint of await listOutstandingEndpoints(db)) {
    for (;;) {
      options.signal?.throwIfAborted()
      const rows = await client.listReady(endpoint.store, endpoint.function)
      const handed = await handOutRows(db, rows, options, enqueue)
      handedOut += handed
      foreign += rows.filter((row) => row.tag !== null && parseTag(row.tag) === null).length
      // A full list of rows that are all handed out already moves on only when they have been fetched.
      if (rows.length + rows.dropped < MAX_READY_ROWS || handed === 0) break
    }
  }
  return { handedOut, foreign }
}

/**
 * Tasks that no ready list named in time are asked for by id; nothing waits for ever on a list that is stuck. While the
 * service says that it is late they have several times as long.
 */
export async function handOutOverdue(db: Database, enqueue: EnqueueFetch): Promise<number> {
  return db.begin(async (tx) => {
    const patience = await readPatience(tx)
    const items = await tx<FetchItem[]>`
      with overdue as (
        select k.id from task k
        where k.state = 'posted' and k.ask_at < clock_timestamp()
          and k.posted_at + (k.ask_at - k.posted_at) * ${patience}::float8 < clock_timestamp()
          and (k.fetching_until is null or k.fetching_until < clock_timestamp())
        order by k.ask_at limit ${OVERDUE_AT_ONCE} for update skip locked
      )
      update task k set fetching_until = clock_timestamp() + make_interval(secs => ${HANDED_OUT_MS / 1000}),
        ask_at = clock_timestamp() + least(interval '1 day',
          greatest(make_interval(secs => ${ASK_AGAIN_FROM_MS / 1000}), clock_timestamp() - k.posted_at))
      from overdue o, target t
      where k.id = o.id and t.id = k.target_id
      returning k.service_id as "serviceId", null as path, 'advanced' as kind, k.html, null as "htmlPath", t.store, t.function,
        k.depth`
    await enqueue(tx, items)
    return items.length
  })
}

/** Endpoints with tasks that are in nobody's hands: all six share 20 calls a minute (SERVICE-NOTES: tasks_ready limits). */
async function listOutstandingEndpoints(db: Database): Promise<Endpoint[]> {
  return db.sql<Endpoint[]>`
    select distinct t.store, t.function
    from task k join target t on t.id = k.target_id left join post p on p.id = k.post_id
    where (k.state = 'posted' and (k.fetching_until is null or k.fetching_until < clock_timestamp()))
      or (k.state = 'posting' and p.state = 'unknown')
    order by 1, 2`
}

/** What says that a result is ready; without a path it is asked for by id. */
export type ReadyNotice = Pick<ReadyRow, 'id' | 'tag' | 'kind' | 'htmlPath'> & {
  readonly path: string | null
}

/**
 * Hands out what is posted and in nobody's hands. Rows whose tag is ours but whose post was never settled are evidence, and
 * adopted first. What another transaction is just handing out or storing is left to it.
 */
export async function handOutRows(
  db: Database,
  rows: readonly ReadyNotice[],
  options: HandOutOptions,
  enqueue: EnqueueFetch,
): Promise<number> {
  if (rows.length === 0) return 0
  return db.begin(async (tx) => {
    await adoptOrphans(tx, rows.flatMap(toCreated), options.overdueAfterMs)
    const items = await tx<FetchItem[]>`
      with ready as (
        select * from unnest(${rows.map((row) => row.id)}::text[], ${rows.map((row) => row.path)}::text[],
          ${rows.map((row) => row.kind)}::text[], ${rows.map((row) => row.htmlPath)}::text[])
          as r (service_id, path, kind, html_path)
      ),
      free as (
        select k.id, r.path, r.kind, r.html_path from ready r join task k using (service_id)
        where k.state = 'posted' and (k.fetching_until is null or k.fetching_until < clock_timestamp())
        for update of k skip locked
      )
      update task k set fetching_until = clock_timestamp() + make_interval(secs => ${HANDED_OUT_MS / 1000})
      from free f, target t
      where k.id = f.id and t.id = k.target_id
      returning k.service_id as "serviceId", f.path, f.kind, k.html, f.html_path as "htmlPath", t.store, t.function, k.depth`
    await enqueue(tx, items)
    return items.length
  })
}

/** What a notice proves by its tag: the task was created, at a cost that it does not say. */
export function toCreated(notice: Pick<ReadyRow, 'id' | 'tag'>): CreatedTask[] {
  const tag = parseTag(notice.tag)
  return tag === null ? [] : [{ ...tag, serviceId: notice.id, costMicros: null }]
}
