/** What the endpoints that return one list have in common. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { z } from 'zod'
import { RejectedError, UnreadableError } from '../errors.ts'
import type { Reply } from './answer.ts'
import { storeOfName } from './dialect.ts'
import { isObject, readTimestamp, readWith } from './fields.ts'
import { describeMiscount } from './items.ts'
import { classifyStatus } from './status-codes.ts'
import type { FreeCall, Transport } from './transport.ts'

const ROWS_A_TURN = 5_000

/** The path of a row in the answer, and the answer, for messages. */
const atRow = ({ method, path }: FreeCall, index: number) =>
  [['tasks', 0, 'result', index], `The answer to ${method} ${path}`] as const

/**
 * Makes a free call and reads its rows, all of them or none.
 * @throws RejectedError when the service refuses it; UnreadableError with the path of a bad field
 */
export async function fetchRows<T>(transport: Transport, call: FreeCall, row: z.ZodType<T>): Promise<T[]> {
  const rows = wholeRowsOf(await transport.callFree(call), call)
  return rows.map((sent, index) => readWith(row, sent, ...atRow(call, index)))
}

/** As `fetchRows`; rows that cannot be read are left out, unless it is all of them. */
export async function fetchReadableRows<T>(
  transport: Transport,
  call: FreeCall,
  row: z.ZodType<T>,
): Promise<T[]> {
  const sent = wholeRowsOf(await transport.callFree(call), call)
  const read: T[] = []
  for (const [index, each] of sent.entries()) {
    // A list of 100,000 rows takes a second: what else this process does gets its turn meanwhile.
    if (index % ROWS_A_TURN === ROWS_A_TURN - 1) await nextTurn()
    const parsed = row.safeParse(each)
    if (parsed.success) read.push(parsed.data)
  }
  if (read.length === 0 && sent.length > 0) readWith(row, sent[0], ...atRow(call, 0))
  return read
}

/** The rows of a list that stands for all there is: what it lacks would be taken for not created. */
function wholeRowsOf(reply: Reply, call: FreeCall): unknown[] {
  const what = `${call.method} ${call.path}`
  const other = findOther(reply.task?.data, call)
  if (other !== null) {
    const problem = 'which was not asked for: it is the list of something else'
    throw new UnreadableError(`The answer to ${what} says ${other}, ${problem}.`, 'tasks[0].data')
  }
  const rows = rowsOf(reply, what)
  const counted = reply.task?.resultCount ?? 0
  if (rows.length >= counted) return rows
  const lacking = describeMiscount(rows.length, counted)
  throw new UnreadableError(`${what} was answered with a part of its list. ${lacking}`, 'tasks[0].result')
}

/** Pure: what an answer repeats of its question and says otherwise; null when there is none. */
function findOther(said: unknown, { path, body }: FreeCall): string | null {
  if (!isObject(said)) return null
  const [asked = {}] = Array.isArray(body) ? (body as Readonly<Record<string, unknown>>[]) : []
  const key = Object.keys(asked).find((name) => isOther(asked[name], said[name]))
  if (key !== undefined) return `${key} = ${JSON.stringify(said[key])}`
  const [, store] = /^\/v3\/app_data\/(\w+_store)\//.exec(path) ?? []
  const answered = storeOfName(said.se)
  return store === undefined || answered === null || answered === store ? null : `se = ${answered}`
}

function isOther(asked: unknown, said: unknown): boolean {
  if (asked === undefined || said === null || said === undefined || said === '') return false
  const [one, other] = [readTimestamp(asked), readTimestamp(said)]
  if (one !== null && other !== null) return one.getTime() !== other.getTime()
  return ['string', 'number', 'boolean'].includes(typeof said) && String(said) !== String(asked)
}

/** The raw rows of a reply. Null is an empty list only with a count of 0, and no list cut short. */
export function rowsOf({ statusCode, message, task }: Reply, what: string): unknown[] {
  const statusClass = classifyStatus(statusCode)
  if (statusClass === 'no_results') return []
  if (statusClass !== 'ok') {
    throw new RejectedError(`${what} was refused: ${message} (${statusCode}).`, statusCode)
  }
  const result = task?.result ?? null
  if (Array.isArray(result)) return result
  if (result === null && task?.resultCount === 0) return []
  throw new UnreadableError(`${what} was answered without its list of results.`, 'tasks[0].result')
}
