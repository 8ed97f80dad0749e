/**
 * Reads the service's own list of the account's tasks, the only proof of what a POST with a lost answer did
 * and of what was charged. Free of charge: 10 pages of 1,000 rows a minute (spec: Limits).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { RateLimitedError } from '../errors.ts'
import type { CreatedTask } from '../ledger/adopt.ts'
import { parseTag } from '../ledger/tag.ts'
import type { AppDataClient } from '../service/client.ts'
import { MAX_TASK_ID_ROWS, type TaskIdRow } from '../service/task-ids.ts'

/** A time of posting. */
export interface Range {
  readonly from: Date
  readonly to: Date
}

type Sort = 'asc' | 'desc'

export interface TaskHistory<Kept> {
  readonly found: readonly Kept[]
  /** Whether every task of the range was seen. Only then is a task that was not found proven not to exist. */
  readonly isComplete: boolean
}

export interface ScanOptions {
  /** Ends the scan between two pages. */
  readonly signal?: AbortSignal | undefined
  /** Done before each page. */
  readonly beforePage?: () => Promise<void>
  /** A page refused because the minute's calls are used up is read after the pause: for commands. */
  readonly waitsForLimit?: boolean | undefined
}

/** The list has the tags of one month (spec: Task id history), and a month may have 28 days. */
export const TAGS_KNOWN_DAYS = 27
/**
 * Read on either side of what is asked for: a clock may have been set since, and what a dead runner wrote may
 * arrive 20 minutes later (docs/protocol.md: What is not promised).
 */
export const EDGE_MS = 30 * 60_000
/** Rows that go to the database in one statement. */
const SLICE_ROWS = 5_000
/** Passes over a list whose pages shift while they are read; each pass sees more rows. */
const MAX_PASSES = 4
/** Of one page. */
const MAX_REFUSALS = 10
/** So exact is a time in the list. */
const SECOND_MS = 1000

/**
 * Reads all tasks that were posted within the range. One that finishes meanwhile moves to another page, so a
 * pass may miss it; their number stays: the scan is complete when it has as many ids as a pass counted rows.
 * @param range by the clock of the service; it ends at `listedTo` at the latest
 * @param keep what the caller needs of a row: 200,000 are not held whole; null drops the row
 */
export async function scanTaskHistory<Kept>(
  client: AppDataClient,
  range: Range,
  keep: (row: TaskIdRow) => Kept | null,
  options: ScanOptions = {},
): Promise<TaskHistory<Kept>> {
  const rows = new Map<string, Kept | null>()
  let isComplete = false
  for (let pass = 1; pass <= MAX_PASSES && !isComplete; pass += 1) {
    let counted = 0
    for await (const page of readPages(client, range, { ...options, sort: 'asc' })) {
      for (const row of page) rows.set(row.id, keep(row))
      counted += page.length
    }
    isComplete = rows.size === counted
  }
  return { found: [...rows.values()].filter((kept) => kept !== null), isComplete }
}

/**
 * Reads some last part of the range, whole, with tasks of ours in it. How much that is, is found by single
 * pages: few of them, however many tasks the range has.
 * @param guess when the newest task of ours was posted, as far as we know
 * @param keep null for tasks of others
 * @returns what was kept; nothing only when the range has no task of ours
 */
export async function scanNewestTasks<Kept>(
  client: AppDataClient,
  range: Range,
  guess: Date,
  keep: (row: TaskIdRow) => Kept | null,
  signal?: AbortSignal,
): Promise<TaskHistory<Kept>> {
  const scan = (fromMs: number) =>
    scanTaskHistory(client, { from: new Date(fromMs), to: range.to }, keep, { signal })
  const readSince = async (fromMs: number) => {
    signal?.throwIfAborted()
    const page = await readPage(client, { from: new Date(fromMs), to: range.to }, 'asc', 0)
    return {
      found: page.map(keep).filter((kept) => kept !== null),
      isComplete: page.length < MAX_TASK_ID_ROWS,
    }
  }
  // Since `fullMs` there are more tasks than a page has; since `emptyMs` there is none of ours.
  let fullMs = Math.floor(range.from.getTime() / SECOND_MS) * SECOND_MS
  let emptyMs = Math.ceil(range.to.getTime() / SECOND_MS) * SECOND_MS
  const all = await readSince(fullMs)
  if (all.isComplete) return all
  // Longer than a copy that is at work beside us keeps still, where a page has room for it.
  const edgeMs = Math.min(guess.getTime(), range.to.getTime()) - EDGE_MS
  const late = await readSince(Math.max(fullMs, Math.floor(edgeMs / SECOND_MS) * SECOND_MS))
  if (late.isComplete && late.found.length > 0) return late
  let nextMs = guess.getTime()
  for (let stepMs = SECOND_MS; emptyMs - fullMs > SECOND_MS; stepMs *= 2) {
    const isWithin = nextMs >= fullMs + SECOND_MS && nextMs < emptyMs
    const sinceMs = Math.floor((isWithin ? nextMs : (fullMs + emptyMs) / 2) / SECOND_MS) * SECOND_MS
    const page = await readSince(sinceMs)
    if (page.isComplete && page.found.length > 0) return page
    if (page.isComplete) emptyMs = sinceMs
    else fullMs = sinceMs
    nextMs = sinceMs + (page.isComplete ? -stepMs : stepMs)
  }
  const newest = await scan(fullMs)
  // Tasks of other programs may fill the page.
  return newest.found.length > 0 ? newest : scan(range.from.getTime())
}

/** The pages of a range. The list may ignore the offset: a page that brings nothing new ends it. */
export async function* readPages(
  client: AppDataClient,
  range: Range,
  {
    sort,
    most = Infinity,
    signal,
    beforePage,
    waitsForLimit = false,
  }: ScanOptions & { readonly sort: Sort; readonly most?: number },
): AsyncGenerator<TaskIdRow[]> {
  const seen = new Set<string>()
  for (let page = 0; page < most; page += 1) {
    await beforePage?.()
    signal?.throwIfAborted()
    const read = () => readPage(client, range, sort, page * MAX_TASK_ID_ROWS)
    const rows = waitsForLimit ? await whenAllowed(read, signal) : await read()
    yield rows
    const before = seen.size
    for (const { id } of rows) seen.add(id)
    if (rows.length < MAX_TASK_ID_ROWS || seen.size === before) return
  }
}

/** @throws RateLimitedError when it is refused for the tenth time; what `read` throws */
async function whenAllowed<Read>(read: () => Promise<Read>, signal?: AbortSignal): Promise<Read> {
  for (let left = MAX_REFUSALS - 1; ; left -= 1) {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof RateLimitedError) || left === 0) throw error
      await sleep(error.retryAfterMs, undefined, { signal })
    }
  }
}

function readPage(client: AppDataClient, range: Range, sort: Sort, offset: number): Promise<TaskIdRow[]> {
  return client.listTaskIds({ ...range, offset, limit: MAX_TASK_ID_ROWS, includeMetadata: true, sort })
}

/** Waits until all that was posted before this call can be listed. */
export async function waitUntilListed({ unlistedMs }: AppDataClient, signal?: AbortSignal): Promise<void> {
  if (unlistedMs > 0) await sleep(unlistedMs, undefined, { signal })
}

/** As many rows at once as a statement takes. */
export function* slicesOf<Row>(rows: readonly Row[], count = SLICE_ROWS): Generator<readonly Row[]> {
  for (let from = 0; from < rows.length; from += count) yield rows.slice(from, from + count)
}

/** What a row says of a task of ours; null when its tag is not in our form. */
export function toCreated(
  row: Pick<TaskIdRow, 'id' | 'tag' | 'datetimeDone' | 'costMicros'>,
): CreatedTask | null {
  const tag = parseTag(row.tag)
  // The list has the cost of a finished task after its refund; our refund is booked when the result is
  // stored.
  const costMicros = row.datetimeDone === null ? row.costMicros : null
  return tag && { taskId: tag.taskId, attempt: tag.attempt, serviceId: row.id, costMicros }
}
