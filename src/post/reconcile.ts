/**
 * What became of posts: the sweep enqueues what lost its job, and one scan of the service's list serves all
 * that are `unknown` (docs/protocol.md: The way of a post).
 */
import type { Database, Transaction } from '../db/database.ts'
import { adoptOrphans, keepUncharged, settleKnownPosts, toListedIds } from '../ledger/adopt.ts'
import { correctIds } from '../ledger/correct-ids.ts'
import { lockTasksOfPosts, withLedgerLock } from '../ledger/lock.ts'
import { packTasks } from '../ledger/plan-tasks.ts'
import { giveUpUnknownPosts, markOverduePosts, readUnknownPosts, releaseMissing } from '../ledger/release.ts'
import { logDuplicates } from '../ledger/task-failures.ts'
import type { Logger } from '../log.ts'
import type { AppDataClient } from '../service/client.ts'
import { TIMINGS } from '../timings.ts'
import { type ScanOptions, scanTaskHistory, TAGS_KNOWN_DAYS, toCreated } from './task-history.ts'

export type Swept = Awaited<ReturnType<typeof sweepPosts>>

/** The oldest (ids ascend) are sent next. A younger one that lost its job is found when it is among them. */
const SWEPT_POSTS = 1_000

/**
 * Packs planned tasks without a post, enqueues posts (one with a job is ignored), marks overdue ones.
 * @returns posts that are unknown now, those made of released tasks, and the oldest that are not sent yet
 */
export async function sweepPosts(
  db: Database,
  enqueuePosts: (tx: Transaction, postIds: readonly string[]) => Promise<void>,
) {
  const overdue = await markOverduePosts(db.sql)
  return withLedgerLock(db, 'The sweep', async (tx) => {
    const packed = await packTasks(tx)
    const ready = await tx<{ id: string }[]>`
      select id from post where state = 'ready' order by id limit ${SWEPT_POSTS}`
    await enqueuePosts(tx, [...new Set([...packed, ...ready.map((post) => post.id)])])
    return { overdue, packed: packed.length, ready: ready.length }
  })
}

export interface ReconcileOptions extends Pick<ScanOptions, 'waitsForLimit'> {
  /** Longer than TCP may still deliver what a dead runner wrote. */
  readonly quietMs: number
  readonly overdueAfterMs: number
  /** Ends the scan between two pages. */
  readonly signal?: AbortSignal
  /** Has a line for each task that was charged twice. */
  readonly log?: Logger
}

/**
 * Adopts what the list has of them, and releases what is proven missing. Free of charge.
 * @returns what became of them, and whether the scan saw every task: null without one
 */
export async function reconcileUnknownPosts(db: Database, client: AppDataClient, options: ReconcileOptions) {
  await db.begin((tx) => giveUpUnknownPosts(tx, TAGS_KNOWN_DAYS))
  const [unknown] = await db.sql<{ postIds: string[] | null; from: Date; to: Date }[]>`
    select array_agg(id) as "postIds", clock_timestamp() as "to",
      min(send_before)
        - make_interval(secs => ${(TIMINGS.longestPermitMs + TIMINGS.clockChangeMs) / 1000}) as "from"
    from post where state = 'unknown'`
  if (unknown?.postIds == null) {
    return { unknownPosts: 0, waitsUntil: null, adopted: 0, duplicates: 0, released: 0, isComplete: null }
  }
  const { postIds } = unknown
  // What was posted after this is not listed yet: for the proof the scan ends there (docs/protocol.md: Where
  // the list ends).
  const scannedTo = new Date(unknown.to.getTime() - client.unlistedMs)
  // The range goes by the service's clock, hours from the database's: it would be refused, or miss tasks.
  const { present, listedTo } = await client.readListEnd()
  const from = new Date(unknown.from.getTime() + present.getTime() - unknown.to.getTime())
  const range = { from, to: listedTo }
  const { found: listedTasks, isComplete } = await scanTaskHistory(client, range, toCreated, options)
  if (isComplete) await correctIds(db, listedTasks, options.log)
  const listed = isComplete ? toListedIds(listedTasks) : null
  const found = await keepUncharged(db.sql, listedTasks, ({ serviceId }) => serviceId)
  const reconciled = await db.begin(async (tx) => {
    const taskIds = found.map((task) => task.taskId)
    await lockTasksOfPosts(tx, postIds, taskIds)
    const evidence = await adoptOrphans(tx, found, options.overdueAfterMs, listed)
    await tx`select id from post where id = any(${postIds}) order by id for update`
    if (isComplete) await settleKnownPosts(tx, postIds)
    const released = isComplete ? await releaseMissing(tx, postIds, scannedTo, options.quietMs) : 0
    return { ...evidence, released, ...(await readUnknownPosts(tx, options.quietMs)), isComplete }
  })
  if (reconciled.duplicates > 0) await logDuplicates(db.sql, options.log, found)
  return reconciled
}
