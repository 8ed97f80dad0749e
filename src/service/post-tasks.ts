/** Posts tasks at most once; `not_sent` and `refused` are proofs (docs/protocol.md: What proves what). */
import type { z } from 'zod'
import { ConfigurationError } from '../errors.ts'
import { TIMINGS } from '../timings.ts'
import {
  type Answered,
  type Envelope,
  type Failure,
  parseBody,
  readCallRefusal,
  type TaskReply,
} from './answer.ts'
import type { ServiceFunction, Store } from './functions.ts'
import { describeProblem } from './requests.ts'
import { classifyStatus } from './status-codes.ts'
import { type TaskToPost, taskSchema, toWire, type WireTask } from './task-rules.ts'
import type { SendWindow, Transport } from './transport.ts'

export type { TaskToPost } from './task-rules.ts'

/** spec: Limits */
export const MAX_TASKS_PER_POST = TIMINGS.tasksPerPost

/** What became of one posted task. */
export type TaskAnswer = NonNullable<ReturnType<typeof toAnswer>>

export type PostOutcome =
  /** It failed before the first byte was written: nothing was created. */
  | { readonly kind: 'not_sent'; readonly reason: string }
  /** HTTP 401, 402, 404, or a general account, money or pace code: nothing was created. */
  | {
      readonly kind: 'refused'
      /** What to mend: the account, its money, the pace or the path. */
      readonly cause: 'account' | 'money' | 'rate_limit' | 'not_found'
      /** HTTP status × 100 when the answer holds no code. */
      readonly statusCode: number
      readonly httpStatus: number
      /** In the words of the service, or `HTTP 402` where it has none. */
      readonly message: string
      /** How long the service asks to be left alone; with `rate_limit` only. */
      readonly retryAfterMs?: number
    }
  /** Each task by itself; a task whose tag is not among the answers is unknown, and a tag may come twice. */
  | {
      readonly kind: 'answered'
      /** Those of tasks that were never sent come first. */
      readonly answers: readonly TaskAnswer[]
      /** Missing when no task was fit to be sent. */
      readonly httpStatus?: number
      /** Of the call; 40501 when no task was fit to be sent. */
      readonly statusCode: number
    }
  /** Everything else: the tasks may or may not exist. */
  | { readonly kind: 'unknown'; readonly reason: string; readonly httpStatus?: number }

/**
 * Posts 1 to 100 tasks of one function. One that breaks a rule is not sent, but answered with 40501 and a
 * sentence, as the service would.
 * @throws ConfigurationError for another number of tasks, a tag that comes twice, or a function that the
 *   store does not have; anything else is an outcome
 */
export async function postTasks(
  transport: Transport,
  store: Store,
  fn: ServiceFunction,
  tasks: readonly TaskToPost[],
  send: SendWindow,
): Promise<PostOutcome> {
  const path = `/v3/app_data/${store}/${fn}/task_post`
  const schema = taskSchema(store, fn)
  if (schema === null) throw new ConfigurationError(`${path} does not exist: ${store} has no ${fn}.`)
  checkBatch(tasks, path)
  const wire = tasks.map((task) => toWire(fn, task))
  const refused = wire.map((task) => refuseLocally(schema, task)).filter((answer) => answer !== null)
  const refusedTags = new Set(refused.map((answer) => answer.tag))
  const fit = wire.filter((task) => !refusedTags.has(task.tag))
  if (fit.length === 0) return { kind: 'answered', answers: refused, statusCode: INVALID_FIELD }
  const answer = await callOnce(transport, path, fit, send)
  if ('kind' in answer) return answer
  const answers = answer.tasks.map(toAnswer).filter((task) => task !== null)
  const { statusCode, message } = answer
  if (answers.length > 0)
    return { kind: 'answered', answers: [...refused, ...answers], httpStatus: 200, statusCode }
  const reason = `the answer names no task of ours: ${statusCode} ${message.replace(/\.$/, '')}`
  return { kind: 'unknown', reason, httpStatus: 200 }
}

/** The service's own code for a task that breaks a rule (docs/service.md: an invalid task in a batch). */
const INVALID_FIELD = 40501

function checkBatch(tasks: readonly TaskToPost[], path: string): void {
  const unsent = (rule: string) => new ConfigurationError(`POST ${path} was not sent: ${rule}.`)
  if (tasks.length < 1 || tasks.length > MAX_TASKS_PER_POST)
    throw unsent(`it takes 1 to ${MAX_TASKS_PER_POST} tasks, not ${tasks.length}`)
  if (new Set(tasks.map((task) => task.tag)).size < tasks.length)
    throw unsent('a tag comes twice, and answers are matched by it')
}

function refuseLocally(schema: z.ZodType, task: WireTask): TaskAnswer | null {
  const problem = describeProblem(schema, task)
  if (problem === null) return null
  const message = `Invalid Field: ${problem}. The task was not sent.`
  return { tag: task.tag, serviceId: null, statusCode: INVALID_FIELD, message, costMicros: 0 }
}

/** What is known of a paid call as a whole, where its answer does not speak of each task. */
type CallOutcome = Exclude<PostOutcome, { kind: 'answered' }>

/** Makes a paid call, at most once. An envelope is of HTTP 200, and speaks of each task. */
export async function callOnce(
  transport: Transport,
  path: string,
  body: readonly unknown[],
  send: SendWindow,
): Promise<Envelope | CallOutcome> {
  const result = await transport.postOnce(path, JSON.stringify(body), send)
  if (result.kind === 'late') return { kind: 'not_sent', reason: result.reason }
  if (result.kind === 'broken') {
    const { begun, reason, httpStatus } = result
    if (!begun) return { kind: 'not_sent', reason }
    return { kind: 'unknown', reason, ...(httpStatus !== undefined && { httpStatus }) }
  }
  const { httpStatus } = result
  const envelope = parseBody(result.body)
  if (envelope !== null) transport.announce({ method: 'POST', path }, httpStatus, envelope)
  const refusal = readRefusal(result, envelope)
  if (refusal !== null) return refusal
  if (httpStatus !== 200) return { kind: 'unknown', reason: `HTTP ${httpStatus}`, httpStatus }
  if (envelope === null) {
    return { kind: 'unknown', reason: 'the body is not a JSON answer of the service', httpStatus }
  }
  return envelope
}

/** A refusal that nevertheless has a cost or a created task contradicts itself, and proves nothing. */
function namesCreated({ costMicros, tasks }: Envelope): boolean {
  const isCreated = ({ statusCode }: TaskReply) => ['created', 'ok'].includes(classifyStatus(statusCode))
  return (costMicros ?? 0) > 0 || tasks.some(isCreated)
}

type Refused = Extract<PostOutcome, { kind: 'refused' }>

/** By the kind of the failure; others prove nothing. */
const CAUSES: Partial<Record<Failure['kind'], Refused['cause']>> = {
  account: 'account',
  money: 'money',
  rate_limited: 'rate_limit',
  too_many_at_once: 'rate_limit',
}

function readRefusal(result: Answered, envelope: Envelope | null): Refused | null {
  const { httpStatus } = result
  // A proxy that counts calls answers so too: that proves nothing.
  if (httpStatus === 429 || (envelope !== null && namesCreated(envelope))) return null
  const failure = readCallRefusal(result, envelope)
  const cause = failure && (httpStatus === 404 ? 'not_found' : CAUSES[failure.kind])
  if (!cause) return null
  const { kind: _, message, ...said } = failure
  return { kind: 'refused', cause, httpStatus, message: message || `HTTP ${httpStatus}`, ...said }
}

/** Null for what settles nothing: no tag, or created without an id or a cost. Then the list decides. */
function toAnswer({ tag, id, statusCode, message, costMicros }: TaskReply) {
  if (tag === null) return null
  if (classifyStatus(statusCode) === 'created' && (id === null || !costMicros)) return null
  return {
    /** Ours, as posted. */
    tag,
    /** Null for some tasks that are refused, and for those that were never sent. */
    serviceId: id,
    /** 20100 when it was created. */
    statusCode,
    /** In the words of the service; a sentence of ours for a task that was never sent. */
    message,
    /** Before refund; 0 when it was refused. */
    costMicros: costMicros ?? 0,
  }
}
