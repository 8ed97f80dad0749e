/** The history of task ids (spec: Task id history): what was posted within a time, in order of execution. */

import { z } from 'zod'
import type { TaskAnswer } from './envelope.ts'
import { MAX_ROWS } from './limits.ts'
import { toUsd } from './prices.ts'
import { answerQuery } from './queries.ts'
import { outcomeOf, type Task, type Tasks } from './tasks.ts'
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
const findInvalidField = (query: Query, nowMs: number): string | undefined => {
  const oldestMs = monthsBefore(nowMs, query.include_metadata ? METADATA_MONTHS : HISTORY_MONTHS)
  if (query.datetime_from < Math.floor(oldestMs / 1000) * 1000) return 'datetime_from'
  if (query.datetime_to > nowMs || query.datetime_to < query.datetime_from) return 'datetime_to'
  return undefined
}

/** The status of a task as a code in a string: pending ones are what task_get would say. */
const statusOf = (tasks: Tasks, task: Task, nowMs: number): string => {
  if (nowMs < task.doneAtMs) return tasks.stageOf(task, 'advanced', nowMs) === 'handed' ? '40601' : '40602'
  return String(outcomeOf(task))
}

const showTask = (tasks: Tasks, task: Task, withMetadata: boolean, nowMs: number) => ({
  id: task.id,
  url: `/v3/app_data/${task.store}/${task.function}/task_post`,
  datetime_posted: formatTimestamp(task.postedAtMs),
  datetime_done: nowMs < task.doneAtMs ? null : formatTimestamp(task.doneAtMs),
  status: statusOf(tasks, task, nowMs),
  cost: toUsd(nowMs < task.doneAtMs ? task.costMicros : task.costMicros - task.refundMicros),
  ...(withMetadata && { metadata: task.parameters }),
})

/** Unfinished tasks have no time of execution yet: they come after all others. */
const executedAt = (task: Task, nowMs: number): number =>
  nowMs < task.doneAtMs ? Number.MAX_SAFE_INTEGER : task.doneAtMs

const listRecords = (tasks: Tasks, query: Query, nowMs: number) => {
  const { datetime_from, datetime_to, limit, offset, sort, include_metadata } = query
  const direction = sort === 'asc' ? 1 : -1
  return tasks
    .listPosted(datetime_from, datetime_to)
    .sort(
      (left, right) =>
        direction *
        (executedAt(left, nowMs) - executedAt(right, nowMs) || left.postedAtMs - right.postedAtMs),
    )
    .slice(offset, offset + limit)
    .map((task) => showTask(tasks, task, include_metadata, nowMs))
}

/** Lists tasks that were posted within a time. */
export const listIds = (tasks: Tasks, body: unknown, nowMs: number): TaskAnswer =>
  answerQuery(
    'id_list',
    Query,
    body,
    (query) => findInvalidField(query, nowMs),
    (query) => listRecords(tasks, query, nowMs),
  )
