/** Which results are fetched next: those that the ready lists name, and those that are overdue. */

import { setTimeout as sleep } from 'node:timers/promises'
import { readPatience } from '../account/service-status.ts'
import type { Database, Transaction } from '../db/database.ts'
import { adoptOrphans } from '../ledger/adopt.ts'
import {
  type Endpoint,
  type FetchItem,
  leaseOverdueTasks,
  leaseReadyTasks,
  listOutstandingEndpoints,
  type ReadyTask,
} from '../ledger/hand-out.ts'
import { parseTag } from '../ledger/tag.ts'
import type { AppDataClient } from '../service/client.ts'
import { MAX_READY_ROWS, type ReadyRow } from '../service/task-result.ts'

/** Called in the transaction that leases the tasks, so that none is leased without a job. */
export type EnqueueFetch = (tx: Transaction, items: readonly FetchItem[]) => Promise<void>

export interface HandOutOptions {
  readonly overdueAfterMs: number
  /** Ends it between two lists. */
  readonly signal?: AbortSignal
  /** Jobs that fetch results and have not ended; without it a full list is not waited for. */
  readonly countFetchJobs?: () => Promise<number>
}

/** With no more fetch jobs than this a full list is asked again: what it showed is all but fetched. */
const FEW_FETCH_JOBS = 3
const LOOK_EVERY_MS = 100
/** The job that asks comes every minute. */
const FOLLOW_MS = 50_000

/** The list of one endpoint, or of all. */
type List = Endpoint | 'all'
/** `useless`: it is not offered, or full of what waits for others or is not ours. */
type Asked = 'read' | 'full' | 'useless'

/**
 * Asks the ready list of each endpoint with outstanding tasks, or that of all, if there are several and the
 * service offers one. A full list shows other rows once these are fetched: it is asked again for most of a
 * minute, when few of them are under way.
 */
export async function handOutReady(
  db: Database,
  client: AppDataClient,
  options: HandOutOptions,
  enqueue: EnqueueFetch,
) {
  const untilMs = performance.now() + FOLLOW_MS
  const sum = {
    handedOut: 0,
    /** Rows with a tag that is not ours: another program of the account owns them. */
    foreign: 0,
    /** How often a ready list was asked. */
    lists: 0,
  }
  const endpoints = await listOutstandingEndpoints(db.sql)
  const ask = async (list: List): Promise<Asked> => {
    options.signal?.throwIfAborted()
    const rows =
      list === 'all' ? await client.listAllReady() : await client.listReady(list.store, list.function)
    if (rows === null) return 'useless'
    const handed = await handOutRows(db, rows, options, enqueue)
    sum.lists += 1
    sum.handedOut += handed
    sum.foreign += rows.filter((row) => row.tag !== null && parseTag(row.tag) === null).length
    if (rows.length + rows.dropped < MAX_READY_ROWS) return 'read'
    return handed > 0 ? 'full' : 'useless'
  }
  let lists: readonly List[] = endpoints.length > 1 ? ['all'] : endpoints
  for (;;) {
    const full: List[] = []
    for (const list of lists) {
      const asked = await ask(list)
      if (asked === 'full') full.push(list)
      if (asked === 'useless' && list === 'all') full.push(...endpoints)
    }
    lists = full
    if (full.length === 0 || !(await areAllButFetched(options, untilMs))) return sum
  }
}

/** Waits until what was handed out is all but fetched. False when that takes too long. */
async function areAllButFetched(
  { countFetchJobs, signal }: HandOutOptions,
  untilMs: number,
): Promise<boolean> {
  if (countFetchJobs === undefined) return true
  while (performance.now() < untilMs) {
    if ((await countFetchJobs()) <= FEW_FETCH_JOBS) return true
    await sleep(LOOK_EVERY_MS, undefined, { ...(signal && { signal }) })
  }
  return false
}

/** Leases overdue tasks, to be asked for by id; several times as late while the service reports delays. */
export async function handOutOverdue(db: Database, enqueue: EnqueueFetch): Promise<number> {
  return db.begin(async (tx) => {
    const items = await leaseOverdueTasks(tx, await readPatience(tx))
    await enqueue(tx, items)
    return items.length
  })
}

/**
 * Leases the tasks that are `posted` and not leased. A tag of ours proves that its task was created, so tasks
 * whose post is not settled are adopted first; a row does not say their cost.
 */
export async function handOutRows(
  db: Database,
  rows: readonly (ReadyTask & Pick<ReadyRow, 'tag'>)[],
  options: HandOutOptions,
  enqueue: EnqueueFetch,
): Promise<number> {
  if (rows.length === 0) return 0
  const created = rows.flatMap(({ id, tag }) => {
    const parsed = parseTag(tag)
    return parsed === null ? [] : [{ ...parsed, serviceId: id, costMicros: null }]
  })
  return db.begin(async (tx) => {
    await adoptOrphans(tx, created, options.overdueAfterMs, null)
    return leaseRows(tx, rows, enqueue)
  })
}

/** Leases the tasks that the rows name and that are `posted` and not leased. */
export async function leaseRows(
  tx: Transaction,
  rows: readonly ReadyTask[],
  enqueue: EnqueueFetch,
): Promise<number> {
  const items = await leaseReadyTasks(tx, rows)
  await enqueue(tx, items)
  return items.length
}
