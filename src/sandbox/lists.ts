/** The lists that take a query: what failed of late, and what was posted within a time. */

import { z } from 'zod'
import type { Deviations } from './deviations.ts'
import { type Code, invalidField, isRecord, type TaskAnswer } from './envelope.ts'
import { findOffer, MAX_ROWS, resultPath, segmentOf, seTypeOf, toUsd } from './offers.ts'
import type { Service } from './service.ts'
import { type FailedDelivery, messageOf, outcomeOf, stageOf, type Task } from './tasks.ts'
import { DAY_MS, formatTimestamp, monthsBefore, Timestamp } from './timestamp.ts'

/** One call of a list: what it works on, the body, the moment, and the address that was called. */
type ListCall = { service: Service; body: unknown; nowMs: number; origin: string }

const Page = z.object({
  limit: z.int().min(1).max(MAX_ROWS).default(MAX_ROWS),
  offset: z.int().nonnegative().default(0),
})

/** Times of a query are whole seconds. */
const toSecond = (timeMs: number): number => Math.floor(timeMs / 1000) * 1000

/**
 * Answers a query with a page of the records that `list` gives; with 40501 and the name of the field that
 * breaks a rule, of which `findInvalidField` has those that go by the present.
 */
const answerQuery = <Query extends z.output<typeof Page>>(
  name: string,
  { service, body, nowMs }: ListCall,
  schema: z.ZodType<Query>,
  findInvalidField: (query: Query) => string | undefined,
  list: (query: Query) => IteratorObject<unknown>,
): TaskAnswer => {
  const id = service.makeId(nowMs, name)
  const data = { api: 'app_data', function: name, ...(isRecord(body) && body) }
  const { data: query, error } = schema.safeParse(body)
  const invalid = query ? findInvalidField(query) : String(error?.issues[0]?.path[0] ?? 'task')
  if (!query || invalid !== undefined) return { id, ...invalidField(String(invalid)), data }
  return { id, code: 20000, data, result: list(query).drop(query.offset).take(query.limit).toArray() }
}

// Failed tasks (spec: Failed tasks)

const FailureQuery = Page.extend({
  filtered_function: z.string().optional(),
  datetime_from: Timestamp.optional(),
  datetime_to: Timestamp.optional(),
})

/** How far back the list goes. */
const reachMs = (deviations: Deviations): number => (deviations.has('errors-7-days') ? 7 : 1) * DAY_MS

const showFailure = ({ service, origin }: ListCall, task: Task) => {
  const { offers, deviations, envelope } = service
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

/** The code of a webhook that did not arrive stands in this list only: no task ends with it. */
const showDelivery = ({ service }: ListCall, { task, hook, failure }: FailedDelivery) => {
  const { isSold } = service.envelope.codes
  return {
    id: task.id,
    datetime: formatTimestamp(failure.atMs),
    function: hook,
    error_code: isSold ? 40501 : 50401,
    error_message: isSold ? failure.url : failure.message,
    http_url: failure.url,
    http_method: hook === 'postback_url' ? 'POST' : 'GET',
    http_code: failure.httpCode,
    http_time: failure.httpTimeMs / 1000,
    http_response: failure.response,
  }
}

/** Lists what failed in the past 24 hours or 7 days, tasks and webhooks, the oldest in front. */
export const listFailures = (call: ListCall): TaskAnswer => {
  const { service, nowMs } = call
  const oldestMs = nowMs - reachMs(service.deviations)
  return answerQuery(
    'errors',
    call,
    FailureQuery,
    ({ datetime_from: fromMs = toSecond(oldestMs), datetime_to: toMs = nowMs }) => {
      if (fromMs < toSecond(oldestMs) || fromMs > nowMs) return 'datetime_from'
      return toMs < fromMs || toMs > nowMs ? 'datetime_to' : undefined
    },
    ({ datetime_from: fromMs = oldestMs, datetime_to: lastMs = nowMs, filtered_function: wanted }) => {
      const toMs = Math.min(nowMs, lastMs + 999)
      const failed = service.tasks
        .list((task) => task.doneAtMs >= fromMs && task.doneAtMs <= toMs && outcomeOf(task) !== 20000)
        .map((task) => ({ timeMs: task.doneAtMs, record: showFailure(call, task) }))
      const undelivered = service.tasks
        .listFailedDeliveries(fromMs, toMs)
        .map((delivery) => ({ timeMs: delivery.failure.atMs, record: showDelivery(call, delivery) }))
      return [...failed, ...undelivered]
        .sort((left, right) => left.timeMs - right.timeMs)
        .values()
        .map(({ record }) => record)
        .filter((record) => wanted === undefined || record.function === wanted)
    },
  )
}

// The history of task ids (spec: Task id history)

const METADATA_MONTHS = 1
const HISTORY_MONTHS = 6

const IdQuery = Page.extend({
  datetime_from: Timestamp,
  datetime_to: Timestamp,
  sort: z.enum(['asc', 'desc']).default('asc'),
  include_metadata: z.boolean().default(false),
})

/** The code of a task; of a pending one what task_get would say. */
const codeOf = (task: Task, nowMs: number): Code => {
  if (nowMs >= task.doneAtMs) return outcomeOf(task)
  return stageOf(task, 'advanced', nowMs) === 'handed' ? 40601 : 40602
}

/** As it is sold, the path has the host, the status is a message, and the service adds to the parameters. */
const showTask = ({ service, nowMs, origin }: ListCall, task: Task, withMetadata: boolean) => {
  const { deviations, envelope } = service
  const { function: fn, doneAtMs, costMicros, refundMicros, parameters } = task
  const segment = segmentOf(task.store, deviations)
  const path = `/v3/app_data/${segment}/${fn}/${fn === 'app_listings' ? 'search/live' : 'task_post'}`
  const code = codeOf(task, nowMs)
  const isDone = nowMs >= doneAtMs
  const isSold = deviations.has('statuses')
  const seType = fn === 'app_listings' ? fn : seTypeOf(fn, deviations)
  const added = isSold && { api: 'app_data', function: fn, se: segment, se_type: seType }
  return {
    id: task.id,
    url: deviations.has('paths') ? `${origin}${path}` : path,
    datetime_posted: formatTimestamp(task.postedAtMs),
    datetime_done: isDone ? formatTimestamp(doneAtMs) : null,
    status: isSold ? messageOf(code, envelope.codes) : String(code),
    cost: toUsd(isDone ? costMicros - refundMicros : costMicros),
    ...(withMetadata && { metadata: { ...added, ...parameters } }),
  }
}

/** Lists tasks that were posted within a time, in the order of execution; unfinished ones come last. */
export const listIds = (call: ListCall): TaskAnswer => {
  const { service, nowMs } = call
  const executedAt = (task: Task) => (nowMs < task.doneAtMs ? Number.MAX_SAFE_INTEGER : task.doneAtMs)
  return answerQuery(
    'id_list',
    call,
    IdQuery,
    ({ datetime_from: fromMs, datetime_to: toMs, include_metadata: isLong }) => {
      const oldestMs = monthsBefore(nowMs, isLong ? METADATA_MONTHS : HISTORY_MONTHS)
      if (fromMs < toSecond(oldestMs)) return 'datetime_from'
      const isPresent = toMs >= toSecond(nowMs)
      if (service.deviations.has('strict-present') && isPresent) {
        return 'datetime_to - must be earlier than present date'
      }
      return toMs > nowMs || toMs < fromMs ? 'datetime_to' : undefined
    },
    ({ datetime_from: fromMs, datetime_to: toMs, sort, include_metadata: isLong }) => {
      const listed = service.tasks
        .list(({ postedAtMs }) => postedAtMs >= fromMs && postedAtMs < toMs + 1000)
        .sort((one, other) => executedAt(one) - executedAt(other) || one.postedAtMs - other.postedAtMs)
      return (sort === 'asc' ? listed : listed.reverse()).values().map((task) => showTask(call, task, isLong))
    },
  )
}
