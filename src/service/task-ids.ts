/** The account's own list of tasks: the only way to learn what a POST with a lost answer did. */

import { z } from 'zod'

import { readServiceTime } from './diagnostics.ts'
import { pathOfUrl } from './dialect.ts'
import { readTag } from './envelope.ts'
import {
  cleanText,
  cutDepth,
  ifReadable,
  isObject,
  readCost,
  readTimestamp,
  textIfReadable,
  wireIdentifier,
  wireTimestamp,
  wireValue,
} from './fields.ts'
import { fetchRows } from './replies.ts'
import { checkRequest, formatInstant, refuseRange, rowOffset, wholeUpTo } from './requests.ts'
import type { Transport } from './transport.ts'

/** spec: Limits. A page this long may have more behind it. */
export const MAX_TASK_ID_ROWS = 1000

/** spec: Limits. The longest that a month and six of them can be: at the edge the service decides. */
const MONTH_DAYS = 31
const HALF_YEAR_DAYS = 184
const DAY_MS = 86_400_000
const SECOND_MS = 1000

export interface TaskIdQuery {
  /** Range of the time of posting, to the second: fractions are cut off. */
  readonly from: Date
  /** Some seconds before the service's present, as `readListEnd` says. */
  readonly to: Date
  /** Rows to skip. */
  readonly offset: number
  /** At most 1000. */
  readonly limit: number
  /** Tags come only with metadata, and that only for one month. */
  readonly includeMetadata: boolean
  /** By the time of execution, so pages shift while tasks finish. */
  readonly sort: 'asc' | 'desc'
}

/** One task of the account (docs/service.md: Task id history record). */
export type TaskIdRow = z.output<typeof taskIdRow>

/** The code as text or number, or a message. */
function readStatus(value: unknown): string | null {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' ? cleanText(text, 500) : null
}

const taskIdRow = z
  .object({
    id: wireIdentifier,
    url: textIfReadable(2000),
    datetime_posted: wireValue(readTimestamp, 'it is not a timestamp'),
    datetime_done: wireTimestamp,
    status: ifReadable(readStatus),
    cost: ifReadable(readCost),
    metadata: z.unknown().optional(),
  })
  .transform((row) => ({
    /** Of the task, the service's own. */
    id: row.id,
    /** UTC, to the second. */
    datetimePosted: row.datetime_posted,
    /** UTC, to the second; null while the task is not finished. */
    datetimeDone: row.datetime_done,
    /** The task's status code, or the message that some answers hold instead. */
    status: row.status ?? '',
    /** Net after refund, micro-dollars; null when missing, or no cost. */
    costMicros: row.cost,
    /** Ours, out of `metadata`. */
    tag: isObject(row.metadata) ? readTag(row.metadata.tag) : null,
    /** The parameters as posted; null when they were not asked for, or are older than a month. */
    metadata: readMetadata(row.metadata),
    /** Path of the call that made the task, in our words. */
    url: row.url,
  }))

function readMetadata(value: unknown): Readonly<Record<string, unknown>> | null {
  const metadata = cutDepth(value)
  return isObject(metadata) ? metadata : null
}

/** By the clock of the service, to the second. */
export interface ListEnd {
  readonly present: Date
  /** What was posted before it can be listed now; what was posted later cannot yet. */
  readonly listedTo: Date
}

/**
 * Up to when the list can be asked: `unlistedMs` before the service's present at the most. The service
 * refuses a range that ends at its present or after it (docs/service.md: end of id_list), and its clocks
 * differ a little. The present is cut to the second, which counts as one of it.
 * @throws what `readServiceTime` throws
 */
export async function readListEnd(transport: Transport): Promise<ListEnd> {
  const present = await readServiceTime(transport)
  return { present, listedTo: new Date(present.getTime() - Math.max(0, transport.unlistedMs - SECOND_MS)) }
}

const fields = z.object({ limit: wholeUpTo(MAX_TASK_ID_ROWS), offset: rowOffset })

/**
 * One page of the account's tasks of all functions, finished or not. A row that cannot be read fails the
 * whole page, because a scan with holes would prove nothing.
 * @throws ConfigurationError when the query breaks a rule; what `fetchRows` throws
 */
export async function listTaskIds(transport: Transport, query: TaskIdQuery): Promise<TaskIdRow[]> {
  const path = '/v3/app_data/id_list'
  const { from, to, includeMetadata } = query
  const [days, allowed] = includeMetadata
    ? [MONTH_DAYS, 'the past month']
    : [HALF_YEAR_DAYS, 'the past six months']
  const nowMs = transport.nowMs()
  const range = { from, to, nowMs, oldestMs: nowMs - days * DAY_MS }
  const request = {
    datetime_from: formatInstant(from),
    datetime_to: formatInstant(to),
    limit: query.limit,
    offset: query.offset,
    sort: query.sort,
    include_metadata: includeMetadata,
  }
  checkRequest(fields.superRefine(refuseRange(range, allowed)), request, `POST ${path}`)
  const rows = await fetchRows(
    transport,
    { kind: 'id_list', method: 'POST', path, body: [request] },
    taskIdRow,
  )
  const { toOurs } = transport.dialect
  return rows.map((row) => ({ ...row, url: row.url && toOurs(pathOfUrl(row.url)) }))
}
