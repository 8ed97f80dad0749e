/** The envelope around every answer, with counts and costs that are always right (spec: Response envelope). */

import { type Code, FIRST_ERROR_CODE, MESSAGES } from './codes.ts'
import { toUsd } from './prices.ts'

/** Version of the interface, `<major>.<minor>.<yyyymmdd>` (spec: Versioning). */
export const VERSION = '0.1.20261101'

/** What one task of an answer says; `message` extends or replaces the code's own. */
export type TaskAnswer = {
  id: string
  code: Code
  message?: string
  costMicros?: number
  data: Record<string, unknown>
  result: readonly unknown[] | null
}

/** The body of an answer with tasks. `path` is the path of the call, `elapsedMs` the time it took. */
export const wrapTasks = (path: string, answers: readonly TaskAnswer[], elapsedMs: number): string => {
  const time = `${(elapsedMs / 1000).toFixed(4)} sec.`
  const segments = path.split('/').filter((segment) => segment !== '')
  return JSON.stringify({
    version: VERSION,
    status_code: 20000,
    status_message: MESSAGES[20000],
    time,
    cost: toUsd(answers.reduce((sum, answer) => sum + (answer.costMicros ?? 0), 0)),
    tasks_count: answers.length,
    tasks_error: answers.filter((answer) => answer.code >= FIRST_ERROR_CODE).length,
    tasks: answers.map((answer) => ({
      id: answer.id,
      status_code: answer.code,
      status_message: answer.message ?? MESSAGES[answer.code],
      time,
      cost: toUsd(answer.costMicros ?? 0),
      result_count: answer.result?.length ?? 0,
      path: segments,
      data: answer.data,
      result: answer.result,
    })),
  })
}

/** The body of an answer that refuses the whole call. */
export const wrapRefusal = (code: Code, message: string = MESSAGES[code]): string =>
  JSON.stringify({
    version: VERSION,
    status_code: code,
    status_message: message,
    time: '0 sec.',
    cost: 0,
    tasks_count: 0,
    tasks_error: 0,
    tasks: null,
  })
