/**
 * Reconciling posts that are `unknown`. One scan of the service's own task history serves all of them. Tasks
 * whose tags are found are adopted. "Not found" takes two complete scans, the second begun after the quiet
 * time. An adoption always beats a release.
 */
import type { Database } from '../db/database.ts'
import {
  adoptOrphans,
  type CreatedTask,
  keepUncharged,
  settleKnownPosts,
  toListedIds,
} from '../ledger/adopt.ts'
import { correctIds } from '../ledger/correct-ids.ts'
import { lockTasksOfPosts } from '../ledger/lock.ts'
import { giveUpUnknownPosts, readUnknownPosts, type UnknownPosts } from '../ledger/posts.ts'
import { releaseMissing } from '../ledger/release.ts'
import { logDuplicates } from '../ledger/task-log.ts'
import type { Logger } from '../log.ts'
import type { AppDataClient } from '../service/client.ts'
import { TIMINGS } from '../timings.ts'
import {
  type Range,
  type ScanOptions,
  scanTaskHistory,
  TAGS_KNOWN_DAYS,
  type TaskHistory,
  toCreated,
} from './task-history.ts'

export interface ReconcileOptions extends Pick<ScanOptions, 'waitsForLimit'> {
  /** Longer than TCP may still deliver what a dead runner wrote. */
  readonly quietMs: number
  readonly overdueAfterMs: number
  /** Ends the scan between two pages. */
  readonly signal?: AbortSignal
  /** Has a line for each task that was charged twice. */
  readonly log?: Logger
}

export interface Reconciled extends UnknownPosts {
  readonly adopted: number
  readonly duplicates: number
  readonly released: number
  /** Whether the scan saw every task; null without one. */
  readonly isComplete: boolean | null
}

/**
 * Scans once for all unknown posts, adopts what is found and releases what is proven missing. Free of charge.
 */
export async function reconcileUnknownPosts(
  db: Database,
  client: AppDataClient,
  options: ReconcileOptions,
): Promise<Reconciled> {
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
  const scan = await scanUntilNow(client, unknown, options)
  const { isComplete } = scan
  if (isComplete) await correctIds(db, scan.found, options.log)
  const listed = isComplete ? toListedIds(scan.found) : null
  const found = await keepUncharged(db.sql, scan.found, ({ serviceId }) => serviceId)
  const reconciled = await db.begin(async (tx) => {
    await lockTasksOfPosts(
      tx,
      postIds,
      found.map((task) => task.taskId),
    )
    const evidence = await adoptOrphans(tx, found, options.overdueAfterMs, listed)
    await tx`select id from post where id = any(${postIds}) order by id for update`
    if (isComplete) await settleKnownPosts(tx, postIds)
    const released = isComplete ? await releaseMissing(tx, postIds, scannedTo, options.quietMs) : 0
    return { ...evidence, released, ...(await readUnknownPosts(tx, options.quietMs)), isComplete }
  })
  if (reconciled.duplicates > 0) await logDuplicates(db.sql, options.log, found)
  return reconciled
}

/**
 * The range goes by the service's own clock, which may differ from the database's by hours. A range by the
 * database's clock could be refused, or miss tasks that were created, which would then be paid for twice.
 * @param range by the clock of the database; `to` is its present
 */
async function scanUntilNow(
  client: AppDataClient,
  range: Range,
  { signal, waitsForLimit }: ScanOptions,
): Promise<TaskHistory<CreatedTask>> {
  const { present, listedTo } = await client.readListEnd()
  const aheadMs = present.getTime() - range.to.getTime()
  const from = new Date(range.from.getTime() + aheadMs)
  return scanTaskHistory(client, { from, to: listedTo }, toCreated, { signal, waitsForLimit })
}
