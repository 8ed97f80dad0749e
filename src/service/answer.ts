/** What one exchange means: an envelope to read on, or a failure by what the caller does next. */

import {
  AccountError,
  RateLimitedError,
  RejectedError,
  UnavailableError,
  UnreadableError,
} from '../errors.ts'
import { TIMINGS } from '../timings.ts'
import { adviseOnRefusal } from './account-advice.ts'
import { type Envelope, readEnvelope } from './envelope.ts'
import type { ExchangeResult } from './exchange.ts'
import { readNumber } from './fields.ts'
import type { Failure } from './retry.ts'
import { classifyCall, classifyStatus, type StatusClass } from './status-codes.ts'

/** Requests in flight end within seconds. */
const CONCURRENCY_PAUSE_MS = 1_000
const MAX_RETRY_AFTER_MS = 3_600_000
/** Of a call: the service does not have its path. */
const NOT_FOUND = 40400

type Answered = Extract<ExchangeResult, { kind: 'answered' }>
export type Delivered = Extract<ExchangeResult, { kind: 'answered' | 'broken' }>

/** The path of an UnreadableError for a body that is larger than any answer may be. */
export const OVERSIZED = 'body'
/** An empty object is two bytes of a body, and sixty of memory: so many are a tenth of a gigabyte. */
const MAX_VALUES = 2_000_000
const MARKS = Buffer.from(',[{')

/** Whether a body has so many values that reading it could exhaust the memory of the process. */
export function isOvercrowded(body: Buffer): boolean {
  if (body.byteLength <= MAX_VALUES) return false
  let values = 0
  for (const mark of MARKS) {
    for (let at = body.indexOf(mark); at >= 0; at = body.indexOf(mark, at + 1)) {
      values += 1
      if (values > MAX_VALUES) return true
    }
  }
  return false
}

/** The envelope in a body; null when the body is not JSON or no envelope, or overcrowded. */
export function parseBody(body: Buffer): Envelope | null {
  if (isOvercrowded(body)) return null
  try {
    return readEnvelope(JSON.parse(body.toString('utf8')))
  } catch {
    return null
  }
}

/**
 * The envelope of a free call, or the failure of the call. A call that is refused as a whole is a failure.
 */
export function readAnswer(result: Delivered): Envelope | Failure {
  if (result.kind === 'broken') {
    const { oversized, reason: message, remedy } = result
    const kind = oversized ? 'oversized' : 'network'
    return { kind, message, statusCode: 0, ...(remedy === undefined ? {} : { remedy }) }
  }
  if (isOvercrowded(result.body))
    return { kind: 'oversized', message: `the body has more than ${MAX_VALUES} values`, statusCode: 0 }
  const envelope = parseBody(result.body)
  if (result.httpStatus !== 200) return readHttpFailure(result, envelope)
  if (envelope === null) {
    return { kind: 'not_an_envelope', message: 'the body is not a JSON answer of the service', statusCode: 0 }
  }
  return readCallFailure(result, envelope) ?? envelope
}

export function isFailure(answer: Envelope | Failure): answer is Failure {
  return 'kind' in answer
}

/** Milliseconds to wait after a refusal for pace, from the answer's header where it has one. */
export function readPause(result: Answered, statusCode: number): number {
  const seconds = readNumber(result.retryAfter)
  if (seconds !== null && seconds >= 0) return Math.min(seconds * 1000, MAX_RETRY_AFTER_MS)
  return classifyStatus(statusCode) === 'too_many_at_once' ? CONCURRENCY_PAUSE_MS : TIMINGS.rateLimitPauseMs
}

function readHttpFailure(result: Answered, envelope: Envelope | null): Failure {
  const statusCode = envelope?.statusCode ?? result.httpStatus * 100
  const message = envelope?.message || `HTTP ${result.httpStatus}`
  if (result.httpStatus === 401) return { kind: 'account', message, statusCode }
  if (result.httpStatus === 402) return { kind: 'money', message, statusCode }
  if (result.httpStatus === 429) {
    return { kind: 'rate_limited', message, statusCode, retryAfterMs: readPause(result, statusCode) }
  }
  return { kind: result.httpStatus >= 500 ? 'server' : 'rejected', message, statusCode }
}

/**
 * Free calls carry one task, so its account, pace and server codes are those of the call. Codes about the
 * task itself (pending, expired, not found, …) are left to the caller.
 */
function readCallFailure(result: Answered, envelope: Envelope): Failure | null {
  const { statusCode, tasks } = envelope
  const [task] = tasks
  const ofTask = task && readFailureOf(result, task, classifyStatus(task.statusCode))
  const failure = readFailureOf(result, envelope, classifyCall(statusCode)) ?? ofTask
  if (failure != null) return failure
  if (tasks.length > 0 || classifyCall(statusCode) !== 'ok') return null
  return { kind: 'server', message: 'the answer says that all is well, and names no task', statusCode }
}

function readFailureOf(
  result: Answered,
  { statusCode, message }: Pick<Envelope, 'statusCode' | 'message'>,
  statusClass: StatusClass,
): Failure | null {
  switch (statusClass) {
    case 'account':
    case 'money':
    case 'server':
      return { kind: statusClass, message, statusCode }
    case 'rate_limited':
    case 'too_many_at_once':
      return { kind: statusClass, message, statusCode, retryAfterMs: readPause(result, statusCode) }
    default:
      return null
  }
}

/** Whether a call failed because the service has no such path: it does not offer what was asked for. */
export function isNotOffered(error: unknown): boolean {
  return error instanceof RejectedError && error.statusCode === NOT_FOUND
}

/** Nothing that storerank calls is missing from the service itself. */
function adviseOnPath(statusCode: number): string {
  return statusCode === NOT_FOUND ? ' Check APP_DATA_URL and APP_DATA_STORES.' : ''
}

/**
 * The error that a failed free call throws.
 * @param what the call, for the message: method and path
 * @param reason why it is not repeated
 */
export function errorOf(failure: Failure, what: string, reason: string): Error {
  const code = failure.statusCode === 0 ? '' : ` (${failure.statusCode})`
  const message = `${what} failed: ${failure.message}${code}; not repeated, because ${reason}.`
  switch (failure.kind) {
    case 'account':
      return new AccountError(`${message} ${adviseOnRefusal(failure.statusCode)}`, 'account')
    case 'money':
      return new AccountError(`${message} ${adviseOnRefusal(failure.statusCode)}`, 'account_money')
    case 'rate_limited':
      return new RateLimitedError(message, failure.retryAfterMs ?? TIMINGS.rateLimitPauseMs)
    case 'too_many_at_once':
      return new RateLimitedError(message, failure.retryAfterMs ?? CONCURRENCY_PAUSE_MS)
    case 'rejected':
      return new RejectedError(message + adviseOnPath(failure.statusCode), failure.statusCode)
    case 'oversized':
      return new UnreadableError(message, OVERSIZED)
    case 'network':
    case 'not_an_envelope':
      return new UnavailableError(
        `${message} This is the service of APP_DATA_URL. ${failure.remedy ?? 'Check that it runs.'}`,
      )
    case 'server':
      return new UnavailableError(message)
  }
}
