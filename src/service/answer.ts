/** What an exchange means: an envelope, or a failure, and whether a free call is repeated after it. */
import {
  AccountError,
  RateLimitedError,
  RejectedError,
  UnavailableError,
  UnreadableError,
} from '../errors.ts'
import { TIMINGS } from '../timings.ts'
import type { ExchangeResult } from './exchange.ts'
import {
  cleanText,
  isObject,
  objectOf,
  readCode,
  readCost,
  readCount,
  readIdentifier,
  readNumber,
  readSpending,
  readTag,
} from './fields.ts'
import { adviseOnRefusal, classifyCall, classifyStatus, type StatusClass } from './status-codes.ts'

/** One element of `tasks` (docs/service.md: Task object). What the service leaves out is null. */
export type TaskReply = NonNullable<ReturnType<typeof readTask>>
export type Envelope = NonNullable<ReturnType<typeof readEnvelope>>
/** What stands above the tasks of an answer. Sums and counts are shown, never trusted. */
export type EnvelopeHead = Omit<Envelope, 'tasks'>
/** The answer to a call for one task. */
export type Reply = ReturnType<typeof toReply>

export type Answered = Extract<ExchangeResult, { kind: 'answered' }>
export type Delivered = Extract<ExchangeResult, { kind: 'answered' | 'broken' }>

/** Null when it is no envelope. */
function readEnvelope(body: unknown) {
  if (!isObject(body)) return null
  const statusCode = readCode(body.status_code)
  if (statusCode === null) return null
  const sent: readonly unknown[] = Array.isArray(body.tasks) ? body.tasks : []
  return {
    /** Of the whole call, 10000 to 60000. */
    statusCode,
    /** Empty when missing. */
    message: readMessage(body.status_message),
    /** `<major>.<minor>.<yyyymmdd>` */
    version: readIdentifier(body.version, 50),
    timeSeconds: readSeconds(body.time),
    /** Of all tasks together, micro-dollars. */
    costMicros: readSpending(body.cost),
    tasksCount: readCount(body.tasks_count),
    tasksError: readCount(body.tasks_error),
    /** Only the elements that have a status code: each stands for itself. */
    tasks: sent.map(readTask).filter((task) => task !== null),
  }
}

function readTask(value: unknown) {
  if (!isObject(value)) return null
  const statusCode = readCode(value.status_code)
  if (statusCode === null) return null
  return {
    id: readIdentifier(value.id, 64),
    statusCode,
    message: readMessage(value.status_message),
    costMicros: readCost(value.cost),
    /** Ours, as posted. */
    tag: readTag(objectOf(value.data).tag),
    resultCount: readCount(value.result_count),
    timeSeconds: readSeconds(value.time),
    /** As sent: the segments of the path that was called. */
    path: value.path ?? null,
    /** As sent: the parameters of the request. */
    data: value.data ?? null,
    result: value.result ?? null,
  }
}

/** `0.1234 sec.`, or the number alone. */
function readSeconds(value: unknown): number | null {
  return readNumber(typeof value === 'string' ? value.replace(/ ?sec\.?$/, '') : value)
}

function readMessage(value: unknown): string {
  return typeof value === 'string' ? cleanText(value, 500) : ''
}

export function toReply(envelope: Envelope, rawBytes: number, answeredAt: Date | null) {
  const task = envelope.tasks[0] ?? null
  const { statusCode, message } = task ?? envelope
  return {
    /** The first task's status code, or the general one when there is no task. */
    statusCode,
    message,
    task,
    /** All tasks of the answer, for the calls that have several. */
    tasks: envelope.tasks,
    rawBytes,
    /** When it was answered, by the service's own clock, to the second; null when it does not say. */
    answeredAt,
  }
}

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

const PERSON_FIRST = 'a person must act on the account first'
/** By kind of failure: why the same call will fail again; null where a repeat may work. */
const AGAINST_REPEAT = {
  network: null,
  not_an_envelope: null,
  server: null,
  too_many_at_once: null,
  rate_limited: 'the caller decides what to do with the rest of the minute',
  account: PERSON_FIRST,
  money: PERSON_FIRST,
  rejected: 'the same request will be refused again',
  oversized: 'the same answer will be too large again',
} as const

/** Why a call brought no answer that can be used. */
export interface Failure {
  readonly kind: keyof typeof AGAINST_REPEAT
  readonly message: string
  /** Of what has no answer, as a sentence. */
  readonly remedy?: string | undefined
  /** The service's code, or HTTP status × 100 when the answer holds none; 0 when there was no answer. */
  readonly statusCode: number
  /** How long the service asks to be left alone. */
  readonly retryAfterMs?: number
}

export type RetryDecision =
  | { readonly retry: true; readonly delayMs: number; readonly reason: string }
  | { readonly retry: false; readonly reason: string }

export const MAX_ATTEMPTS = 4
/** No attempt begins later than this after the first one. */
export const MAX_ELAPSED_MS = 60_000
const MAX_DELAY_MS = 8_000

/**
 * Pure: whether a free call is repeated. Posting tasks never comes here.
 * @param attempt the one that has just failed, from 1
 * @param elapsedMs since the first attempt began
 * @param jitter 0 to 1, drawn by the caller: delays spread over the upper half of their length
 */
export function decideRetry(
  failure: Failure,
  attempt: number,
  elapsedMs: number,
  jitter: number,
): RetryDecision {
  const hopeless = AGAINST_REPEAT[failure.kind]
  if (hopeless !== null) return { retry: false, reason: hopeless }
  if (attempt >= MAX_ATTEMPTS) return { retry: false, reason: `it failed ${attempt} times` }
  const fullDelayMs = Math.min(MAX_DELAY_MS, TIMINGS.firstRetryMs * 2 ** (attempt - 1))
  const delayMs = Math.max(fullDelayMs * (0.5 + jitter / 2), failure.retryAfterMs ?? 0)
  if (elapsedMs + delayMs > MAX_ELAPSED_MS) {
    return { retry: false, reason: `it kept failing for ${Math.round(elapsedMs / 1000)} s` }
  }
  return { retry: true, delayMs, reason: 'a repeat is free and may work' }
}

/** The envelope of a free call, or the failure of the call, such as one that is refused as a whole. */
export function readAnswer(result: Delivered): Envelope | Failure {
  if (result.kind === 'broken') {
    const { oversized, reason: message, remedy } = result
    return { kind: oversized ? 'oversized' : 'network', message, remedy, statusCode: 0 }
  }
  const envelope = parseBody(result.body)
  const refusal = readCallRefusal(result, envelope)
  if (refusal !== null) return refusal
  if (envelope !== null) return readTaskFailure(result, envelope) ?? envelope
  return isOvercrowded(result.body)
    ? { kind: 'oversized', message: `the body has more than ${MAX_VALUES} values`, statusCode: 0 }
    : { kind: 'not_an_envelope', message: 'the body is not a JSON answer of the service', statusCode: 0 }
}

export function isFailure(answer: Envelope | Failure): answer is Failure {
  return 'kind' in answer
}

/** Requests in flight end within seconds. */
const CONCURRENCY_PAUSE_MS = 1_000
const MAX_RETRY_AFTER_MS = 3_600_000

/** Milliseconds to wait after a refusal for pace, from the answer's header where it has one. */
function readPause({ headers }: Answered, statusClass: StatusClass): number {
  const seconds = readNumber(headers['retry-after'])
  if (seconds !== null && seconds >= 0) return Math.min(seconds * 1000, MAX_RETRY_AFTER_MS)
  return statusClass === 'too_many_at_once' ? CONCURRENCY_PAUSE_MS : TIMINGS.rateLimitPauseMs
}

const OK = 200
const HTTP_FAILURES: Readonly<Record<number, 'account' | 'money' | 'rate_limited'>> = {
  401: 'account',
  402: 'money',
  429: 'rate_limited',
}

/** Why a call fails as a whole, by its HTTP status or its general code; null when it does not say so. */
export function readCallRefusal(result: Answered, envelope: Envelope | null): Failure | null {
  const { httpStatus } = result
  if (httpStatus === OK) return envelope && readFailureOf(result, envelope, classifyCall(envelope.statusCode))
  const statusCode = envelope?.statusCode ?? httpStatus * 100
  const message = envelope?.message || `HTTP ${httpStatus}`
  const kind = HTTP_FAILURES[httpStatus] ?? (httpStatus >= 500 ? 'server' : 'rejected')
  if (kind !== 'rate_limited') return { kind, message, statusCode }
  return { kind, message, statusCode, retryAfterMs: readPause(result, classifyStatus(statusCode)) }
}

/** Free calls carry one task: its account, pace and server codes are those of the call. */
function readTaskFailure(result: Answered, { statusCode, tasks: [task] }: Envelope): Failure | null {
  if (task !== undefined) return readFailureOf(result, task, classifyStatus(task.statusCode))
  if (classifyCall(statusCode) !== 'ok') return null
  return { kind: 'server', message: 'the answer says that all is well, and names no task', statusCode }
}

/** What a code says of the account, the pace or the server; null for any other one. */
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
      return { kind: statusClass, message, statusCode, retryAfterMs: readPause(result, statusClass) }
    default:
      return null
  }
}

/** Of a call: the service does not have its path. */
const NOT_FOUND = 40400

/** Whether a call failed because the service has no such path: it does not offer what was asked for. */
export function isNotOffered(error: unknown): boolean {
  return error instanceof RejectedError && error.statusCode === NOT_FOUND
}

/**
 * The error that a failed free call throws.
 * @param what method and path
 * @param reason why it is not repeated
 */
export function errorOf(failure: Failure, what: string, reason: string): Error {
  const { kind, statusCode, retryAfterMs = TIMINGS.rateLimitPauseMs } = failure
  const code = statusCode === 0 ? '' : ` (${statusCode})`
  const message = `${what} failed: ${failure.message}${code}; not repeated, because ${reason}.`
  switch (kind) {
    case 'account':
      return new AccountError(`${message} ${adviseOnRefusal(statusCode)}`, 'account')
    case 'money':
      return new AccountError(`${message} ${adviseOnRefusal(statusCode)}`, 'account_money')
    case 'rate_limited':
    case 'too_many_at_once':
      return new RateLimitedError(message, retryAfterMs)
    case 'rejected': {
      // Nothing that storerank calls is missing from the service itself.
      const advice = statusCode === NOT_FOUND ? ' Check APP_DATA_URL and APP_DATA_STORES.' : ''
      return new RejectedError(message + advice, statusCode)
    }
    case 'oversized':
      return new UnreadableError(message, OVERSIZED)
    case 'network':
    case 'not_an_envelope': {
      const remedy = failure.remedy ?? 'Check that it runs.'
      return new UnavailableError(`${message} This is the service of APP_DATA_URL. ${remedy}`)
    }
    case 'server':
      return new UnavailableError(message)
  }
}
