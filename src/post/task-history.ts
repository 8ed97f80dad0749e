/**
 * The service's own list of the account's tasks, read whole: the only witness of what an ambiguous POST did, and of what
 * the service took for a task. Free of charge, but slow: 10 pages of 1,000 a minute (spec: Limits).
 */
import type { CreatedTask } from '../ledger/adopt.ts'
import { parseTag } from '../ledger/tag.ts'
import type { AppDataClient } from '../service/client.ts'
import { MAX_TASK_ID_ROWS, type TaskIdRow } from '../service/history.ts'

/** A time of posting. */
export interface Range {
  readonly from: Date
  readonly to: Date
}

export interface TaskHistory<Kept> {
  readonly found: readonly Kept[]
  /** Whether every task of the range was seen: only then does a task that was not found not exist. */
  readonly isComplete: boolean
}

/** The service tells the tag of a task for a month (spec: Task id history), and February is short. */
export const TAGS_KNOWN_DAYS = 27
/** Passes over a history whose pages shift; each shows more of it. */
const MAX_PASSES = 4

/**
 * Reads all tasks that were posted within the range. Tasks that finish while the pages are read move to other pages, so that one
 * may never be seen. Which tasks are in the range does not change: the scan is complete when it has seen as many as there
 * are.
 * @param range by the clock of the service; it refuses an end later than its own present
 * @param keep what is held of a row until the end, so that a day of 200,000 tasks does not hold their parameters; null
 *   when nothing is
 * @param signal ends the scan between two pages
 * @throws what `listTaskIds` throws
 */
export async function scanTaskHistory<Kept>(
  client: AppDataClient,
  range: Range,
  keep: (row: TaskIdRow) => Kept | null,
  signal?: AbortSignal,
): Promise<TaskHistory<Kept>> {
  const rows = new Map<string, Kept | null>()
  let isComplete = false
  for (let pass = 1; pass <= MAX_PASSES && !isComplete; pass += 1) {
    let counted = 0
    for await (const page of readPages(client, range)) {
      signal?.throwIfAborted()
      for (const row of page) rows.set(row.id, keep(row))
      counted += page.length
    }
    isComplete = rows.size === counted
  }
  return { found: [...rows.values()].filter((kept) => kept !== null), isComplete }
}

async function* readPages(client: AppDataClient, range: Range): AsyncGenerator<TaskIdRow[]> {
  for (let offset = 0; ; offset += MAX_TASK_ID_ROWS) {
    const page = await client.listTaskIds({
      ...range,
      offset,
      limit: MAX_TASK_ID_ROWS,
      includeMetadata: true,
      sort: 'asc',
    })
    yield page
    if (page.length < MAX_TASK_ID_ROWS) return
  }
}

/** What a row says of a task of ours; null when its tag is not in our form. */
export function toCreated(
  row: Pick<TaskIdRow, 'id' | 'tag' | 'datetimeDone' | 'costMicros'>,
): CreatedTask | null {
  const tag = parseTag(row.tag)
  // Of a task that is done the list says what is left after the refund, which is ours to write down when it is stored.
  const costMicros = row.datetimeDone === null ? row.costMicros : null
  return tag && { ...tag, serviceId: row.id, costMicros }
}
