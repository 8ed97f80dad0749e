/**
 * Reads back what was bought after a backup, at its true cost. It can be ended and run again. It posts
 * nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../db/database.ts'
import { UnavailableError } from '../errors.ts'
import { keepUncharged } from '../ledger/adopt.ts'
import { withLedgerLock } from '../ledger/lock.ts'
import { type ListedTask, recoverTasks } from '../ledger/recover.ts'
import { markOverduePosts } from '../ledger/release.ts'
import { advanceRecovery, readRestoreState, recordCheck } from '../ledger/restored.ts'
import { parseTag } from '../ledger/tag.ts'
import { logDuplicates } from '../ledger/task-failures.ts'
import type { AppDataClient } from '../service/client.ts'
import { readPostedTask, type TaskIdRow } from '../service/task-ids.ts'
import { type ReconcileOptions, reconcileUnknownPosts } from './reconcile.ts'
import { rangeSinceLastCharge } from './restored.ts'
import { EDGE_MS, type Range, scanTaskHistory, slicesOf, waitUntilListed } from './task-history.ts'

export interface RecoverOptions extends ReconcileOptions {
  /** Tells of progress: up to when the list is read, and how many tasks were adopted. */
  readonly onProgress?: (readTo: Date, recovered: number) => void
  /** Tells that it waits, until when and why. */
  readonly onWait?: (until: Date, why: string) => void
}

export type RecoveredTasks = Awaited<ReturnType<typeof recoverForgottenTasks>>

/** Each piece of the list is read whole before its tasks are adopted. */
const PIECE_MS = 24 * 3_600_000
/** Tasks that are adopted in one transaction, which holds the ledger's lock. */
const SLICE_TASKS = 500

/**
 * Reads the list from the last charge to the present and adopts what is missing, after the posts that are
 * unknown. A task younger than the quiet time is waited for: a post of another copy may still arrive.
 * @returns what was read of the list, by the service's clock; tasks that are known now and were not before,
 *   what they cost net of refunds, and those of them that were paid for beside another of the same slot; and
 *   tasks of which the list does not say what they measured, which have no charge here
 * @throws UnavailableError when the list never stood still while it was read. What was adopted stays.
 */
export async function recoverForgottenTasks(db: Database, client: AppDataClient, options: RecoverOptions) {
  const state = await readRestoreState(db.sql)
  const sinceCharge = await rangeSinceLastCharge(client, state)
  const from = state.recoverFrom ?? sinceCharge.from
  await advanceRecovery(db.sql, from)
  await waitUntilListed(client, options.signal)
  await settleUnknownPosts(db, client, options)
  const total: Total = { recovered: 0, duplicates: 0, netMicros: 0, unreadable: new Set() }
  let begin = from
  let newestMs = 0
  for (;;) {
    const { listedTo } = await client.readListEnd()
    const end = new Date(Math.min(listedTo.getTime(), begin.getTime() + PIECE_MS))
    const range = { from: begin, to: end }
    const newest = await recoverPiece(db, client, state.installation, range, options, total)
    options.onProgress?.(end, total.recovered)
    // A time that was not asked for would be waited for.
    newestMs = Math.max(newestMs, Math.min(newest, end.getTime()))
    const quietAtMs = newestMs + options.quietMs
    if (end < listedTo) begin = end
    else if (quietAtMs <= listedTo.getTime()) {
      await advanceRecovery(db.sql, null)
      await recordCheck(db)
      return { from, to: end, ...total, unreadable: total.unreadable.size }
    } else {
      const waitMs = quietAtMs - listedTo.getTime()
      const why = 'what another copy has sent until now may still arrive'
      options.onWait?.(new Date(Date.now() + waitMs), why)
      await sleep(waitMs, undefined, { signal: options.signal })
      begin = new Date(newestMs - EDGE_MS)
    }
    await advanceRecovery(db.sql, begin)
  }
}

/** Until no post of the copy is unknown: its tasks are found, or proven missing by two scans. */
async function settleUnknownPosts(
  db: Database,
  client: AppDataClient,
  options: RecoverOptions,
): Promise<void> {
  await markOverduePosts(db.sql)
  for (;;) {
    const { unknownPosts, waitsUntil, isComplete } = await reconcileUnknownPosts(db, client, {
      ...options,
      waitsForLimit: true,
    })
    if (unknownPosts === 0) return
    if (isComplete === false) throw new UnavailableError(describeIncomplete('of its unknown posts'))
    const waitMs = Math.max(0, (waitsUntil?.getTime() ?? 0) - Date.now())
    const why = `${unknownPosts} posts whose answer was lost are looked for until then`
    if (waitMs > 0) options.onWait?.(new Date(Date.now() + waitMs), why)
    await sleep(Math.min(waitMs, options.quietMs), undefined, { signal: options.signal })
  }
}

type Total = Record<'recovered' | 'duplicates' | 'netMicros', number> & {
  /** The ids at the service. They have no charge, so each reading of the list finds them again. */
  readonly unreadable: Set<string>
}

/** @returns when the newest of its tasks was posted, by the clock of the service; 0 without one */
async function recoverPiece(
  db: Database,
  client: AppDataClient,
  installation: string,
  range: Range,
  { overdueAfterMs, log, signal }: RecoverOptions,
  total: Total,
): Promise<number> {
  const [clock] = await db.sql<{ now: Date }[]>`select storerank_now() as now`
  const aheadMs = (await client.readServiceTime()).getTime() - (clock?.now.getTime() ?? 0)
  const keep = (row: TaskIdRow) => readOwnTask(row, installation, aheadMs)
  const { found, isComplete } = await scanTaskHistory(client, range, keep, { signal, waitsForLimit: true })
  if (!isComplete) throw new UnavailableError(describeIncomplete(`from ${range.from.toISOString()} on`))
  const uncharged = await keepUncharged(db.sql, found, ({ serviceId }) => serviceId)
  const unknown = uncharged.sort((left, right) => left.postedAt.getTime() - right.postedAt.getTime())
  for (const id of await findUnreadable(db, unknown)) total.unreadable.add(id)
  for (const slice of slicesOf(unknown, SLICE_TASKS)) {
    const { adopted, duplicates, netMicros } = await withLedgerLock(db, 'The recovery', async (tx) =>
      recoverTasks(tx, slice, overdueAfterMs),
    )
    total.recovered += adopted + duplicates
    total.duplicates += duplicates
    total.netMicros += netMicros
    if (duplicates > 0) await logDuplicates(db.sql, log, slice)
  }
  return (unknown.at(-1)?.postedAt.getTime() ?? -aheadMs) + aheadMs
}

function describeIncomplete(which: string): string {
  return (
    `The tasks that the service lists ${which} changed places each time they were read. ` +
    'What was read before stays; run `storerank recover` again.'
  )
}

function readOwnTask(row: TaskIdRow, installation: string, aheadMs: number): ListedTask | null {
  const tag = parseTag(row.tag)
  if (tag === null || tag.origin?.installation !== installation) return null
  return {
    taskId: tag.taskId,
    attempt: tag.attempt,
    origin: tag.origin,
    serviceId: row.id,
    posted: readPostedTask(row),
    postedAt: new Date(row.datetimePosted.getTime() - aheadMs),
    costMicros: row.costMicros,
    isDone: row.datetimeDone !== null,
  }
}

/** Neither the list nor the ledger says what these measured. */
async function findUnreadable(db: Database, listed: readonly ListedTask[]): Promise<string[]> {
  const mute = listed.filter((task) => task.posted === null)
  if (mute.length === 0) return []
  const rows = await db.sql<{ id: string }[]>`
    select id from task where id = any(${mute.map((task) => task.taskId)}::uuid[])`
  const known = new Set(rows.map((row) => row.id))
  return mute.filter((task) => !known.has(task.taskId)).map((task) => task.serviceId)
}
