/** The envelope that every answer of the service comes in, read tolerantly and task by task. */

import {
  cleanText,
  isObject,
  readCode,
  readCost,
  readCount,
  readIdentifier,
  readNumber,
  readSpending,
} from './fields.ts'

const MAX_MESSAGE_LENGTH = 500
const MAX_ID_LENGTH = 64
const MAX_VERSION_LENGTH = 50
/** spec: Limits */
const MAX_TAG_LENGTH = 255

/** One element of `tasks` (spec: Task object). */
export interface TaskReply {
  /** Null when missing. */
  readonly id: string | null
  /** 10000 to 60000. */
  readonly statusCode: number
  /** At most 500 characters; empty when missing. */
  readonly message: string
  /** Micro-dollars; null when missing, or no cost. */
  readonly costMicros: number | null
  /** Ours, as posted; null when the answer has none. */
  readonly tag: string | null
  /** How many elements `result` has; null when missing. */
  readonly resultCount: number | null
  /** How long the service worked on it; null when it does not say. */
  readonly timeSeconds: number | null
  /** As sent: the segments of the path that was called. */
  readonly path: unknown
  /** As sent: the parameters of the request. */
  readonly data: unknown
  /** As sent. */
  readonly result: unknown
}

/**
 * What stands above the tasks of an answer (spec: Response envelope). Sums and counts are shown, never
 * trusted.
 */
export interface EnvelopeHead {
  /** Of the whole call, 10000 to 60000. */
  readonly statusCode: number
  /** At most 500 characters; empty when missing. */
  readonly message: string
  /** `<major>.<minor>.<yyyymmdd>`; null when missing. */
  readonly version: string | null
  /** How long the service worked on the call; null when it does not say. */
  readonly timeSeconds: number | null
  /** Of all tasks together, micro-dollars; null when missing. */
  readonly costMicros: number | null
  /** How many tasks the service counts in the answer; null when missing. */
  readonly tasksCount: number | null
  /** How many of them it counts as errors; null when missing. */
  readonly tasksError: number | null
}

export interface Envelope extends EnvelopeHead {
  /** Only the elements that have a status code: each stands for itself. */
  readonly tasks: readonly TaskReply[]
}

/** Reads a parsed body; null when it is no envelope. */
export function readEnvelope(body: unknown): Envelope | null {
  if (!isObject(body)) return null
  const statusCode = readCode(body.status_code)
  if (statusCode === null) return null
  return {
    statusCode,
    message: readMessage(body.status_message),
    version: readIdentifier(body.version, MAX_VERSION_LENGTH),
    timeSeconds: readSeconds(body.time),
    costMicros: readSpending(body.cost),
    tasksCount: readCount(body.tasks_count),
    tasksError: readCount(body.tasks_error),
    tasks: Array.isArray(body.tasks) ? body.tasks.map(readTask).filter((task) => task !== null) : [],
  }
}

function readTask(value: unknown): TaskReply | null {
  if (!isObject(value)) return null
  const statusCode = readCode(value.status_code)
  if (statusCode === null) return null
  return {
    id: readIdentifier(value.id, MAX_ID_LENGTH),
    statusCode,
    message: readMessage(value.status_message),
    costMicros: readCost(value.cost),
    tag: isObject(value.data) ? readTag(value.data.tag) : null,
    resultCount: readCount(value.result_count),
    timeSeconds: readSeconds(value.time),
    path: value.path ?? null,
    data: value.data ?? null,
    result: value.result ?? null,
  }
}

/** `0.1234 sec.`, or the number alone. */
function readSeconds(value: unknown): number | null {
  return readNumber(typeof value === 'string' ? value.replace(/ ?sec\.?$/, '') : value)
}

/** A tag as the service echoes it; null when it has none, or one that cannot be stored. */
export function readTag(value: unknown): string | null {
  return readIdentifier(value, MAX_TAG_LENGTH)
}

function readMessage(value: unknown): string {
  return typeof value === 'string' ? cleanText(value, MAX_MESSAGE_LENGTH) : ''
}
