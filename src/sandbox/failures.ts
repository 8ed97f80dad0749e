/** The failed tasks of the past 24 hours (spec: Failed tasks): tasks that ended with an error, and webhooks. */

import { z } from 'zod'
import { MESSAGES } from './codes.ts'
import type { TaskAnswer } from './envelope.ts'
import { MAX_ROWS } from './limits.ts'
import { type Offer, resultPath } from './offers.ts'
import { answerQuery } from './queries.ts'
import { type FailedDelivery, outcomeOf, type Task, type Tasks } from './tasks.ts'
import { DAY_MS, formatTimestamp, Timestamp } from './timestamp.ts'

const Query = z.object({
  limit: z.int().min(1).max(MAX_ROWS).default(MAX_ROWS),
  offset: z.int().nonnegative().default(0),
  filtered_function: z.string().optional(),
  datetime_from: Timestamp.optional(),
  datetime_to: Timestamp.optional(),
})
type Query = z.output<typeof Query>

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

/** Times of a query are whole seconds. */
const findInvalidField = (query: Query, nowMs: number): string | undefined => {
  const oldestMs = Math.floor((nowMs - DAY_MS) / 1000) * 1000
  const { datetime_from: fromMs = oldestMs, datetime_to: toMs = nowMs } = query
  if (fromMs < oldestMs || fromMs > nowMs) return 'datetime_from'
  return toMs < fromMs || toMs > nowMs ? 'datetime_to' : undefined
}

const listRecords = ({ tasks, offers }: TaskSource, query: Query, nowMs: number) => {
  const { datetime_from: fromMs = nowMs - DAY_MS, datetime_to, filtered_function: wanted } = query
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

/** Lists what failed, the oldest in front. */
export const listFailures = (source: TaskSource, body: unknown, nowMs: number): TaskAnswer =>
  answerQuery(
    'errors',
    Query,
    body,
    (query) => findInvalidField(query, nowMs),
    (query) => listRecords(source, query, nowMs).slice(query.offset, query.offset + query.limit),
  )
