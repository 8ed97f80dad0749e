/** The history of task ids (spec: Task id history): what was posted within a time, in order of execution. */

import { z } from 'zod'
import type { Code } from './codes.ts'
import type { Deviations } from './deviations.ts'
import type { TaskAnswer } from './envelope.ts'
import { MAX_ROWS } from './limits.ts'
import { segmentOf, seTypeOf } from './offers.ts'
import { toUsd } from './prices.ts'
import { answerQuery } from './queries.ts'
import type { CalledService } from './service.ts'
import { messageOf, outcomeOf, type Task, type Tasks } from './tasks.ts'
import { formatTimestamp, monthsBefore, Timestamp } from './timestamp.ts'

const METADATA_MONTHS = 1
const HISTORY_MONTHS = 6

const Query = z.object({
  datetime_from: Timestamp,
  datetime_to: Timestamp,
  limit: z.int().min(1).max(MAX_ROWS).default(MAX_ROWS),
  offset: z.int().nonnegative().default(0),
  sort: z.enum(['asc', 'desc']).default('asc'),
  include_metadata: z.boolean().default(false),
})
type Query = z.output<typeof Query>

/** The field that breaks a rule; undefined when the query stands. Times of a query are whole seconds. */
const findInvalidField = (query: Query, nowMs: number, deviations: Deviations): string | undefined => {
  const oldestMs = monthsBefore(nowMs, query.include_metadata ? METADATA_MONTHS : HISTORY_MONTHS)
  if (query.datetime_from < Math.floor(oldestMs / 1000) * 1000) return 'datetime_from'
  if (deviations.has('strict-present') && query.datetime_to >= Math.floor(nowMs / 1000) * 1000) {
    return 'datetime_to - must be earlier than present date'
  }
  if (query.datetime_to > nowMs || query.datetime_to < query.datetime_from) return 'datetime_to'
  return undefined
}

/** The code of a task; of a pending one what task_get would say. */
const codeOf = (tasks: Tasks, task: Task, nowMs: number): Code => {
  if (nowMs < task.doneAtMs) return tasks.stageOf(task, 'advanced', nowMs) === 'handed' ? 40601 : 40602
  return outcomeOf(task)
}

/** The status of a task: its code as text, or as it is sold the message. */
const statusOf = ({ tasks, deviations, envelope }: CalledService, task: Task, nowMs: number): string => {
  const code = codeOf(tasks, task, nowMs)
  return deviations.has('statuses') ? messageOf(code, envelope.codes) : String(code)
}

/** The path of the call, as it is sold with the host that was called. */
const urlOf = ({ deviations, origin }: CalledService, task: Task): string => {
  const call = task.function === 'app_listings' ? 'search/live' : 'task_post'
  const path = `/v3/app_data/${segmentOf(task.store, deviations)}/${task.function}/${call}`
  return deviations.has('paths') ? `${origin}${path}` : path
}

/** The parameters as posted, as it is sold with what the service adds to them. */
const metadataOf = ({ deviations }: CalledService, task: Task) => ({
  ...(deviations.has('statuses') && {
    api: 'app_data',
    function: task.function,
    se: segmentOf(task.store, deviations),
    se_type: task.function === 'app_listings' ? 'app_listings' : seTypeOf(task.function, deviations),
  }),
  ...task.parameters,
})

const showTask = (service: CalledService, task: Task, withMetadata: boolean, nowMs: number) => ({
  id: task.id,
  url: urlOf(service, task),
  datetime_posted: formatTimestamp(task.postedAtMs),
  datetime_done: nowMs < task.doneAtMs ? null : formatTimestamp(task.doneAtMs),
  status: statusOf(service, task, nowMs),
  cost: toUsd(nowMs < task.doneAtMs ? task.costMicros : task.costMicros - task.refundMicros),
  ...(withMetadata && { metadata: metadataOf(service, task) }),
})

/** Unfinished tasks have no time of execution yet: they come after all others. */
const executedAt = (task: Task, nowMs: number): number =>
  nowMs < task.doneAtMs ? Number.MAX_SAFE_INTEGER : task.doneAtMs

const listRecords = (service: CalledService, query: Query, nowMs: number) => {
  const { datetime_from, datetime_to, limit, offset, sort, include_metadata } = query
  const direction = sort === 'asc' ? 1 : -1
  return service.tasks
    .listPosted(datetime_from, datetime_to)
    .sort(
      (left, right) =>
        direction *
        (executedAt(left, nowMs) - executedAt(right, nowMs) || left.postedAtMs - right.postedAtMs),
    )
    .slice(offset, offset + limit)
    .map((task) => showTask(service, task, include_metadata, nowMs))
}

/** Lists tasks that were posted within a time. */
export const listIds = (service: CalledService, body: unknown, nowMs: number): TaskAnswer =>
  answerQuery(
    { name: 'id_list', id: service.makeId(nowMs, 'id_list') },
    Query,
    body,
    (query) => findInvalidField(query, nowMs, service.deviations),
    (query) => listRecords(service, query, nowMs),
  )
