/**
 * Storing a batch of results: the dictionary and the apps' numbers first, then the rest in one transaction. A
 * batch that the database refuses is halved until the bad result stands alone.
 */
import { gunzipSync } from 'node:zlib'
import { compressBody, type Fetched, isIdDoubtful, whyUnusable } from '../collect/fetch.ts'
import { type Database, isDatabaseError, type Transaction } from '../db/database.ts'
import type { DatabaseError } from '../db/driver.ts'
import { doubtIds } from '../ledger/adopt.ts'
import { lockTasks } from '../ledger/lock.ts'
import {
  askAgain,
  deferResults,
  failResults,
  logFailedTasks,
  postAgain,
  rejectResults,
  type UnusableAnswer,
} from '../ledger/task-failures.ts'
import type { Logger } from '../log.ts'
import { insertPages, insertRankings, insertSnapshots, upsertReviews } from './captures.ts'
import type { AppIds, Dictionary } from './dictionary.ts'
import { appsOf, toNumbers, toPages, toRanking, toReviews, toSnapshot } from './encode.ts'
import { writeNumbers } from './numbers.ts'

export interface StoreDeps {
  readonly db: Database
  readonly dictionary: Dictionary
  readonly maxAttempts: number
}

export type StoredBatch = Readonly<
  Record<'stored' | 'failed' | 'unreadable' | 'postedAgain' | 'later', number>
>

/** Run at the end of the batch's transaction: completes the job that brought it. */
export type FinishBatch = (tx: Transaction) => Promise<void>

/**
 * SQLSTATE classes of the data, not of the server: cardinality, data exception, constraint, program limit. A
 * foreign key (23503) is none: no result names a row of ours.
 */
const DATA_ERROR = /^(21|22|23(?!503)|54)/

/**
 * Stores a batch of any size.
 * @param finish in the same transaction, or after the last part of a batch that was halved
 */
export async function storeFetched(
  deps: StoreDeps,
  batch: readonly Fetched[],
  finish: FinishBatch,
): Promise<StoredBatch> {
  try {
    return await storeWhole(deps, batch, finish)
  } catch (error) {
    if (!isDataError(error)) throw error
    // A month whose partition is missing is such an error too. Partitions are made ahead, so looking for them
    // each time would find nothing.
    await ensurePartitions(deps.db, batch)
    const total = await storeInParts(deps, batch)
    await deps.db.begin(finish)
    return total
  }
}

async function storeWhole(
  deps: StoreDeps,
  batch: readonly Fetched[],
  finish?: FinishBatch,
): Promise<StoredBatch> {
  const ids = await deps.dictionary.resolveAppIds(batch.map(appsOf))
  const numbers = batch.flatMap((fetched) => toNumbers(fetched, ids))
  await writeNumbers(deps.db, deps.dictionary.written, numbers)
  return deps.db.begin(async (tx) => {
    const stored = await storeBatch(tx, deps, batch, ids)
    await finish?.(tx)
    return stored
  })
}

/** Logs each task of a stored batch that failed. */
export async function logFailed(
  { sql }: Database,
  log: Logger,
  batch: readonly Fetched[],
  { failed, unreadable }: StoredBatch,
): Promise<void> {
  const serviceIds = batch.map((fetched) => fetched.item.serviceId)
  if (failed + unreadable > 0) await logFailedTasks(sql, log, { serviceIds })
}

async function storeInParts(deps: StoreDeps, batch: readonly Fetched[]): Promise<StoredBatch> {
  try {
    return await storeWhole(deps, batch)
  } catch (error) {
    const [first] = batch
    if (!isDataError(error) || first === undefined) throw error
    if (batch.length === 1) return storeWhole(deps, [refuse(first, error)])
    const middle = batch.length >> 1
    const sum: Record<keyof StoredBatch, number> = await storeInParts(deps, batch.slice(0, middle))
    const end = await storeInParts(deps, batch.slice(middle))
    for (const key of Object.keys(sum) as (keyof StoredBatch)[]) sum[key] += end[key]
    return sum
  }
}

function refuse(fetched: Fetched, error: DataError): Fetched {
  const refusal = { kind: 'unreadable', item: fetched.item, bodyGzip: compressBody(bodyOf(fetched)) } as const
  if (error instanceof RangeError) {
    return { ...refusal, path: 'result', problem: `The result cannot be written down: ${error.message}.` }
  }
  const path = error.constraint_name ?? error.column_name ?? 'result'
  return { ...refusal, path, problem: `The database refused the result (${error.code}): ${error.message}.` }
}

function bodyOf(fetched: Fetched): unknown {
  switch (fetched.kind) {
    case 'ranking':
      return fetched.search
    case 'snapshot':
      return fetched.info
    case 'reviews':
      return fetched.reviews
    case 'pages':
      return fetched.html.pages.map((page) => gunzipSync(page.htmlGzip).toString())
    default:
      return null
  }
}

async function storeBatch(
  tx: Transaction,
  deps: StoreDeps,
  batch: readonly Fetched[],
  ids: AppIds,
): Promise<StoredBatch> {
  const idsOf = (fetched: readonly Fetched[]) => fetched.map(({ item }) => item.serviceId)
  // The one statement that stores rankings locks their tasks in the same order.
  if (!batch.every(isUsual)) await lockTasks(tx, idsOf(batch))
  const asked = await askAgain(tx, batch.flatMap(toUnusableAnswer))
  const of = <K extends Fetched['kind']>(kind: K) =>
    batch
      .filter((fetched): fetched is Extract<Fetched, { kind: K }> => fetched.kind === kind)
      .filter(({ item }) => !asked.has(item.serviceId))
      .map((fetched) => ({ ...fetched, serviceId: fetched.item.serviceId }))
  const [failed, storeFailed] = [of('failed'), of('store_failed')]
  const [unreadable, later, reviews] = [of('unreadable'), of('later'), of('reviews')]
  const rankings = of('ranking').map((fetched) => toRanking(fetched, ids))
  const snapshots = [...of('snapshot'), ...reviews].map((fetched) => toSnapshot(fetched, ids))

  const stored = new Set([
    ...(await insertRankings(tx, rankings)),
    ...(await insertSnapshots(tx, snapshots)),
    ...(await insertPages(tx, of('pages').map(toPages))),
  ])
  await failResults(tx, failed)
  await rejectResults(tx, unreadable)
  await deferResults(tx, later)
  await doubtIds(tx, idsOf(batch.filter(isIdDoubtful)))
  const postedAgain = await postAgain(tx, storeFailed, deps.maxAttempts)
  // Last, because two batches may have reviews of one app: a transaction that holds them waits for no other
  // lock.
  const shown = reviews.filter(({ serviceId }) => stored.has(serviceId))
  const seen = shown.flatMap((fetched) => toReviews(fetched, ids))
  await upsertReviews(tx, seen)
  return {
    stored: stored.size,
    failed: failed.length + storeFailed.length - postedAgain,
    unreadable: unreadable.length,
    postedAgain,
    later: later.length + asked.size,
  }
}

/** A search or a chart without trouble: what nearly all batches hold alone. */
function isUsual(fetched: Fetched): boolean {
  return fetched.kind === 'ranking' && whyUnusable(fetched) === null
}

function toUnusableAnswer(fetched: Fetched): UnusableAnswer[] {
  const problem = whyUnusable(fetched)
  return problem === null ? [] : [{ serviceId: fetched.item.serviceId, problem }]
}

/** In a statement of its own, because attaching a partition locks the whole table. */
async function ensurePartitions(db: Database, batch: readonly Fetched[]): Promise<void> {
  await db.sql`
    select ensure_history_partitions(min(slot), max(slot)) from task
    where service_id = any(${batch.map((fetched) => fetched.item.serviceId)})`
}

/** A RangeError is thrown for an invalid date, and for JSON that is too deep or too long. */
type DataError = DatabaseError | RangeError

function isDataError(error: unknown): error is DataError {
  if (error instanceof RangeError) return true
  return isDatabaseError(error) && DATA_ERROR.test(error.code)
}
