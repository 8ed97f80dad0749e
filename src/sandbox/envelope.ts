/** The envelope around every answer: counts and costs are always right (spec: Response envelope). */

import { randomBytes, randomUUID } from 'node:crypto'
import { type Code, type Codes, FIRST_ERROR_CODE } from './codes.ts'
import type { Deviations } from './deviations.ts'
import { hashText } from './hash.ts'
import { toUsd } from './offers.ts'

/** Version of the interface, `<major>.<minor>.<yyyymmdd>` (spec: Versioning). */
export const VERSION = '0.1.20261101'

/** What one task of an answer says. */
export type TaskAnswer = {
  id: string
  code: Code
  /** Extends or replaces the message of the code. */
  message?: string
  /** The envelope does not count it as an error. */
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

/** Whether what was posted is an object with fields. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const splitPath = (path: string): string[] => path.split('/').filter((segment) => segment !== '')

/** Wraps answers under the codes of a service. */
export const buildEnvelope = (codes: Codes) => {
  const wrap = (shown: ReturnType<Codes['show']>, time: string, fields: Record<string, unknown>): string =>
    JSON.stringify({
      version: VERSION,
      status_code: shown.code,
      status_message: shown.message,
      time,
      cost: 0,
      tasks_count: 0,
      tasks_error: 0,
      tasks: null,
      ...fields,
    })
  const showTask = (answer: TaskAnswer, path: readonly string[], time: string) => {
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
  return {
    codes,
    /** The body of an answer with tasks. `path` is that of the call, `elapsedMs` the time it took. */
    wrapTasks: (path: string, answers: readonly TaskAnswer[], elapsedMs: number): string => {
      const time = `${(elapsedMs / 1000).toFixed(4)} sec.`
      return wrap(codes.show(20000), time, {
        cost: toUsd(answers.reduce((sum, answer) => sum + (answer.costMicros ?? 0), 0)),
        tasks_count: answers.length,
        tasks_error: answers.filter(({ code, isSilent }) => code >= FIRST_ERROR_CODE && !isSilent).length,
        tasks: answers.map((answer) => showTask(answer, splitPath(path), time)),
      })
    },
    /** The body of an answer that refuses the whole call; `id` is that of the answer. */
    wrapRefusal: (code: Code, call?: { path: string; id: string }): string => {
      const time = '0 sec.'
      // As it is sold, a call beyond the rate limit has one task, which says the same.
      const isTold = codes.isSold && code === 40202 && call !== undefined
      const task = isTold && showTask({ id: call.id, code, data: {} }, splitPath(call.path), time)
      return wrap(codes.show(code), time, task ? { tasks_count: 1, tasks: [task] } : {})
    },
  }
}
export type Envelope = ReturnType<typeof buildEnvelope>

/** Makes the id of a task or an answer. `nowMs` is the moment of the call, `functionName` what it is for. */
export type MakeId = (nowMs: number, functionName: string) => string

/** `11081554-1535-0066-0000-27e68ec15871`: the minute, the account, the function, and twelve of chance. */
const makeSoldId: MakeId = (nowMs, functionName) => {
  const minute = new Date(nowMs).toISOString().slice(5, 16).replaceAll(/\D/g, '')
  const digits = String(hashText(functionName) % 10_000).padStart(4, '0')
  return `${minute}-1535-${digits}-0000-${randomBytes(6).toString('hex')}`
}

/** UUIDs, or the ids of the service as it is sold. */
export const chooseIds = (deviations: Deviations): MakeId =>
  deviations.has('ids') ? makeSoldId : () => randomUUID()
