/**
 * What failed at the service of late: tasks, and webhooks that were not delivered. The service lists the past
 * day (spec: Failed tasks), and as it is sold the past week: what it does not allow it refuses itself.
 */

import { z } from 'zod'

import {
  ifReadable,
  readCode,
  readNumber,
  textIfReadable,
  wireIdentifier,
  wireRecord,
  wireTimestamp,
} from './fields.ts'
import { fetchReadableRows } from './replies.ts'
import { checkRequest, formatInstant, refuseRange, rowOffset, wholeUpTo } from './requests.ts'
import type { Transport } from './transport.ts'

/** spec: Limits */
export const MAX_FAILED_TASK_ROWS = 1000
const HISTORY_MS = 7 * 86_400_000

export interface FailedTaskQuery {
  /** 1 to 1000. Default 1000. */
  readonly limit?: number
  /** Rows to skip. Default 0. */
  readonly offset?: number
  /** Only failures of this function, such as `postback_url`. */
  readonly filteredFunction?: string
  /** As far back as the service allows, a day or a week, to the second: fractions are cut off. */
  readonly from?: Date
  /** Not before `from`. */
  readonly to?: Date
}

/** One failure of a task or of a webhook (docs/service.md: Failed-task record). */
export type FailedTask = z.output<typeof failedTask>

const failedTask = wireRecord({
  /** Of the task, the service's own. */
  id: wireIdentifier,
  /** When it failed, UTC. */
  datetime: wireTimestamp,
  /** Such as `pingback_url`, `postback_url` or `app_data/task_get/advanced`. */
  function: textIfReadable(500),
  /** A status code of the service. */
  errorCode: ifReadable(readCode),
  /** What went wrong, or the URL that did. */
  errorMessage: textIfReadable(5_000),
  /** Of the call, or of the webhook. */
  httpUrl: textIfReadable(5_000),
  httpMethod: textIfReadable(20),
  /** HTTP status code, 0 or null when there was no answer. */
  httpCode: ifReadable(readCode),
  /** How long the HTTP request took, in the unit of the service; for a webhook, the receiver. */
  httpTime: ifReadable(readNumber),
  /** What was answered. */
  httpResponse: textIfReadable(10_000),
})

const FUNCTION_RULE = 'must be the name of a function'

const fields = z.object({
  limit: wholeUpTo(MAX_FAILED_TASK_ROWS),
  offset: rowOffset,
  filtered_function: z.string(FUNCTION_RULE).min(1, FUNCTION_RULE).optional(),
})

/**
 * Lists failures of tasks and of webhooks. A task that is not listed did not fail, or is not done.
 * @throws ConfigurationError when the query breaks a rule; what `fetchReadableRows` throws
 */
export async function listFailedTasks(transport: Transport, query: FailedTaskQuery): Promise<FailedTask[]> {
  const path = '/v3/app_data/errors'
  const { from, to } = query
  const request = {
    limit: query.limit,
    offset: query.offset,
    filtered_function: query.filteredFunction,
    datetime_from: from && formatInstant(from),
    datetime_to: to && formatInstant(to),
  }
  const range = { from, to, oldestMs: transport.nowMs() - HISTORY_MS, nowMs: transport.nowMs() }
  checkRequest(fields.superRefine(refuseRange(range, 'the past seven days')), request, `POST ${path}`)
  return fetchReadableRows(
    transport,
    { kind: 'failed_tasks', method: 'POST', path, body: [request] },
    failedTask,
  )
}
