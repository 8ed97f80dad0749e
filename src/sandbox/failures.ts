/** The failed tasks of the past 24 hours (spec: Failed tasks): tasks that ended with an error, and webhooks. */

import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { MESSAGES } from './codes.ts'
import type { TaskAnswer } from './envelope.ts'
import { MAX_ROWS } from './limits.ts'
import { type Offer, resultPath } from './offers.ts'
import { isRecord } from './posting.ts'
import { type FailedDelivery, outcomeOf, type Task, type Tasks } from './tasks.ts'
import { DAY_MS, formatTimestamp, Timestamp } from './timestamp.ts'

const Request = z.object({
  limit: z.int().min(1).max(MAX_ROWS).default(MAX_ROWS),
  offset: z.int().nonnegative().default(0),
  filtered_function: z.string().optional(),
  datetime_from: Timestamp.optional(),
  datetime_to: Timestamp.optional(),
})

/** The tasks, and the offers that they are of. */
type TaskSource = { tasks: Tasks; offers: readonly Offer[] }

/** The code of a webhook that did not arrive, in the list only: no task ends with it. */
const DELIVERY_FAILED = 50401

const showTask = (offers: readonly Offer[], task: Task) => {
  const offer = offers.find((each) => each.store === task.store && each.function === task.function)
  const form = offer?.forms[0] ?? 'advanced'
  const code = outcomeOf(task)
  return {
    id: task.id,
    datetime: formatTimestamp(task.doneAtMs),
    function: `app_data/task_get/${form}`,
    error_code: code,
    error_message: MESSAGES[code],
    http_url: resultPath(task, form),
    http_method: 'GET',
    http_code: 200,
    http_time: 0,
    http_response: '',
  }
}

const showDelivery = ({ task, hook, failure }: FailedDelivery) => ({
  id: task.id,
  datetime: formatTimestamp(failure.atMs),
  function: hook,
  error_code: DELIVERY_FAILED,
  error_message: failure.message,
  http_url: failure.url,
  http_method: hook === 'postback_url' ? 'POST' : 'GET',
  http_code: failure.httpCode,
  http_time: failure.httpTimeMs / 1000,
  http_response: failure.response,
})

/** Times of a request are whole seconds. */
const findInvalidField = (request: z.output<typeof Request>, nowMs: number): string | undefined => {
  const oldestMs = Math.floor((nowMs - DAY_MS) / 1000) * 1000
  const { datetime_from: fromMs = oldestMs, datetime_to: toMs = nowMs } = request
  if (fromMs < oldestMs || fromMs > nowMs) return 'datetime_from'
  return toMs < fromMs || toMs > nowMs ? 'datetime_to' : undefined
}

const listRecords = ({ tasks, offers }: TaskSource, request: z.output<typeof Request>, nowMs: number) => {
  const { datetime_from: fromMs = nowMs - DAY_MS, datetime_to, filtered_function: wanted } = request
  const toMs = datetime_to === undefined ? nowMs : Math.min(nowMs, datetime_to + 999)
  const failed = tasks
    .listFailed(fromMs, toMs)
    .map((task) => ({ timeMs: task.doneAtMs, record: showTask(offers, task) }))
  const undelivered = tasks
    .listFailedDeliveries(fromMs, toMs)
    .map((delivery) => ({ timeMs: delivery.failure.atMs, record: showDelivery(delivery) }))
  return [...failed, ...undelivered]
    .sort((left, right) => left.timeMs - right.timeMs)
    .map(({ record }) => record)
    .filter((record) => wanted === undefined || record.function === wanted)
}

/** Lists what failed, the oldest in front; a refused request is a task answer with 40501. */
export const listFailures = (source: TaskSource, body: unknown, nowMs: number): TaskAnswer => {
  const id = randomUUID()
  const data = { api: 'app_data', function: 'errors', ...(isRecord(body) && body) }
  const parsed = Request.safeParse(body)
  const invalid = parsed.success
    ? findInvalidField(parsed.data, nowMs)
    : String(parsed.error.issues[0]?.path[0] ?? 'task')
  if (!parsed.success || invalid !== undefined) {
    return { id, code: 40501, message: `Invalid Field: '${invalid}'.`, data, result: null }
  }
  const { offset, limit } = parsed.data
  return {
    id,
    code: 20000,
    data,
    result: listRecords(source, parsed.data, nowMs).slice(offset, offset + limit),
  }
}
