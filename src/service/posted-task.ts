/**
 * What a task of the service's own list measures, read back from the parameters that were posted (spec: Task
 * id history record).
 */

import { z } from 'zod'

import { joinCategory } from './chart-category.ts'
import { cleanText, isObject, textIfReadable } from './fields.ts'
import {
  findRule,
  LISTING_SEARCH,
  type Priority,
  SERVICE_FUNCTIONS,
  type ServiceFunction,
  type Store,
} from './functions.ts'
import { decodeKeyword } from './keyword.ts'
import type { TaskIdRow } from './task-ids.ts'

export interface PostedTask {
  readonly store: Store
  readonly function: ServiceFunction | typeof LISTING_SEARCH
  /**
   * The keyword as a person types it, the app's id, the collection, or what a search in listings asked for.
   */
  readonly subject: string
  /** Of a chart, with the age that it is for. */
  readonly category: string | null
  readonly locationCode: number
  readonly languageCode: string
  readonly priority: Priority
  readonly depth: number | null
}

const POST_PATH = /^\/v3\/app_data\/(ios_store|android_store)\/(\w+)\/task_post$/
/** No keyword, app id or collection is longer as posted. */
const MAX_SUBJECT_CHARACTERS = 2100
const MAX_QUERY_CHARACTERS = 500

/** The service may give a number as text. */
const wholeNumber = z.coerce.number().int().positive()

const parameters = z.object({
  keyword: textIfReadable(MAX_SUBJECT_CHARACTERS),
  app_id: textIfReadable(MAX_SUBJECT_CHARACTERS),
  app_collection: textIfReadable(MAX_SUBJECT_CHARACTERS),
  app_category: textIfReadable(MAX_SUBJECT_CHARACTERS),
  age_rating: textIfReadable(MAX_SUBJECT_CHARACTERS),
  location_code: wholeNumber,
  language_code: z.string().min(1).max(50),
  priority: z.coerce
    .number()
    .pipe(z.literal([1, 2]))
    .catch(1),
  depth: wholeNumber.nullable().catch(null),
})

const LIVE_PATH = /^\/v3\/app_data\/(ios_store|android_store)\/app_listings\/search\/live$/
/** What an answer adds to the parameters of a search in listings. */
const NO_QUERY = ['api', 'function', 'se', 'se_type', 'tag']

/** What a search in listings asks for, in words. */
export function describeQuery(wire: Readonly<Record<string, unknown>>): string {
  const asked = Object.entries(wire).filter(([field, value]) => value != null && !NO_QUERY.includes(field))
  const words = asked.map(
    ([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return cleanText(words.join(' ') || 'all', MAX_QUERY_CHARACTERS)
}

/** A search in listings has no place and no language. */
function readLiveCall({ url, metadata }: Pick<TaskIdRow, 'url' | 'metadata'>): PostedTask | null {
  const [, store] = LIVE_PATH.exec(url ?? '') ?? []
  if (store === undefined || !isObject(metadata)) return null
  const none = { category: null, locationCode: 0, languageCode: '', priority: 1, depth: null } as const
  return { store: store as Store, function: LISTING_SEARCH, subject: describeQuery(metadata), ...none }
}

/** Null when the row does not say what was asked for, such as a task that is older than a month. */
export function readPostedTask(row: Pick<TaskIdRow, 'url' | 'metadata'>): PostedTask | null {
  return readLiveCall(row) ?? readTask(row)
}

function readTask({ url, metadata }: Pick<TaskIdRow, 'url' | 'metadata'>): PostedTask | null {
  const [, store, name] = POST_PATH.exec(url ?? '') ?? []
  const fn = SERVICE_FUNCTIONS.find((known) => known === name)
  const parsed = parameters.safeParse(metadata)
  if (store === undefined || fn === undefined || !parsed.success) return null
  const rule = findRule(store as Store, fn)
  const subject = subjectOf(fn, parsed.data)
  if (rule === null || subject === null) return null
  return {
    store: store as Store,
    function: fn,
    subject,
    category: fn === 'app_list' ? joinCategory(parsed.data.app_category, parsed.data.age_rating) : null,
    locationCode: parsed.data.location_code,
    languageCode: parsed.data.language_code,
    priority: parsed.data.priority,
    depth: rule.maximumDepth === null ? null : (parsed.data.depth ?? rule.defaultDepth),
  }
}

function subjectOf(fn: ServiceFunction, posted: z.output<typeof parameters>): string | null {
  switch (fn) {
    case 'app_searches':
      return posted.keyword === null ? null : decodeKeyword(posted.keyword)
    case 'app_list':
      return posted.app_collection
    case 'app_info':
    case 'app_reviews':
      return posted.app_id
  }
}
