/**
 * Which results are fetched next: what the ready lists name, and what should long have been named. A task is handed to one
 * fetch job at a time; the job that loses it to a crash gives it back by the clock.
 */

import { readPatience } from '../account/service-status.ts'
import type { Database, Transaction } from '../db/database.ts'
import { adoptOrphans, type CreatedTask } from '../ledger/adopt.ts'
import {
  type FetchItem,
  leaseOverdueTasks,
  leaseReadyTasks,
  listOutstandingEndpoints,
  type ReadyTask,
} from '../ledger/hand-out.ts'
import { parseTag } from '../ledger/tag.ts'
import type { AppDataClient } from '../service/client.ts'
import { MAX_READY_ROWS, type ReadyRow } from '../service/ready-list.ts'

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

/** Asks the ready list of each endpoint that may name something new, and keeps asking while a list comes back full. */
export async function handOutReady(
  db: Database,
  client: AppDataClient,
  options: HandOutOptions,
  enqueue: EnqueueFetch,
): Promise<HandedOut> {
  let handedOut = 0
  let foreign = 0
  for (const endpoint of await listOutstandingEndpoints(db.sql)) {
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
    const items = await leaseOverdueTasks(tx, await readPatience(tx))
    await enqueue(tx, items)
    return items.length
  })
}

/** What says that a result is ready, and by its tag whose it is. */
export type ReadyNotice = ReadyTask & Pick<ReadyRow, 'tag'>

/**
 * Hands out what is posted and free. Rows whose tag is ours but whose post was never settled are evidence, and
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
    const items = await leaseReadyTasks(tx, rows)
    await enqueue(tx, items)
    return items.length
  })
}

/** What a notice proves by its tag: the task was created, at a cost that it does not say. */
export function toCreated(notice: Pick<ReadyRow, 'id' | 'tag'>): CreatedTask[] {
  const tag = parseTag(notice.tag)
  return tag === null ? [] : [{ ...tag, serviceId: notice.id, costMicros: null }]
}
