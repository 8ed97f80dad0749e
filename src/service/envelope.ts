/** The envelope that every answer of the service comes in, read tolerantly and task by task. */

import { cleanText, isObject, microsFromDollars, readIdentifier, readInteger, readNumber } from './fields.ts'

const MAX_MESSAGE_LENGTH = 500
const MAX_ID_LENGTH = 64
/** spec: Limits */
const MAX_TAG_LENGTH = 255

/** One element of `tasks`. */
export interface TaskReply {
  readonly id: string | null
  readonly statusCode: number
  readonly message: string
  /** Null when missing or not a number. */
  readonly costMicros: number | null
  readonly tag: string | null
  readonly resultCount: number | null
  /** As sent. */
  readonly result: unknown
}

export interface Envelope {
  readonly statusCode: number
  readonly message: string
  /** Only the elements that have a status code: each stands for itself, `tasks_count` and `cost` are not trusted. */
  readonly tasks: readonly TaskReply[]
}

/** Reads a parsed body; null when it is no envelope. */
export function readEnvelope(body: unknown): Envelope | null {
  if (!isObject(body)) return null
  const statusCode = readInteger(body.status_code)
  if (statusCode === null) return null
  const tasks = Array.isArray(body.tasks) ? body.tasks.map(readTask).filter((task) => task !== null) : []
  return { statusCode, message: readMessage(body.status_message), tasks }
}

function readTask(value: unknown): TaskReply | null {
  if (!isObject(value)) return null
  const statusCode = readInteger(value.status_code)
  if (statusCode === null) return null
  const dollars = readNumber(value.cost)
  return {
    id: readIdentifier(value.id, MAX_ID_LENGTH),
    statusCode,
    message: readMessage(value.status_message),
    costMicros: dollars === null ? null : microsFromDollars(dollars),
    tag: isObject(value.data) ? readTag(value.data.tag) : null,
    resultCount: readInteger(value.result_count),
    result: value.result ?? null,
  }
}

/** A tag as the service echoes it; null when it has none, or one that cannot be stored. */
export function readTag(value: unknown): string | null {
  return readIdentifier(value, MAX_TAG_LENGTH)
}

function readMessage(value: unknown): string {
  return typeof value === 'string' ? cleanText(value, MAX_MESSAGE_LENGTH) : ''
}
