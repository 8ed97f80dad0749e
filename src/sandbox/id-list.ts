/** The history of task ids (spec: Task id history): what was posted within a time, in order of execution. */

import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { TaskAnswer } from './envelope.ts'
import { MAX_ROWS } from './limits.ts'
import { isRecord } from './posting.ts'
import { toUsd } from './prices.ts'
import { outcomeOf, type Task, type Tasks } from './tasks.ts'
import { formatTimestamp, monthsBefore, Timestamp } from './timestamp.ts'

const METADATA_MONTHS = 1
const HISTORY_MONTHS = 6

const Request = z.object({
  datetime_from: Timestamp,
  datetime_to: Timestamp,
  limit: z.int().min(1).max(MAX_ROWS).default(MAX_ROWS),
  offset: z.int().nonnegative().default(0),
  sort: z.enum(['asc', 'desc']).default('asc'),
  include_metadata: z.boolean().default(false),
})

/** The field that breaks a rule; undefined when the request stands. Times of a request are whole seconds. */
const findInvalidField = (request: z.output<typeof Request>, nowMs: number): string | undefined => {
  const oldestMs = monthsBefore(nowMs, request.include_metadata ? METADATA_MONTHS : HISTORY_MONTHS)
  if (request.datetime_from < Math.floor(oldestMs / 1000) * 1000) return 'datetime_from'
  if (request.datetime_to > nowMs || request.datetime_to < request.datetime_from) return 'datetime_to'
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

/** Lists tasks by the time of posting; a refused request is a task answer with 40501. */
export const listIds = (tasks: Tasks, body: unknown, nowMs: number): TaskAnswer => {
  const id = randomUUID()
  const data = { api: 'app_data', function: 'id_list', ...(isRecord(body) && body) }
  const parsed = Request.safeParse(body)
  const invalid = parsed.success
    ? findInvalidField(parsed.data, nowMs)
    : String(parsed.error.issues[0]?.path[0] ?? 'task')
  if (!parsed.success || invalid !== undefined) {
    return { id, code: 40501, message: `Invalid Field: '${invalid}'.`, data, result: null }
  }
  const { datetime_from, datetime_to, limit, offset, sort, include_metadata } = parsed.data
  const direction = sort === 'asc' ? 1 : -1
  const found = tasks
    .listPosted(datetime_from, datetime_to)
    .sort(
      (left, right) =>
        direction *
        (executedAt(left, nowMs) - executedAt(right, nowMs) || left.postedAtMs - right.postedAtMs),
    )
    .slice(offset, offset + limit)
  return {
    id,
    code: 20000,
    data,
    result: found.map((task) => showTask(tasks, task, include_metadata, nowMs)),
  }
}
