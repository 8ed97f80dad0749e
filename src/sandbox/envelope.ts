/** The status codes, and the envelope around every answer, whose sums are right (spec: Response envelope). */

import { randomBytes, randomUUID } from 'node:crypto'
import type { Deviations } from './deviations.ts'
import { hashText } from './hash.ts'
import { toUsd } from './offers.ts'

/** Version of the interface, `<major>.<minor>.<yyyymmdd>` (spec: Versioning). */
export const VERSION = '0.1.20261101'

/** The 46 of the specification. */
const SPECIFIED = {
  20000: 'Ok.',
  20100: 'Task Created.',
  40000: 'You can set only one task at a time.',
  40001: 'This id is used by another client, check the id.',
  40002: 'This id is used by another search engine, check the Path.',
  40003: 'This id is used by another search type, check the Path.',
  40004: 'This id is used by another function, check the id.',
  40005: 'This id is used by another endpoint type, check the Path.',
  40006: 'You can set no more than 100 tasks at a time.',
  40007: 'The request is too large.',
  40100: 'You are not authorized to access this resource.',
  40101: 'Internal SE server error.',
  40102: 'No Search Results.',
  40103: 'Task execution failed.',
  40104: 'Please verify your account before using the service.',
  40105: 'The account is suspended.',
  40106: 'The store is not available in this location.',
  40200: 'Payment Required.',
  40201: 'The access to this resource is paused.',
  40202: 'Rate limit per minute exceeded.',
  40203: 'Cost limit per day exceeded.',
  40204: 'Access denied.',
  40205: 'Rate limit per day exceeded.',
  40206: 'Cost limit per minute exceeded.',
  40207: 'The address of the caller is not allowed.',
  40208: 'The login is locked.',
  40209: 'Too many simultaneous requests.',
  40210: 'Insufficient funds.',
  40301: 'Forbidden.',
  40400: 'Not Found.',
  40401: 'Task Not Found.',
  40402: 'Invalid Path.',
  40403: 'Results Expired.',
  40404: 'Result Not Found.',
  40500: 'POST Data Is Invalid.',
  40501: 'Invalid Field.',
  40502: 'POST Data Is Empty.',
  40503: 'pingback or postback not supported in this function.',
  40504: 'Invalid Content-Type.',
  40601: 'Task Handed.',
  40602: 'Task In Queue.',
  50000: 'Internal Error.',
  50100: 'Not Implemented.',
  50301: '3rd Party API Service Unavailable.',
  50303: 'The service is being updated.',
  50401: '3rd Party API Service Timeout.',
} as const

/** Any code that the sandbox may answer with: one of them only as it is sold. */
export type Code = keyof typeof SPECIFIED | 40506

/** A task with a code from here on counts as an error in the envelope. */
const FIRST_ERROR_CODE = 40000

/** Codes of the specification that the service as it is sold does not have. */
const NOT_SOLD = [40005, 40007, 40105, 40106, 40208, 40301, 40500, 40504]

/** Those that it has beside the others, or has with another message. */
const SOLD_OTHERWISE: Record<number, string> = {
  40101: 'Internal SE Server Error.',
  40104: 'Please verify your account.',
  40201: 'Account paused.',
  40202: 'The rate-limit per minute has been exceeded.',
  40203: 'The cost limit has been exceeded.',
  40205: 'The duplicate task limit per hour has been exceeded.',
  40206: 'The duplicate task limit per day has been exceeded.',
  40207: 'Access denied. Your IP is not whitelisted.',
  40404: 'No Prepared Data Found.',
  40503: 'POST Data Is Invalid.',
  40505: 'You are using old data.',
  40506: 'Unknown Fields in POST Data.',
  50001: 'Error While Checking the Balance.',
  50302: 'Internal 3rd Party API Service Unavailable.',
  50303: 'Update in progress.',
  50304: 'This function temporarily unavailable.',
  50401: 'Internal Error - Timeout.',
  50402: 'Target page took too long to respond.',
}

/** Those of the service as it is sold. */
const SOLD: Record<number, string> = Object.fromEntries(
  Object.entries({ ...SPECIFIED, ...SOLD_OTHERWISE }).filter(([code]) => !NOT_SOLD.includes(Number(code))),
)

/** What an answer says where that is more than its code's message in the list. */
const SOLD_ANSWERS: Partial<Record<Code, string>> = {
  40103: 'Task execution failed, please try to resubmit the task.',
  40104: 'Please verify your account before using the API.',
  40503: 'POST Data Is Invalid. pingback/postback is not supported in this function.',
}

/** As it is sold, every body that cannot be read is refused with 40503. */
const INVALID_BODY: readonly Code[] = [40007, 40500, 40504]

/** The codes of the specification, or of the service as it is sold, and each as an answer shows it. */
export const chooseCodes = (deviations: Deviations) => {
  const isSold = deviations.has('codes')
  const list: Record<number, string> = isSold ? SOLD : SPECIFIED
  const show = (code: Code): { code: number; message: string } => {
    if (isSold && INVALID_BODY.includes(code)) return { code: 40503, message: list[40503] ?? '' }
    return { code, message: (isSold ? SOLD_ANSWERS[code] : undefined) ?? list[code] ?? '' }
  }
  return { isSold, list, show }
}
export type Codes = ReturnType<typeof chooseCodes>

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
