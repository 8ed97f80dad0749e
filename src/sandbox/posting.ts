/** Takes posted tasks: each is checked, priced and charged by itself, whatever happens to its neighbours. */

import { z } from 'zod'
import type { PostedTask } from './books.ts'
import type { Deviations } from './deviations.ts'
import { invalidField, isRecord, type TaskAnswer } from './envelope.ts'
import { fraction, hashText } from './hash.ts'
import { decodeKeyword } from './keyword.ts'
import {
  MAX_KEYWORD_CHARACTERS,
  MAX_TAG_CHARACTERS,
  MAX_TASKS_PER_POST,
  type Offer,
  postPath,
  priceTaskMicros,
} from './offers.ts'
import { COLLECTIONS } from './ranking.ts'
import { CATEGORIES, listLanguages, placesOf } from './reference.ts'
import type { Service } from './service.ts'

/** How many times as much as the list says a dear task costs, and as it cost an answer says that it did. */
const DEAR_TIMES = 10
const WRONG_TIMES = 5000

/** When a stuck task is done: the last moment that a date can name. */
const NEVER_MS = 8.64e15

/** Characters are code points: an emoji is one. */
const atMost = (characters: number) => (text: string) => [...text].length <= characters

/** App ids by store: digits, and Java package names. */
const APP_ID = { ios_store: /^\d{6,12}$/, android_store: /^[a-zA-Z]\w*(\.[a-zA-Z]\w*)+$/ }

/** The specification takes any word such as topselling_free, and ranking.ts says what it holds. */
const COLLECTION = /^[a-z][a-z0-9_]{0,99}$/

/** The orders of reviews, as they are sold; the first is the default. */
const ORDERS = {
  ios_store: ['most_helpful', 'most_recent'],
  android_store: ['most_relevant', 'newest'],
} as const

/** The fields of a shape where something holds. Whoever reads them must not rely on any. */
const when = <Shape extends z.ZodRawShape>(holds: unknown, shape: Shape): Shape =>
  holds ? shape : ({} as Shape)

/** The fields of functions by themselves; as they are sold, charts and reviews have more. */
const shapeOfFunction = ({ store }: Offer, isSold: boolean) => {
  const isSoldAndroid = isSold && store === 'android_store'
  return {
    app_searches: {
      keyword: z
        .string()
        .refine(atMost(MAX_KEYWORD_CHARACTERS))
        .refine((keyword) => decodeKeyword(keyword).trim() !== ''),
    },
    app_info: { app_id: z.string().regex(APP_ID[store]) },
    app_list: {
      app_collection: isSold ? z.enum(COLLECTIONS[store]) : z.string().regex(COLLECTION),
      app_category: z.enum([...CATEGORIES[store]]).optional(),
      ...when(isSoldAndroid, { age_rating: z.enum(['ages_up_to_5', 'ages_6_8', 'ages_9_12']).optional() }),
    },
    app_reviews: {
      app_id: z.string().regex(APP_ID[store]),
      ...when(isSold, { sort_by: z.enum(ORDERS[store]).default(ORDERS[store][0]) }),
      ...when(isSoldAndroid, { rating: z.int().min(1).max(5).optional() }),
    },
  }
}

const shapeOfAll = ({ store, depth, forms }: Offer, deviations: Deviations) => {
  const webhook = z.url({ protocol: /^https?$/ }).optional()
  const languages = listLanguages(store, deviations)
  const { byCode, byName } = placesOf(store, deviations)
  return {
    location_code: z
      .int()
      .refine((code) => byCode.has(code))
      .optional(),
    location_name: z
      .string()
      .refine((name) => byName.has(name))
      .optional(),
    language_code: z.enum(languages.map((language) => language.language_code)).optional(),
    language_name: z.enum(languages.map((language) => language.language_name)).optional(),
    priority: z.literal([1, 2]).optional(),
    ...when(depth, {
      depth: z
        .int()
        .min(1)
        .max(depth?.max ?? 1)
        .default(depth?.unit ?? 1),
    }),
    tag: z.string().refine(atMost(MAX_TAG_CHARACTERS)).optional(),
    postback_url: webhook,
    postback_data: z.enum(forms).optional(),
    pingback_url: webhook,
  }
}

type Shapes = ReturnType<typeof shapeOfFunction>
type Shape = ReturnType<typeof shapeOfAll> &
  Shapes['app_searches'] &
  Shapes['app_list'] &
  Shapes['app_reviews']
/** A task that keeps the rules of its fields; which are there depends on the function. */
type Fields = Partial<z.output<z.ZodObject<Shape>>>

const schemaOf = (offer: Offer, deviations: Deviations): z.ZodType<Fields> => {
  const own = shapeOfFunction(offer, deviations.has('endpoints'))[offer.function]
  const schema = z.object({ ...own, ...shapeOfAll(offer, deviations) })
  return deviations.has('codes') ? schema.strict() : schema
}

type Checked = { fields: Fields; locationCode: number; languageCode: string }

/** The field of a task that breaks a rule by what another field says; undefined when none does. */
const findContradiction = (fields: Fields, deviations: Deviations): string | undefined => {
  if (fields.postback_url !== undefined && fields.postback_data === undefined) return 'postback_data'
  const isFeatured = deviations.has('endpoints') && fields.app_collection === 'featured'
  if (isFeatured && fields.app_category !== undefined) return 'app_category'
  return fields.age_rating !== undefined && fields.app_category !== 'family' ? 'age_rating' : undefined
}

/** Reads one task, or says what rule it breaks. */
const checkTask = (
  { store, function: fn }: Offer,
  schema: z.ZodType<Fields>,
  posted: unknown,
  deviations: Deviations,
): Checked | ReturnType<typeof invalidField> => {
  const { data: fields, error } = schema.safeParse(posted)
  const issue = error?.issues[0]
  if (issue?.code === 'unrecognized_keys') {
    return { code: 40506, message: `Unknown Fields in POST Data: '${issue.keys.join("', '")}'.` }
  }
  if (fields === undefined) return invalidField(String(issue?.path[0] ?? 'task'))
  const named = placesOf(store, deviations).byName.get(fields.location_name ?? '')
  const locationCode = fields.location_code ?? named?.location_code
  if (locationCode === undefined) return invalidField('location_code')
  const isNamed = (each: { language_name: string }) => each.language_name === fields.language_name
  const languageCode = fields.language_code ?? listLanguages(store, deviations).find(isNamed)?.language_code
  const isLanguageFree = store === 'android_store' && fn === 'app_searches'
  if (languageCode === undefined && deviations.has('languages') && !isLanguageFree) {
    return invalidField('language_name')
  }
  const contradiction = findContradiction(fields, deviations)
  if (contradiction !== undefined) return invalidField(contradiction)
  return { fields, locationCode, languageCode: languageCode ?? 'en' }
}

/** The `data` of an answer: the parameters as posted, and what the service adds to those of a task. */
export const echoTask = (
  offer: Offer,
  parameters: Record<string, unknown>,
  task?: Pick<PostedTask, 'locationCode' | 'languageCode' | 'depth'>,
): Record<string, unknown> => ({
  ...parameters,
  ...(task && { location_code: task.locationCode, language_code: task.languageCode }),
  ...(task && offer.depth && { depth: task.depth }),
  api: 'app_data',
  function: offer.function,
  se: offer.segment,
  se_type: offer.seType,
  device: 'desktop',
  os: 'windows',
})

/** How a task takes its course: when it is done, and whether the store fails it. */
const decideCourse = (
  id: string,
  priority: number,
  path: string,
  nowMs: number,
  { faults, readyMs }: Service,
): Pick<PostedTask, 'doneAtMs' | 'failure' | 'isSilent'> => {
  if (faults.strikes('stuck', path)) return { doneAtMs: NEVER_MS }
  const doneAtMs = nowMs + Math.round((readyMs * (0.5 + 0.5 * fraction(hashText(id)))) / priority)
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
  const { priority = 1, depth = 1 } = fields
  const course = decideCourse(id, priority, postPath(offer), nowMs, service)
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
  const priceMicros = (results: number) => times * priceTaskMicros(offer, priority, results)
  const costMicros = priceMicros(depth)
  // A task that fails is charged in full, and one that is never done finds nothing out.
  const isOver = course.doneAtMs !== NEVER_MS
  const isCharged = !isOver || course.failure === 40101 || course.failure === 40103
  const results = isOver && course.failure === undefined ? service.answers.count(question) : 0
  const refundMicros = isCharged ? 0 : costMicros - priceMicros(results)
  return { id, ...question, priority, postedAtMs: nowMs, costMicros, results, refundMicros, parameters }
}

/** Makes the function that takes the tasks of one offer: an answer to each, in the order of posting. */
export const buildTaskTaker = (offer: Offer, service: Service) => {
  const { account, deviations, faults, makeId, tasks } = service
  const schema = schemaOf(offer, deviations)
  const path = postPath(offer)
  /** Faults may have changed the ids that the answers name. */
  const misname = (answers: TaskAnswer[], nowMs: number): TaskAnswer[] => {
    const ids = answers.filter(({ code }) => code === 20100).map(({ id }) => id)
    if (faults.strikes('turnedIds', path)) ids.push(ids.shift() ?? '')
    return answers.map((answer) => {
      if (answer.code !== 20100) return answer
      const id = ids.shift() ?? answer.id
      return { ...answer, id: faults.strikes('wrongPostId', path) ? makeId(nowMs, offer.function) : id }
    })
  }
  /** Creates a task, unless it breaks a rule or more than `spentMicros` and its price cannot be paid. */
  const takeTask = (
    parameters: Record<string, unknown>,
    posted: unknown,
    spentMicros: number,
    nowMs: number,
  ) => {
    const checked = checkTask(offer, schema, posted, deviations)
    if ('code' in checked) return checked
    const task = createTask(offer, checked, parameters, nowMs, service)
    const isPoor = faults.strikes('insufficientFunds', path)
    const code = isPoor ? 40210 : account.refuse(spentMicros + task.costMicros, nowMs)
    return code ? { code } : task
  }
  return (posted: readonly unknown[], nowMs: number): TaskAnswer[] => {
    const created: PostedTask[] = []
    const answers = posted.map((given, index): TaskAnswer => {
      const parameters = isRecord(given) ? given : {}
      const spentMicros = created.reduce((sum, { costMicros }) => sum + costMicros, 0)
      const isTooMany = index >= MAX_TASKS_PER_POST
      const taken = isTooMany ? { code: 40006 as const } : takeTask(parameters, given, spentMicros, nowMs)
      if ('code' in taken)
        return { id: makeId(nowMs, 'refused'), ...taken, data: echoTask(offer, parameters) }
      created.push(taken)
      const costMicros = taken.costMicros * (faults.strikes('wrongCost', path) ? WRONG_TIMES : 1)
      return { id: taken.id, code: 20100, costMicros, data: echoTask(offer, parameters, taken) }
    })
    tasks.post(created)
    return misname(answers, nowMs)
  }
}
