/** What the endpoints that return one list have in common. */

import type { z } from 'zod'

import { RejectedError, UnreadableError } from '../errors.ts'
import { readWith } from './fields.ts'
import { classifyStatus } from './status-codes.ts'
import type { FreeCall, Reply, Transport } from './transport.ts'

const RESULT_PATH = ['tasks', 0, 'result']

/**
 * Makes a free call and reads its rows.
 * @throws RejectedError when the service refuses it; UnreadableError with the path of a bad field; what `callFree` throws
 */
export async function fetchRows<T>(transport: Transport, call: FreeCall, rows: z.ZodType<T[]>): Promise<T[]> {
  const reply = await transport.callFree(call)
  return readWith(rows, rowsOf(reply, `${call.method} ${call.path}`), RESULT_PATH)
}

/**
 * The raw rows of a reply. A null result is an empty list only when the service also counts 0: a list cut
 * short must not pass for an empty one.
 */
export function rowsOf(reply: Reply, what: string): unknown[] {
  const statusClass = classifyStatus(reply.statusCode)
  if (statusClass === 'no_results') return []
  if (statusClass !== 'ok') {
    throw new RejectedError(`${what} was refused: ${reply.message} (${reply.statusCode}).`, reply.statusCode)
  }
  const result = reply.task?.result ?? null
  if (Array.isArray(result)) return result
  if (result === null && reply.task?.resultCount === 0) return []
  throw new UnreadableError(`${what} was answered without its list of results.`, 'tasks[0].result')
}
