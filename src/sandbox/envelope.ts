/**
 * The envelope around every answer, with counts and costs that are always right (spec: Response envelope).
 */

import { type Code, type Codes, FIRST_ERROR_CODE } from './codes.ts'
import { toUsd } from './prices.ts'

/** Version of the interface, `<major>.<minor>.<yyyymmdd>` (spec: Versioning). */
export const VERSION = '0.1.20261101'

/**
 * What one task of an answer says; `message` extends or replaces the code's own. A silent error is one that
 * the envelope does not count.
 */
export type TaskAnswer = {
  id: string
  code: Code
  message?: string
  isSilent?: boolean
  costMicros?: number
  data: Record<string, unknown>
  /** Where it is not that of the call. */
  path?: readonly string[]
  /** Where it is not what the result has. */
  resultCount?: number
  result?: readonly unknown[]
}

/** Why a task or a query is refused whose field breaks a rule. */
export const invalidField = (field: string): { code: Code; message: string } => ({
  code: 40501,
  message: `Invalid Field: '${field}'.`,
})

/** A call that is refused: its path, and the id of its answer. */
type RefusedCall = { path: string; id: string }

export type Envelope = {
  codes: Codes
  /** The body of an answer with tasks. `path` is the path of the call, `elapsedMs` the time it took. */
  wrapTasks(path: string, answers: readonly TaskAnswer[], elapsedMs: number): string
  /** The body of an answer that refuses the whole call. */
  wrapRefusal(code: Code, call?: RefusedCall): string
}

const splitPath = (path: string): string[] => path.split('/').filter((segment) => segment !== '')

const showTask = (codes: Codes, answer: TaskAnswer, path: readonly string[], time: string) => {
  const { code, message } = codes.show(answer.code)
  return {
    id: answer.id,
    status_code: code,
    status_message: answer.message ?? message,
    time,
    cost: toUsd(answer.costMicros ?? 0),
    result_count: answer.resultCount ?? answer.result?.length ?? 0,
    path: answer.path ?? path,
    data: answer.data,
    result: answer.result ?? null,
  }
}

/** Wraps answers under the codes of a service. */
export const buildEnvelope = (codes: Codes): Envelope => ({
  codes,
  wrapTasks: (path, answers, elapsedMs) => {
    const time = `${(elapsedMs / 1000).toFixed(4)} sec.`
    const segments = splitPath(path)
    return JSON.stringify({
      version: VERSION,
      status_code: 20000,
      status_message: codes.show(20000).message,
      time,
      cost: toUsd(answers.reduce((sum, answer) => sum + (answer.costMicros ?? 0), 0)),
      tasks_count: answers.length,
      tasks_error: answers.filter((answer) => answer.code >= FIRST_ERROR_CODE && !answer.isSilent).length,
      tasks: answers.map((answer) => showTask(codes, answer, segments, time)),
    })
  },
  wrapRefusal: (refused, call) => {
    const { code, message } = codes.show(refused)
    // As it is sold, a call beyond the rate limit has one task, which says the same.
    const tasks =
      codes.isSold && refused === 40202 && call
        ? [showTask(codes, { id: call.id, code: refused, data: {} }, splitPath(call.path), '0 sec.')]
        : null
    return JSON.stringify({
      version: VERSION,
      status_code: code,
      status_message: message,
      time: '0 sec.',
      cost: 0,
      tasks_count: tasks?.length ?? 0,
      tasks_error: 0,
      tasks,
    })
  },
})
