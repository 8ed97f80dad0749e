/**
 * The failed tasks of the past 24 hours, or 7 days (spec: Failed tasks): tasks that ended with an error, and
 * webhooks.
 */

import { z } from 'zod'
import type { Deviations } from './deviations.ts'
import type { TaskAnswer } from './envelope.ts'
import { MAX_ROWS } from './limits.ts'
import { findOffer, resultPath } from './offers.ts'
import { answerQuery } from './queries.ts'
import type { CalledService } from './service.ts'
import { type FailedDelivery, messageOf, outcomeOf, type Task } from './tasks.ts'
import { DAY_MS, formatTimestamp, Timestamp } from './timestamp.ts'

const Query = z.object({
  limit: z.int().min(1).max(MAX_ROWS).default(MAX_ROWS),
  offset: z.int().nonnegative().default(0),
  filtered_function: z.string().optional(),
  datetime_from: Timestamp.optional(),
  datetime_to: Timestamp.optional(),
})
type Query = z.output<typeof Query>

/** The code of a webhook that did not arrive, in the list only: no task ends with it. */
const DELIVERY_FAILED = 50401
const SOLD_DELIVERY_FAILED = 40501

const SOLD_DAYS = 7

/** How far back the list goes. */
const reachMs = (deviations: Deviations): number =>
  deviations.has('errors-7-days') ? SOLD_DAYS * DAY_MS : DAY_MS

const showTask = ({ offers, deviations, envelope, origin }: CalledService, task: Task) => {
  const offer = findOffer(offers, task)
  const form = offer.forms[0] ?? 'advanced'
  const code = outcomeOf(task)
  const path = resultPath(offer, task.id, form)
  return {
    id: task.id,
    datetime: formatTimestamp(task.doneAtMs),
    function: `app_data/task_get/${form}`,
    error_code: code,
    error_message: messageOf(code, envelope.codes),
    http_url: deviations.has('paths') ? `${origin}${path}` : path,
    http_method: 'GET',
    http_code: 200,
    http_time: 0,
    http_response: envelope.codes.isSold ? null : '',
  }
}

const showDelivery = ({ envelope: { codes } }: CalledService, { task, hook, failure }: FailedDelivery) => ({
  id: task.id,
  datetime: formatTimestamp(failure.atMs),
  function: hook,
  error_code: codes.isSold ? SOLD_DELIVERY_FAILED : DELIVERY_FAILED,
  error_message: codes.isSold ? failure.url : failure.message,
  http_url: failure.url,
  http_method: hook === 'postback_url' ? 'POST' : 'GET',
  http_code: failure.httpCode,
  http_time: failure.httpTimeMs / 1000,
  http_response: failure.response,
})

/** Times of a query are whole seconds. */
const findInvalidField = (query: Query, nowMs: number, backMs: number): string | undefined => {
  const oldestMs = Math.floor((nowMs - backMs) / 1000) * 1000
  const { datetime_from: fromMs = oldestMs, datetime_to: toMs = nowMs } = query
  if (fromMs < oldestMs || fromMs > nowMs) return 'datetime_from'
  return toMs < fromMs || toMs > nowMs ? 'datetime_to' : undefined
}

const listRecords = (service: CalledService, query: Query, nowMs: number) => {
  const { tasks, deviations } = service
  const {
    datetime_from: fromMs = nowMs - reachMs(deviations),
    datetime_to,
    filtered_function: wanted,
  } = query
  const toMs = datetime_to === undefined ? nowMs : Math.min(nowMs, datetime_to + 999)
  const failed = tasks
    .listFailed(fromMs, toMs)
    .map((task) => ({ timeMs: task.doneAtMs, record: showTask(service, task) }))
  const undelivered = tasks
    .listFailedDeliveries(fromMs, toMs)
    .map((delivery) => ({ timeMs: delivery.failure.atMs, record: showDelivery(service, delivery) }))
  return [...failed, ...undelivered]
    .sort((left, right) => left.timeMs - right.timeMs)
    .map(({ record }) => record)
    .filter((record) => wanted === undefined || record.function === wanted)
}

/** Lists what failed, the oldest in front. */
export const listFailures = (service: CalledService, body: unknown, nowMs: number): TaskAnswer =>
  answerQuery(
    { name: 'errors', id: service.makeId(nowMs, 'errors') },
    Query,
    body,
    (query) => findInvalidField(query, nowMs, reachMs(service.deviations)),
    (query) => listRecords(service, query, nowMs).slice(query.offset, query.offset + query.limit),
  )
