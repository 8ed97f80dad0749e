/** The result of one task, still unparsed, or why there is none yet or ever. */

import { ConfigurationError, RejectedError, UnavailableError, UnreadableError } from '../errors.ts'
import type { TaskReply } from './envelope.ts'
import { isObject } from './fields.ts'
import { hasForm, type ResultForm, type ServiceFunction, type Store } from './functions.ts'
import { readResultPath } from './ready-list.ts'
import { classifyStatus, type StatusClass } from './status-codes.ts'
import type { Reply, Transport } from './transport.ts'

/** The code under which the service has said "No Search Results" too. */
const INVALID_FIELD = 40501

export type ResultOutcome = Done | Undone

type Undone =
  /** 40601, 40602: keep waiting. */
  | { readonly kind: 'pending'; readonly statusCode: number }
  /** 40101, 40103, 40401, 40403 and other 4xxxx: the caller decides by code. */
  | {
      readonly kind: 'failed'
      readonly statusCode: number
      readonly message: string
      /** The parameters of the task as the answer repeats them, as sent. */
      readonly echo: unknown
      /** As sent: the path by which the answer was got, in segments. */
      readonly path: unknown
    }

interface Done {
  readonly kind: 'done'
  /** The service's own id of the task. */
  readonly serviceId: string
  /** Ours; null when the task was posted without one. */
  readonly tag: string | null
  /** 40102: a measurement that found nothing. */
  readonly statusCode: 20000 | 40102
  /** `result[0]` as sent; null with 40102, unless it has items nevertheless. */
  readonly result: unknown
  /** The parameters of the task as the answer repeats them, as sent. */
  readonly echo: unknown
  /** As sent: the path by which the answer was got, in segments. */
  readonly path: unknown
  /** How many elements `result` has. */
  readonly results: number
  /** By the clock of the service; null when the answer does not say. */
  readonly answeredAt: Date | null
  /** Size of the whole answer. */
  readonly rawBytes: number
}

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

/** What an answer of task_get means; one that is done holds the task as it came. */
export type FetchedTask = Undone | (Done & { readonly task: TaskReply })

/**
 * Fetches one result. A cost in the answer is never a new charge, and is not given on.
 * @param read what to keep of the outcome, as `callFree` has it
 * @param maxBytes the largest answer that is read; left out: that of any call
 * @throws UnreadableError when the answer is for another task, or done without a result; ConfigurationError
 *   for a form that the function does not have; what `callFree` throws
 */
export function getResult<Read = ResultOutcome>(
  transport: Transport,
  address: ResultAddress,
  read: (outcome: ResultOutcome) => Read = (outcome) => outcome as Read,
  maxBytes?: number,
): Promise<Read> {
  return fetchTask(transport, address, (fetched) => read(toOutcome(fetched)), maxBytes)
}

/** What an answer means, without the task as it came. */
export function toOutcome(fetched: FetchedTask): ResultOutcome {
  if (fetched.kind !== 'done') return fetched
  const { task: _, ...outcome } = fetched
  return outcome
}

/** As `getResult`, with the task that was answered. */
export async function fetchTask<Read>(
  transport: Transport,
  address: ResultAddress,
  read: (fetched: FetchedTask) => Read,
  maxBytes?: number,
): Promise<Read> {
  const path = toPath(address)
  const askedId = path.slice(path.lastIndexOf('/') + 1)
  const call = { kind: 'task_get', method: 'GET', path, ...(maxBytes && { maxBytes }) } as const
  return transport.callFree(call, (reply) => read(readReply(reply, askedId, `GET ${path}`)))
}

/**
 * What an answer says of a task.
 * @param what the call that was answered, for messages
 * @throws UnreadableError when it is for another task, or done without a result; UnavailableError when it
 *   says nothing
 */
export function readReply(reply: Reply, id: string, what: string): FetchedTask {
  if (reply.task !== null) checkId(reply.task, id, what)
  return readOutcome(reply, what)
}

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

/** An answer for another task decides nothing about this one; one without a result may carry no id at all. */
function checkId(task: TaskReply, askedId: string, what: string): void {
  const mayLackId = ['pending', 'rejected'].includes(classifyStatus(task.statusCode))
  if (task.id === askedId || (task.id === null && mayLackId)) return
  throw new UnreadableError(
    `${what} was answered for another task: ${task.id ?? 'without an id'}.`,
    'tasks[0].id',
  )
}

/**
 * What was found of a task that was posted well: nothing, whether it says so by its code or in its words
 * alone.
 */
function classifyResult(statusCode: number, message: string): StatusClass {
  const saysNothingFound = statusCode === INVALID_FIELD && /^no search results\b/i.test(message)
  return saysNothingFound ? 'no_results' : classifyStatus(statusCode)
}

function readOutcome(reply: Reply, what: string): FetchedTask {
  const { statusCode, message, task } = reply
  switch (classifyResult(statusCode, message)) {
    case 'pending':
      return { kind: 'pending', statusCode }
    case 'store_failed':
      // The caller pays for another attempt, so the task itself has to say so.
      if (task !== null) return { kind: 'failed', statusCode, message, echo: task.data, path: task.path }
      break
    case 'rejected':
      return { kind: 'failed', statusCode, message, echo: task?.data ?? null, path: task?.path ?? null }
    case 'ok':
    case 'no_results':
      if (task !== null) return readDone(task, reply, what)
      break
  }
  throw new UnavailableError(
    `${what} was answered with ${statusCode} ${message}, which says nothing about the task.`,
  )
}

function hasItems(result: unknown): boolean {
  return isObject(result) && Array.isArray(result.items) && result.items.length > 0
}

function readDone(task: TaskReply, { rawBytes, answeredAt }: Reply, what: string): FetchedTask {
  const serviceId = task.id
  if (serviceId === null) throw new UnreadableError(`${what} was answered without an id.`, 'tasks[0].id')
  const { tag, data: echo, path } = task
  const sent: readonly unknown[] = Array.isArray(task.result) ? task.result : []
  const [result = null] = sent
  const about = { serviceId, tag, echo, path, results: sent.length, rawBytes, answeredAt, task }
  const done = { kind: 'done', ...about } as const
  if (classifyResult(task.statusCode, task.message) === 'no_results')
    return { ...done, statusCode: 40102, result: hasItems(result) ? result : null }
  if (result == null) {
    throw new UnreadableError(`${what} says that the task is done, but holds no result.`, 'tasks[0].result')
  }
  return { ...done, statusCode: 20000, result }
}
