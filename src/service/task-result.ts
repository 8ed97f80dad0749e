/** Results of tasks: which wait, each fetched or delivered, or why there is none yet or ever. */
import { gunzipSync } from 'node:zlib'
import { z } from 'zod'
import { ConfigurationError, RejectedError, UnavailableError, UnreadableError } from '../errors.ts'
import {
  isNotOffered,
  isOvercrowded,
  OVERSIZED,
  parseBody,
  type Reply,
  type TaskReply,
  toReply,
} from './answer.ts'
import type { Dialect } from './dialect.ts'
import { MAX_BODY_BYTES } from './exchange.ts'
import {
  each,
  isObject,
  objectOf,
  optional,
  optionalCount,
  optionalName,
  optionalUrl,
  readIdentifier,
  readTag,
  readTimestamp,
  wireCode,
  wireRecord,
  wireText,
} from './fields.ts'
import { findRule, hasForm, type ResultForm, type ServiceFunction, type Store } from './functions.ts'
import { rowsOf } from './replies.ts'
import { classifyStatus, type StatusClass } from './status-codes.ts'
import type { Transport } from './transport.ts'

/** One task whose result waits to be fetched. */
export type ReadyRow = NonNullable<ReturnType<typeof readReadyRow>>

/** The rows that can be fetched, and how many were dropped because they cannot. */
export type ReadyList = ReadyRow[] & { readonly dropped: number }

/** docs/service.md: tasks_ready limits. A list this long, dropped rows included, may have more behind it. */
export const MAX_READY_ROWS = 1000

/**
 * Lists ready tasks, oldest first. Rows that cannot be fetched are dropped: without an id or a path, or with
 * one that leads elsewhere.
 * @throws ConfigurationError for a function that the store does not have; what `callFree` throws
 */
export async function listReady(transport: Transport, store: Store, fn: ServiceFunction): Promise<ReadyList> {
  const path = `/v3/app_data/${store}/${fn}/tasks_ready`
  if (findRule(store, fn) === null)
    throw new ConfigurationError(`${path} does not exist: ${store} has no ${fn}.`)
  return fetchReady(transport, path)
}

/** Where it was asked for and is not offered. */
const withoutCommonList = new WeakSet<Transport>()

/** Of all functions in one call; null where none is offered, asked once (docs/service.md: one ready list). */
export async function listAllReady(transport: Transport): Promise<ReadyList | null> {
  if (withoutCommonList.has(transport)) return null
  try {
    return await fetchReady(transport, '/v3/app_data/tasks_ready')
  } catch (error) {
    if (!isNotOffered(error)) throw error
    withoutCommonList.add(transport)
    return null
  }
}

async function fetchReady(transport: Transport, path: string): Promise<ReadyList> {
  const reply = await transport.callFree({ kind: 'tasks_ready', method: 'GET', path })
  const sent = rowsOf(reply, `GET ${path}`)
  const rows = sent.map((row) => readReadyRow(row, transport.dialect)).filter((row) => row !== null)
  return Object.assign(rows, { dropped: sent.length - rows.length })
}

function readReadyRow(value: unknown, { toOurs }: Dialect) {
  if (!isObject(value)) return null
  const id = readIdentifier(value.id, 64)
  const [advanced, html] = [value.endpoint_advanced, value.endpoint_html].map((sent) => {
    const path = readResultPath(sent)
    return path && toOurs(path)
  })
  const path = advanced ?? html
  if (id === null || !path?.endsWith(`/${id}`)) return null
  return {
    /** Of the task, the service's own. */
    id,
    /** Null when the service sends none: the task may belong to another program of the account. */
    tag: readTag(value.tag),
    /** Where the result is fetched, in advanced form where there is one; a path in our words. */
    path,
    /** The form of the result at `path`. */
    kind: path === advanced ? ('advanced' as const) : ('html' as const),
    /** Where the raw pages are fetched; null when the service does not offer them. */
    htmlPath: html?.endsWith(`/${id}`) ? html : null,
    se: readIdentifier(value.se, 100),
    /** Kind of the search, such as `organic`. */
    seType: readIdentifier(value.se_type, 100),
    datePosted: readTimestamp(value.date_posted),
  }
}

/** A path below `/v3/` on the service's own origin; null for anything that could lead elsewhere. */
export function readResultPath(value: unknown): string | null {
  return typeof value === 'string' && value.length <= 500 && /^\/v3(\/[\w-]+)+$/.test(value) ? value : null
}

/**
 * What an answer says of a task. `pending` (40601, 40602): keep waiting. `failed` (40101, 40103, 40401, 40403
 * and other 4xxxx): the caller decides by code.
 */
export type ResultOutcome = ReturnType<typeof readReply>

/** A result that is read. */
export type TaskOutcome<T> = Awaited<ReturnType<typeof getParsed<T>>>

/** A path out of the ready list, or a task to ask for by its id. */
export type ResultAddress = string | TaskAddress

export interface TaskAddress {
  readonly store: Store
  readonly fn: ServiceFunction
  /** The service's own. */
  readonly id: string
  /** Default `advanced`. */
  readonly form?: ResultForm
}

/**
 * @param read what to keep of the outcome, as `callFree` has it; one that is done has its `task`
 * @param maxBytes the largest answer that is read; left out: that of any call
 * @throws UnreadableError when the answer is for another task, or done without a result; ConfigurationError
 *   for a form that the function does not have
 */
export async function getResult<Read = ResultOutcome>(
  transport: Transport,
  address: ResultAddress,
  read: (outcome: ResultOutcome, task: TaskReply | null) => Read = (outcome) => outcome as Read,
  maxBytes?: number,
): Promise<Read> {
  const path = toPath(address)
  const askedId = path.slice(path.lastIndexOf('/') + 1)
  const call = { kind: 'task_get', method: 'GET', path, maxBytes } as const
  return transport.callFree(call, (reply) => read(readReply(reply, askedId, `GET ${path}`), reply.task))
}

/** As `getResult`, and read. @throws UnreadableError with the path of a field that breaks the contract */
export function getParsed<T>(transport: Transport, address: TaskAddress, parse: (result: unknown) => T) {
  return getResult(transport, address, (outcome, task) => {
    if (outcome.kind === 'pending') return outcome
    if (outcome.kind === 'failed') {
      const { kind, statusCode, message } = outcome
      return { kind, statusCode, message }
    }
    const { kind, serviceId: id, statusCode, result } = outcome
    // A cost of the answer is none: the task was paid for at posting.
    const { message, timeSeconds, costMicros, resultCount, path, data } = task as TaskReply
    return {
      ...{ kind, id, statusCode, message, timeSeconds, costMicros, resultCount },
      /** Of the call in segments, the last one the id; null when missing. */
      path: segments.safeParse(path).data ?? null,
      /** The parameters that the task was posted with. Nothing hangs on them: unreadable ones are empty. */
      data: echo.safeParse(data).data ?? echo.parse({}),
      /** Null with 40102. */
      result: result === null ? null : parse(result),
    }
  })
}

const segments = z.array(z.string())

/** The parameters of a task as the service echoes them, by our names (docs/service.md: Task data echo). */
export type TaskEcho = z.output<typeof echo>

const echoed = {
  ...each(optionalName, ['api', 'function', 'se', 'seType', 'device', 'os', 'tag', 'postbackData']),
  ...each(optionalName, ['appId', 'appCollection', 'appCategory', 'ageRating', 'sortBy']),
  // Null where the task gave a code; codes are there also where it gave a name.
  ...each(optionalName, ['locationName', 'languageName', 'languageCode']),
  ...each(optionalCount, ['rating', 'depth', 'priority']),
  ...each(optionalUrl, ['postbackUrl', 'pingbackUrl']),
  locationCode: optional(wireCode),
  /** As posted, so encoded. */
  keyword: wireText(2_500),
}
const echo = wireRecord(echoed)

function toPath(address: ResultAddress): string {
  const path = typeof address === 'string' ? address : pathOf(address)
  const checked = readResultPath(path)
  if (checked === null)
    throw new RejectedError(`No result can be fetched from "${path}": it is no path below /v3.`, 0)
  return checked
}

function pathOf({ store, fn, id, form = 'advanced' }: TaskAddress): string {
  const endpoint = `/v3/app_data/${store}/${fn}/task_get/${form}`
  if (hasForm(store, fn, form)) return `${endpoint}/${id}`
  throw new ConfigurationError(`${endpoint} does not exist: ${store} gives no ${form} results of ${fn}.`)
}

/** The code under which the service has said "No Search Results" too. */
const INVALID_FIELD = 40501

/** What was found of a task that was posted well: nothing, by its code or in its words alone. */
function classifyResult(statusCode: number, message: string): StatusClass {
  const saysNothingFound = statusCode === INVALID_FIELD && /^no search results\b/i.test(message)
  return saysNothingFound ? 'no_results' : classifyStatus(statusCode)
}

/** What an answer says of the task with this id; `what` is the call that was answered, for messages. */
function readReply(reply: Reply, id: string, what: string) {
  const { statusCode, message, task } = reply
  if (task !== null) checkId(task, id, what)
  const sentBack = {
    /** As sent: the parameters of the task. */
    echo: (task?.data ?? null) as unknown,
    /** As sent: the path by which the answer was got, in segments. */
    path: (task?.path ?? null) as unknown,
  }
  const statusClass = classifyResult(statusCode, message)
  switch (statusClass) {
    case 'pending':
      return { kind: 'pending', statusCode } as const
    case 'rejected':
      return { kind: 'failed', statusCode, message, ...sentBack } as const
    case 'store_failed':
      // The caller pays for another attempt, so the task itself has to say so.
      if (task !== null) return { kind: 'failed', statusCode, message, ...sentBack } as const
      break
    case 'ok':
    case 'no_results':
      if (task !== null) return { ...readDone(reply, task, statusClass, what), ...sentBack }
  }
  throw new UnavailableError(
    `${what} was answered with ${statusCode} ${message}, which says nothing about the task.`,
  )
}

/** An answer for another task decides nothing about this one; one without a result may carry no id at all. */
function checkId(task: TaskReply, askedId: string, what: string): void {
  const mayLackId = ['pending', 'rejected'].includes(classifyStatus(task.statusCode))
  if (task.id === askedId || (task.id === null && mayLackId)) return
  throw new UnreadableError(
    `${what} was answered for another task: ${task.id ?? 'without an id'}.`,
    'tasks[0].id',
  )
}

function readDone(
  { rawBytes, answeredAt }: Reply,
  { id: serviceId, tag, result: sent }: TaskReply,
  statusClass: 'ok' | 'no_results',
  what: string,
) {
  if (serviceId === null) throw new UnreadableError(`${what} was answered without an id.`, 'tasks[0].id')
  const all: readonly unknown[] = Array.isArray(sent) ? sent : []
  const [first = null] = all
  const isEmpty = statusClass === 'no_results'
  if (first === null && !isEmpty)
    throw new UnreadableError(`${what} says that the task is done, but holds no result.`, 'tasks[0].result')
  const { items } = objectOf(first)
  const hasItems = Array.isArray(items) && items.length > 0
  return {
    kind: 'done' as const,
    /** The service's own id of the task. */
    serviceId,
    /** Ours; null when the task was posted without one. */
    tag,
    /** 40102: a measurement that found nothing. */
    statusCode: isEmpty ? (40102 as const) : (20000 as const),
    /** As sent; null with 40102, unless it has items nevertheless. */
    result: isEmpty && !hasItems ? null : first,
    /** How many results were sent. */
    results: all.length,
    rawBytes,
    answeredAt,
  }
}

/** A search of 100 apps: unpacked in one piece, it takes half the time that it takes in pieces of 16 KiB. */
const USUAL_BYTES = 64 * 1024

/**
 * Reads the body of a postback, compressed or not: what task_get would answer (docs/service.md: postback
 * body).
 * @param id of the task that it was sent for, from its URL
 * @param maxBytes the most that a result of the task can have
 * @throws UnreadableError when it is larger or no answer for this task; UnavailableError when it says nothing
 */
export function readPostback(body: Buffer, id: string, maxBytes = MAX_BODY_BYTES): ResultOutcome {
  const json = unpack(body, maxBytes)
  if (json.byteLength > maxBytes || isOvercrowded(json))
    throw new UnreadableError(`The postback of ${id} is larger than its result can be.`, OVERSIZED)
  const envelope = parseBody(json)
  if (envelope?.tasks.length !== 1) {
    throw new UnreadableError(`The postback of ${id} is no answer of the service for one task.`, 'tasks')
  }
  return readReply(toReply(envelope, json.byteLength, null), id, `The postback of ${id}`)
}

/** By its first two bytes: a proxy may have unpacked it and left the header, or the other way round. */
function unpack(body: Buffer, maxOutputLength: number): Buffer {
  if (body[0] !== 0x1f || body[1] !== 0x8b) return body
  try {
    return gunzipSync(body, { maxOutputLength, chunkSize: USUAL_BYTES })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE')
      throw new UnreadableError('The postback cannot be unpacked.', 'tasks', { cause })
    throw new UnreadableError(`The postback holds more than ${maxOutputLength} bytes.`, OVERSIZED, { cause })
  }
}
