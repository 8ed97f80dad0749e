/**
 * Posting of tasks: at most once, with an honest outcome. Nothing here or below repeats a POST, and "not sent"
 * and "refused" are said only on proof that the service created nothing.
 */

import { parseBody, readPause } from './answer.ts'
import type { Envelope, TaskReply } from './envelope.ts'
import type { ExchangeResult } from './exchange.ts'
import type { Priority, Store, TaskFunction } from './functions.ts'
import { encodeKeyword } from './keyword.ts'
import { classifyStatus } from './status-codes.ts'
import type { SendWindow, Transport } from './transport.ts'

/** spec: Limits */
export const MAX_TASKS_PER_POST = 100

export interface TaskToPost {
  /** Ours, never used twice; the answer is matched by it. */
  readonly tag: string
  /** The keyword as a person types it, or the app id. */
  readonly subject: string
  readonly locationCode: number
  readonly languageCode: string
  readonly priority: Priority
  /** Only for functions that have a depth. */
  readonly depth?: number
}

export interface TaskAnswer {
  readonly tag: string
  readonly serviceId: string | null
  readonly statusCode: number
  readonly message: string
  readonly costMicros: number
}

export type PostOutcome =
  /** It failed before the first byte was written: nothing was created. */
  | { readonly kind: 'not_sent'; readonly reason: string }
  /** HTTP 401, 402, 404, or a general account, money or pace code: nothing was created. */
  | {
      readonly kind: 'refused'
      readonly cause: 'account' | 'money' | 'rate_limit' | 'not_found'
      /** HTTP status × 100 when the answer holds no code. */
      readonly statusCode: number
      readonly httpStatus: number
      readonly message: string
      readonly retryAfterMs?: number
    }
  /** Each task by itself; a task whose tag is not among the answers is unknown, and a tag may come twice. */
  | {
      readonly kind: 'answered'
      readonly answers: readonly TaskAnswer[]
      readonly httpStatus: number
      readonly statusCode: number
    }
  /** Everything else: the tasks may or may not exist. */
  | { readonly kind: 'unknown'; readonly reason: string; readonly httpStatus?: number }

/**
 * Posts 1 to 100 tasks of one function in one request.
 * @param send when bytes may leave
 * @throws RangeError for another number of tasks; anything else is an outcome
 */
export async function postTasks(
  transport: Transport,
  store: Store,
  fn: TaskFunction,
  tasks: readonly TaskToPost[],
  send: SendWindow,
): Promise<PostOutcome> {
  if (tasks.length < 1 || tasks.length > MAX_TASKS_PER_POST) {
    throw new RangeError(`A POST takes 1 to ${MAX_TASKS_PER_POST} tasks, not ${tasks.length}.`)
  }
  const body = JSON.stringify(tasks.map((task) => toWire(fn, task)))
  return readPostOutcome(await transport.postOnce(`/v3/app_data/${store}/${fn}/task_post`, body, send))
}

function toWire(fn: TaskFunction, task: TaskToPost): Record<string, unknown> {
  const subject =
    fn === 'app_searches'
      ? { keyword: encodeKeyword(task.subject), depth: task.depth }
      : { app_id: task.subject }
  return {
    ...subject,
    location_code: task.locationCode,
    language_code: task.languageCode,
    priority: task.priority,
    tag: task.tag,
  }
}

/** What an exchange says about the tasks that it posted. */
function readPostOutcome(result: ExchangeResult): PostOutcome {
  if (result.kind === 'late') return { kind: 'not_sent', reason: result.reason }
  if (result.kind === 'broken') {
    if (!result.begun) return { kind: 'not_sent', reason: result.reason }
    const httpStatus = result.httpStatus === undefined ? {} : { httpStatus: result.httpStatus }
    return { kind: 'unknown', reason: result.reason, ...httpStatus }
  }
  const { httpStatus } = result
  const envelope = parseBody(result.body)
  const refusal = readRefusal(result, envelope)
  if (refusal !== null) return refusal
  if (httpStatus !== 200) return { kind: 'unknown', reason: `HTTP ${httpStatus}`, httpStatus }
  if (envelope === null) {
    return { kind: 'unknown', reason: 'the body is not a JSON answer of the service', httpStatus }
  }
  const answers = envelope.tasks.map(toAnswer).filter((answer) => answer !== null)
  if (answers.length > 0) return { kind: 'answered', answers, httpStatus, statusCode: envelope.statusCode }
  const reason = `the answer names no task of ours: ${envelope.statusCode} ${envelope.message}`
  return { kind: 'unknown', reason, httpStatus }
}

const HTTP_REFUSALS = { 401: 'account', 402: 'money', 404: 'not_found' } as const

function readRefusal(
  result: Extract<ExchangeResult, { kind: 'answered' }>,
  envelope: Envelope | null,
): PostOutcome | null {
  const { httpStatus } = result
  const statusCode = envelope?.statusCode ?? httpStatus * 100
  const message = envelope?.message || `HTTP ${httpStatus}`
  const cause = HTTP_REFUSALS[httpStatus as keyof typeof HTTP_REFUSALS]
  if (cause !== undefined) return { kind: 'refused', cause, statusCode, httpStatus, message }
  if (httpStatus !== 200 || envelope === null) return null
  // A refusal that nevertheless lists a created task contradicts itself: then each task counts by itself.
  if (envelope.tasks.some((task) => classifyStatus(task.statusCode) === 'created')) return null
  const statusClass = classifyStatus(statusCode)
  switch (statusClass) {
    case 'account':
    case 'money':
      return { kind: 'refused', cause: statusClass, statusCode, httpStatus, message }
    case 'rate_limited':
    case 'too_many_at_once':
      return {
        kind: 'refused',
        cause: 'rate_limit',
        statusCode,
        httpStatus,
        message,
        retryAfterMs: readPause(result, statusCode),
      }
    default:
      return null
  }
}

/** Null for an answer that settles nothing: without a tag, or created without the id or the cost. */
function toAnswer(task: TaskReply): TaskAnswer | null {
  const { tag, id, statusCode, message, costMicros } = task
  if (tag === null) return null
  if (classifyStatus(statusCode) === 'created' && (id === null || costMicros === null)) return null
  return { tag, serviceId: id, statusCode, message, costMicros: costMicros ?? 0 }
}
