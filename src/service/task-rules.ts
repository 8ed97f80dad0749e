/** A task as it is posted, by whose lengths and names its rules go (spec: Task posting). */
import { z } from 'zod'
import { readIdentifier, toWireRecord } from './fields.ts'
import {
  AGE_RATINGS,
  type AgeRating,
  findRule,
  type Priority,
  REVIEW_ORDERS,
  type ResultForm,
  type ServiceFunction,
  type Store,
} from './functions.ts'
import { textThat, wholeUpTo } from './requests.ts'
import { encodeKeyword } from './subject.ts'

/** One task as a person thinks of it; the location is named in one way, by code or by name. */
export interface TaskToPost {
  /** Ours, at most 255 characters, never used twice; the answer is matched by it. */
  readonly tag: string
  /** What is measured: the keyword as typed, the app id, or the app collection. */
  readonly subject: string
  /** App category, app_list only. Default: all. */
  readonly category?: string
  /** For children of an age: app_list of android_store, in the category `family` alone. Default: all. */
  readonly ageRating?: AgeRating
  /** app_reviews only, one of `REVIEW_ORDERS`. Default: the second of them. */
  readonly sortBy?: string
  /** Reviews with so many stars alone, 1 to 5: app_reviews of android_store only. Default: all. */
  readonly rating?: number
  /** From the locations list of the store. */
  readonly locationCode?: number
  /** Full name from the locations list of the store. */
  readonly locationName?: string
  /** From the languages list of the store. Default: the service's choice. */
  readonly languageCode?: string
  /** Full name from the languages list of the store. */
  readonly languageName?: string
  /** Default 1. */
  readonly priority?: Priority
  /** Results to fetch, only for functions that have a depth: `FUNCTION_RULES` says which, and up to what. */
  readonly depth?: number
  /** Receives the result; `$id` and `$tag` in it are replaced (spec: Events). Needs `postbackData`. */
  readonly postbackUrl?: string
  /** The form of the posted result: `advanced`, or in android_store also `html`. */
  readonly postbackData?: ResultForm
  /** Asked by GET when the task is done; `$id` and `$tag` in it are replaced (spec: Events). */
  readonly pingbackUrl?: string
}

/** spec: Limits */
const MAX_KEYWORD_CHARACTERS = 700
const MAX_NAME_LENGTH = 255
/** spec: Reference records. The names are those of the country itself and of every place in it. */
const UNSUPPORTED_LOCATION_CODES = [2643, 2112]
const UNSUPPORTED_LOCATION_NAME = /(^|,)\s*(russia|russian federation|belarus)\s*$/i
const UNSUPPORTED_LOCATION_RULE = 'must not be in Russia or Belarus, which the service does not support'
const LOCATION_CODE_RULE = 'must be a whole number above 0'

const POSTBACK_FORMS: Readonly<Record<Store, readonly ResultForm[]>> = {
  ios_store: ['advanced'],
  android_store: ['advanced', 'html'],
}

const NAME_RULE = `must be text of 1 to ${MAX_NAME_LENGTH} characters`
const tag = textThat(NAME_RULE, (value) => readIdentifier(value, MAX_NAME_LENGTH) !== null)
const name = tag.refine((value) => value.trim() !== '', NAME_RULE)

/** Characters are code points, counted after encoding: a literal `%` is three. */
const keyword = textThat(
  `must be text of 1 to ${MAX_KEYWORD_CHARACTERS} characters as posted, where % and + count three each`,
  (value) => value.trim() !== '' && value.isWellFormed() && [...value].length <= MAX_KEYWORD_CHARACTERS,
)

const webhookUrl = textThat('must be an http or https URL', (value) =>
  ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? ''),
).optional()

const COMMON_FIELDS = {
  tag,
  location_code: z
    .int(LOCATION_CODE_RULE)
    .positive(LOCATION_CODE_RULE)
    .refine((code) => !UNSUPPORTED_LOCATION_CODES.includes(code), UNSUPPORTED_LOCATION_RULE)
    .optional(),
  location_name: name
    .refine((place) => !UNSUPPORTED_LOCATION_NAME.test(place), UNSUPPORTED_LOCATION_RULE)
    .optional(),
  language_code: name.optional(),
  language_name: name.optional(),
  priority: z.literal([1, 2], 'must be 1 (normal) or 2 (high)').optional(),
  postback_url: webhookUrl,
  pingback_url: webhookUrl,
}

/** The field that names what is measured, and its rule. */
const SUBJECTS = {
  app_searches: ['keyword', keyword],
  app_info: ['app_id', name],
  app_reviews: ['app_id', name],
  app_list: ['app_collection', name],
} as const

/** A task with the fields of the specification; those that are undefined are not sent. */
export type WireTask = Readonly<Record<string, unknown>> & { readonly tag: string }

/** A task as it is posted. */
export function toWire(fn: ServiceFunction, { subject, category, tag, ...options }: TaskToPost): WireTask {
  const [field] = SUBJECTS[fn]
  // A caller in JavaScript may give anything, which the rules refuse then.
  const isKeyword = field === 'keyword' && typeof subject === 'string'
  return {
    [field]: isKeyword ? encodeKeyword(subject) : subject,
    app_category: category,
    ...toWireRecord(options),
    tag,
  }
}

/** Made once: a schema takes longer to make than to read a post. */
const schemas = new Map<string, z.ZodType | null>()

/** The schema of a posted task; null for a function that the store does not have. */
export function taskSchema(store: Store, fn: ServiceFunction): z.ZodType | null {
  const key = `${store}/${fn}`
  const schema = schemas.get(key) ?? buildSchema(store, fn)
  schemas.set(key, schema)
  return schema
}

function buildSchema(store: Store, fn: ServiceFunction): z.ZodType | null {
  const rule = findRule(store, fn)
  if (rule === null) return null
  const [subject, subjectRule] = SUBJECTS[fn]
  const forms = POSTBACK_FORMS[store]
  const isOf = (other: ServiceFunction, ...stores: Store[]) =>
    fn === other && (stores.length === 0 || stores.includes(store))
  const none = z.undefined(`must not be given, because ${fn} of ${store} has none`).optional()
  return z
    .object({
      [subject]: subjectRule,
      ...COMMON_FIELDS,
      app_category: isOf('app_list') ? name.optional() : none,
      age_rating: isOf('app_list', 'android_store') ? oneOf(AGE_RATINGS) : none,
      sort_by: isOf('app_reviews') ? oneOf(REVIEW_ORDERS[store]) : none,
      rating: isOf('app_reviews', 'android_store') ? wholeUpTo(5) : none,
      depth: rule.maximumDepth === null ? none : wholeUpTo(rule.maximumDepth),
      postback_data: oneOf(forms),
    })
    .superRefine((task, context) => {
      const refuse = (field: string, message: string) =>
        context.addIssue({ code: 'custom', path: [field], message })
      if ((task.location_code === undefined) === (task.location_name === undefined)) {
        refuse('location_code', 'or location_name must name the location, and only one of them')
      }
      if (task.language_code !== undefined && task.language_name !== undefined) {
        refuse('language_code', 'and language_name must not both be given')
      }
      if ((task.postback_url === undefined) !== (task.postback_data === undefined)) {
        refuse('postback_data', 'and postback_url must be given together')
      }
      if (task.age_rating !== undefined && task.app_category !== 'family') {
        refuse('age_rating', 'must be given with app_category family, and with no other')
      }
    })
}

function oneOf(values: readonly string[]) {
  return z.enum(values, `must be ${values.join(' or ')}`).optional()
}
