/** Takes posted tasks: each is checked, priced and charged by itself, whatever happens to its neighbours. */

import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Account } from './account.ts'
import type { PostedTask } from './books.ts'
import { CATEGORIES } from './categories.ts'
import { type Code, MESSAGES } from './codes.ts'
import type { TaskAnswer } from './envelope.ts'
import type { Faults } from './faults.ts'
import { fraction, hashText } from './hash.ts'
import { decodeKeyword } from './keyword.ts'
import { findLanguageByCode, findLanguageByName } from './languages.ts'
import { MAX_KEYWORD_CHARACTERS, MAX_TAG_CHARACTERS, MAX_TASKS_PER_POST } from './limits.ts'
import { findLocationByCode, findLocationByName } from './locations.ts'
import type { Offer, Store } from './offers.ts'
import { type Priority, priceTaskMicros } from './prices.ts'
import type { Answers } from './results.ts'
import type { Tasks } from './tasks.ts'

/** Where posted tasks go, what answers them, and how long the longest takes. */
export type PostingService = {
  tasks: Tasks
  account: Account
  answers: Answers
  faults: Faults
  readyMs: number
}

/** When a stuck task is done: the last moment that a date can name. */
const NEVER_MS = 8.64e15

/** Characters are code points: an emoji is one. */
const atMost = (characters: number) => (text: string) => [...text].length <= characters

/** App ids by store: digits, and Java package names. */
const APP_ID: Record<Store, RegExp> = {
  ios_store: /^\d{6,12}$/,
  android_store: /^[a-zA-Z]\w*(\.[a-zA-Z]\w*)+$/,
}

/** Names of collections are words such as topselling_free: any is taken, and charts.ts says what it holds. */
const COLLECTION = /^[a-z][a-z0-9_]{0,99}$/

const subjectOf = (offer: Offer) => {
  if (offer.function === 'app_list') {
    return {
      app_collection: z.string().regex(COLLECTION),
      app_category: z.enum([...CATEGORIES[offer.store]]).optional(),
    }
  }
  if (offer.function !== 'app_searches') return { app_id: z.string().regex(APP_ID[offer.store]) }
  return {
    keyword: z
      .string()
      .refine(atMost(MAX_KEYWORD_CHARACTERS))
      .refine((keyword) => decodeKeyword(keyword).trim() !== ''),
  }
}

const schemaOf = (offer: Offer) => {
  const webhook = z.url({ protocol: /^https?$/ }).optional()
  return z.object({
    ...subjectOf(offer),
    location_code: z
      .int()
      .refine((code) => findLocationByCode(offer.store, code))
      .optional(),
    location_name: z
      .string()
      .refine((name) => findLocationByName(offer.store, name))
      .optional(),
    language_code: z.string().refine(findLanguageByCode).optional(),
    language_name: z.string().refine(findLanguageByName).optional(),
    priority: z.union([z.literal(1), z.literal(2)]).default(1),
    ...(offer.depth && { depth: z.int().min(1).max(offer.depth.max).default(offer.depth.default) }),
    tag: z.string().refine(atMost(MAX_TAG_CHARACTERS)).optional(),
    postback_url: webhook,
    postback_data: z.enum(offer.forms).optional(),
    pingback_url: webhook,
  })
}

/** The fields that each schema gives; which subject is there depends on the offer. */
type Fields = {
  keyword?: string
  app_id?: string
  app_collection?: string
  app_category?: string
  location_code?: number
  location_name?: string
  language_code?: string
  language_name?: string
  priority: Priority
  depth?: number
  postback_url?: string
  postback_data?: string
}

type Checked = { fields: Fields; locationCode: number; languageCode: string }

/** Reads one task; a string names the field that breaks a rule. */
const checkTask = (offer: Offer, schema: ReturnType<typeof schemaOf>, posted: unknown): Checked | string => {
  const parsed = schema.safeParse(posted)
  if (!parsed.success) return String(parsed.error.issues[0]?.path[0] ?? 'task')
  const fields = parsed.data as Fields
  const locationCode =
    fields.location_code ?? findLocationByName(offer.store, fields.location_name ?? '')?.location_code
  if (locationCode === undefined) return 'location_code'
  if (fields.postback_url !== undefined && fields.postback_data === undefined) return 'postback_data'
  const languageCode =
    fields.language_code ?? findLanguageByName(fields.language_name ?? '')?.language_code ?? 'en'
  return { fields, locationCode, languageCode }
}

/** The `data` of an answer: the parameters as posted, and what the service adds to them. */
export const echoTask = (
  offer: Offer,
  parameters: Record<string, unknown>,
  resolved: Record<string, unknown> = {},
): Record<string, unknown> => ({
  ...parameters,
  ...resolved,
  api: 'app_data',
  function: offer.function,
  se: offer.store,
  se_type: offer.seType,
  device: 'desktop',
  os: 'windows',
})

/** What the service fills in where a task leaves something open. */
export const resolveTask = (
  offer: Offer,
  task: Pick<PostedTask, 'locationCode' | 'languageCode' | 'depth'>,
): Record<string, unknown> => ({
  location_code: task.locationCode,
  language_code: task.languageCode,
  ...(offer.depth && { depth: task.depth }),
})

/** How a task takes its course: when it is done, and whether the store fails it. */
const decideCourse = (
  id: string,
  priority: Priority,
  path: string,
  nowMs: number,
  { faults, readyMs }: PostingService,
): Pick<PostedTask, 'doneAtMs' | 'failure'> => {
  if (faults.strikes('stuck', path)) return { doneAtMs: NEVER_MS }
  const takesMs = readyMs * (0.5 + 0.5 * fraction(hashText(id))) * (priority === 2 ? 0.5 : 1)
  const doneAtMs = nowMs + Math.round(takesMs)
  return faults.strikes('storeError', path) ? { doneAtMs, failure: 40101 } : { doneAtMs }
}

const createTask = (
  offer: Offer,
  { fields, locationCode, languageCode }: Checked,
  parameters: Record<string, unknown>,
  nowMs: number,
  service: PostingService,
): PostedTask => {
  const id = randomUUID()
  const depth = fields.depth ?? 1
  const course = decideCourse(id, fields.priority, postPathOf(offer), nowMs, service)
  const question = {
    store: offer.store,
    function: offer.function,
    subject: fields.keyword ?? fields.app_id ?? fields.app_collection ?? '',
    ...(fields.app_category !== undefined && { category: fields.app_category }),
    locationCode,
    languageCode,
    depth,
    ...course,
  }
  const priceMicros = (results: number) =>
    priceTaskMicros(offer.store, offer.function, fields.priority, results)
  const costMicros = priceMicros(depth)
  // A task that the store fails is charged in full, and one that is never done finds nothing out.
  const hasResult = course.failure === undefined && course.doneAtMs !== NEVER_MS
  const results = hasResult ? service.answers.count(question) : 0
  return {
    id,
    ...question,
    priority: fields.priority,
    postedAtMs: nowMs,
    costMicros,
    results,
    refundMicros: hasResult ? costMicros - priceMicros(results) : 0,
    parameters,
  }
}

const postPathOf = (offer: Offer): string => `/v3/app_data/${offer.store}/${offer.function}/task_post`

/** Whether what was posted is an object with fields. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Makes the function that takes the tasks of one offer: it answers one task each, in the order of posting. */
export const buildTaskTaker = (offer: Offer, service: PostingService) => {
  const schema = schemaOf(offer)
  return (posted: readonly unknown[], nowMs: number): TaskAnswer[] => {
    const created: PostedTask[] = []
    let costMicros = 0
    const takeTask = (given: unknown, index: number): TaskAnswer => {
      const parameters = isRecord(given) ? given : {}
      const refuse = (code: Code, message: string = MESSAGES[code]): TaskAnswer => ({
        id: randomUUID(),
        code,
        message,
        data: echoTask(offer, parameters),
        result: null,
      })
      if (index >= MAX_TASKS_PER_POST) return refuse(40006)
      const checked = checkTask(offer, schema, given)
      if (typeof checked === 'string') return refuse(40501, `Invalid Field: '${checked}'.`)
      const task = createTask(offer, checked, parameters, nowMs, service)
      const unpayable = service.faults.strikes('insufficientFunds', postPathOf(offer))
        ? 40210
        : service.account.refuse(costMicros + task.costMicros, nowMs)
      if (unpayable) return refuse(unpayable)
      costMicros += task.costMicros
      created.push(task)
      const data = echoTask(offer, parameters, resolveTask(offer, task))
      return { id: task.id, code: 20100, costMicros: task.costMicros, data, result: null }
    }
    const answers = posted.map(takeTask)
    service.tasks.post(created)
    return answers
  }
}
