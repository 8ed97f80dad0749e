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

/** One element of `tasks` (docs/service.md: Task object). What the service leaves out is null. */
export type TaskReply = NonNullable<ReturnType<typeof readTask>>
export type Envelope = NonNullable<ReturnType<typeof readEnvelope>>
/** What stands above the tasks of an answer. Sums and counts are shown, never trusted. */
export type EnvelopeHead = Omit<Envelope, 'tasks'>

/** Reads a parsed body; null when it is no envelope. */
export function readEnvelope(body: unknown) {
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
    version: readIdentifier(body.version, MAX_VERSION_LENGTH),
    /** How long the service worked on the call. */
    timeSeconds: readSeconds(body.time),
    /** Of all tasks together, micro-dollars. */
    costMicros: readSpending(body.cost),
    /** How many tasks the service counts in the answer. */
    tasksCount: readCount(body.tasks_count),
    /** How many of them it counts as errors. */
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
    id: readIdentifier(value.id, MAX_ID_LENGTH),
    /** 10000 to 60000. */
    statusCode,
    /** Empty when missing. */
    message: readMessage(value.status_message),
    /** Micro-dollars. */
    costMicros: readCost(value.cost),
    /** Ours, as posted. */
    tag: isObject(value.data) ? readTag(value.data.tag) : null,
    /** How many elements `result` has. */
    resultCount: readCount(value.result_count),
    /** How long the service worked on it. */
    timeSeconds: readSeconds(value.time),
    /** As sent: the segments of the path that was called. */
    path: value.path ?? null,
    /** As sent: the parameters of the request. */
    data: value.data ?? null,
    /** As sent. */
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
