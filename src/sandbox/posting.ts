/** Takes posted tasks: each is checked, priced and charged by itself, whatever happens to its neighbours. */

import { z } from 'zod'
import type { PostedTask } from './books.ts'
import { CATEGORIES } from './categories.ts'
import { COLLECTIONS } from './charts.ts'
import type { Code } from './codes.ts'
import type { Deviations } from './deviations.ts'
import { invalidField, type TaskAnswer } from './envelope.ts'
import { fraction, hashText } from './hash.ts'
import { decodeKeyword } from './keyword.ts'
import { listLanguages } from './languages.ts'
import { MAX_KEYWORD_CHARACTERS, MAX_TAG_CHARACTERS, MAX_TASKS_PER_POST } from './limits.ts'
import { findLocationByCode, findLocationByName } from './locations.ts'
import { type Offer, postPath, type Store } from './offers.ts'
import { type Priority, priceTaskMicros } from './prices.ts'
import type { Service } from './service.ts'

/** How many times as much as the list says a dear task costs, and as it cost an answer says that it did. */
const DEAR_TIMES = 10
const WRONG_TIMES = 5000

/** When a stuck task is done: the last moment that a date can name. */
const NEVER_MS = 8.64e15

/** Characters are code points: an emoji is one. */
const atMost = (characters: number) => (text: string) => [...text].length <= characters

/** App ids by store: digits, and Java package names. */
const APP_ID: Record<Store, RegExp> = {
  ios_store: /^\d{6,12}$/,
  android_store: /^[a-zA-Z]\w*(\.[a-zA-Z]\w*)+$/,
}

/**
 * Names of collections are words such as topselling_free: the specification takes any, and charts.ts says
 * what it holds.
 */
const COLLECTION = /^[a-z][a-z0-9_]{0,99}$/

/** Age groups of the category family, as it is sold. */
const AGE_RATINGS = ['ages_up_to_5', 'ages_6_8', 'ages_9_12'] as const

/** The orders of reviews, as they are sold; the first is the default. */
const ORDERS = {
  ios_store: ['most_helpful', 'most_recent'],
  android_store: ['most_relevant', 'newest'],
} as const satisfies Record<Store, readonly string[]>

/** What charts and reviews may be asked for beyond the specification. */
const soldWishesOf = (offer: Offer) => {
  if (offer.function === 'app_reviews') {
    return {
      sort_by: z.enum(ORDERS[offer.store]).default(ORDERS[offer.store][0]),
      ...(offer.store === 'android_store' && { rating: z.int().min(1).max(5).optional() }),
    }
  }
  const hasAges = offer.function === 'app_list' && offer.store === 'android_store'
  return hasAges ? { age_rating: z.enum(AGE_RATINGS).optional() } : {}
}

const subjectOf = (offer: Offer, isSold: boolean) => {
  if (offer.function === 'app_list') {
    return {
      app_collection: isSold ? z.enum(COLLECTIONS[offer.store]) : z.string().regex(COLLECTION),
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

const schemaOf = (offer: Offer, deviations: Deviations) => {
  const { store } = offer
  const webhook = z.url({ protocol: /^https?$/ }).optional()
  const languages = listLanguages(store, deviations)
  const hasWishes = deviations.has('endpoints')
  const schema = z.object({
    ...subjectOf(offer, hasWishes),
    ...(hasWishes && soldWishesOf(offer)),
    location_code: z
      .int()
      .refine((code) => findLocationByCode(store, code, deviations))
      .optional(),
    location_name: z
      .string()
      .refine((name) => findLocationByName(store, name, deviations))
      .optional(),
    language_code: z.enum(languages.map((language) => language.language_code)).optional(),
    language_name: z.enum(languages.map((language) => language.language_name)).optional(),
    priority: z.union([z.literal(1), z.literal(2)]).default(1),
    ...(offer.depth && { depth: z.int().min(1).max(offer.depth.max).default(offer.depth.default) }),
    tag: z.string().refine(atMost(MAX_TAG_CHARACTERS)).optional(),
    postback_url: webhook,
    postback_data: z.enum(offer.forms).optional(),
    pingback_url: webhook,
  })
  return deviations.has('codes') ? schema.strict() : schema
}

/** The fields that each schema gives; which subject is there depends on the offer. */
type Fields = {
  keyword?: string
  app_id?: string
  app_collection?: string
  app_category?: string
  age_rating?: string
  sort_by?: string
  rating?: number
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

/** Why a task is refused. */
type Objection = { code: Code; message: string }

/** The field of a task that breaks a rule by what another field says; undefined when none does. */
const findContradiction = (fields: Fields, deviations: Deviations): string | undefined => {
  if (fields.postback_url !== undefined && fields.postback_data === undefined) return 'postback_data'
  const isFeatured = deviations.has('endpoints') && fields.app_collection === 'featured'
  if (isFeatured && fields.app_category !== undefined) return 'app_category'
  if (fields.age_rating !== undefined && fields.app_category !== 'family') return 'age_rating'
  return undefined
}

/** Reads one task, or says what rule it breaks. */
const checkTask = (
  offer: Offer,
  schema: ReturnType<typeof schemaOf>,
  posted: unknown,
  deviations: Deviations,
): Checked | Objection => {
  const parsed = schema.safeParse(posted)
  const issue = parsed.error?.issues[0]
  if (issue?.code === 'unrecognized_keys') {
    return { code: 40506, message: `Unknown Fields in POST Data: '${issue.keys.join("', '")}'.` }
  }
  if (!parsed.success) return invalidField(String(issue?.path[0] ?? 'task'))
  const fields = parsed.data as Fields
  const locationCode =
    fields.location_code ??
    findLocationByName(offer.store, fields.location_name ?? '', deviations)?.location_code
  if (locationCode === undefined) return invalidField('location_code')
  const languageCode =
    fields.language_code ??
    listLanguages(offer.store, deviations).find((each) => each.language_name === fields.language_name)
      ?.language_code
  const isLanguageFree = offer.store === 'android_store' && offer.function === 'app_searches'
  if (languageCode === undefined && deviations.has('languages') && !isLanguageFree) {
    return invalidField('language_name')
  }
  const contradiction = findContradiction(fields, deviations)
  if (contradiction !== undefined) return invalidField(contradiction)
  return { fields, locationCode, languageCode: languageCode ?? 'en' }
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
  se: offer.segment,
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
  { faults, readyMs }: Service,
): Pick<PostedTask, 'doneAtMs' | 'failure' | 'isSilent'> => {
  if (faults.strikes('stuck', path)) return { doneAtMs: NEVER_MS }
  const takesMs = readyMs * (0.5 + 0.5 * fraction(hashText(id))) * (priority === 2 ? 0.5 : 1)
  const doneAtMs = nowMs + Math.round(takesMs)
  if (faults.isInBurst(path, doneAtMs)) return { doneAtMs, failure: 40101, isSilent: true }
  if (faults.strikes('storeError', path)) return { doneAtMs, failure: 40101 }
  if (faults.strikes('executionFailed', path)) return { doneAtMs, failure: 40103 }
  return faults.strikes('nothingFound', path) ? { doneAtMs, failure: 40501 } : { doneAtMs }
}

const createTask = (
  offer: Offer,
  { fields, locationCode, languageCode }: Checked,
  parameters: Record<string, unknown>,
  nowMs: number,
  service: Service,
): PostedTask => {
  const id = service.makeId(nowMs, offer.function)
  const depth = fields.depth ?? 1
  const course = decideCourse(id, fields.priority, postPath(offer), nowMs, service)
  const question = {
    store: offer.store,
    function: offer.function,
    subject: fields.keyword ?? fields.app_id ?? fields.app_collection ?? '',
    category: fields.app_category,
    ageRating: fields.age_rating,
    sortBy: fields.sort_by,
    rating: fields.rating,
    locationCode,
    languageCode,
    depth,
    ...course,
  }
  const times = service.faults.strikes('dearTask', postPath(offer)) ? DEAR_TIMES : 1
  const priceMicros = (results: number) => times * priceTaskMicros(offer, fields.priority, results)
  const costMicros = priceMicros(depth)
  // A task that fails is charged in full, and one that is never done finds nothing out.
  const hasResult = course.failure === undefined && course.doneAtMs !== NEVER_MS
  const isCharged = course.doneAtMs === NEVER_MS || course.failure === 40101 || course.failure === 40103
  const results = hasResult ? service.answers.count(question) : 0
  return {
    id,
    ...question,
    priority: fields.priority,
    postedAtMs: nowMs,
    costMicros,
    results,
    refundMicros: isCharged ? 0 : costMicros - priceMicros(results),
    parameters,
  }
}

/** Whether what was posted is an object with fields. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Makes the function that takes the tasks of one offer: it answers one task each, in the order of posting.
 */
export const buildTaskTaker = (offer: Offer, service: Service) => {
  const { deviations, makeId } = service
  const schema = schemaOf(offer, deviations)
  /** Faults may have changed the ids that the answers name. */
  const misname = (answers: TaskAnswer[], nowMs: number): TaskAnswer[] => {
    const ids = answers.filter(({ code }) => code === 20100).map(({ id }) => id)
    if (service.faults.strikes('turnedIds', postPath(offer))) ids.push(ids.shift() ?? '')
    return answers.map((answer) => {
      if (answer.code !== 20100) return answer
      const id = ids.shift() ?? answer.id
      const isWrong = service.faults.strikes('wrongPostId', postPath(offer))
      return { ...answer, id: isWrong ? makeId(nowMs, offer.function) : id }
    })
  }
  return (posted: readonly unknown[], nowMs: number): TaskAnswer[] => {
    const created: PostedTask[] = []
    let costMicros = 0
    const tellCost = (micros: number) =>
      service.faults.strikes('wrongCost', postPath(offer)) ? WRONG_TIMES * micros : micros
    const takeTask = (given: unknown, index: number): TaskAnswer => {
      const parameters = isRecord(given) ? given : {}
      const refuse = (code: Code, message?: string): TaskAnswer => ({
        id: makeId(nowMs, 'refused'),
        code,
        ...(message !== undefined && { message }),
        data: echoTask(offer, parameters),
      })
      if (index >= MAX_TASKS_PER_POST) return refuse(40006)
      const checked = checkTask(offer, schema, given, deviations)
      if ('code' in checked) return refuse(checked.code, checked.message)
      const task = createTask(offer, checked, parameters, nowMs, service)
      const unpayable = service.faults.strikes('insufficientFunds', postPath(offer))
        ? 40210
        : service.account.refuse(costMicros + task.costMicros, nowMs)
      if (unpayable) return refuse(unpayable)
      costMicros += task.costMicros
      created.push(task)
      const data = echoTask(offer, parameters, resolveTask(offer, task))
      return { id: task.id, code: 20100, costMicros: tellCost(task.costMicros), data }
    }
    const answers = posted.map(takeTask)
    service.tasks.post(created)
    return misname(answers, nowMs)
  }
}
