/**
 * What `storerank api` calls, by the names that it takes: as paths of the service end. The command names them
 * in its help, so that this file imports nothing that is large.
 */
import { randomUUID } from 'node:crypto'
import { ConfigurationError, RejectedError } from '../errors.ts'
import type { AppDataClient } from '../service/client.ts'
import {
  type AgeRating,
  hasForm,
  type ResultForm,
  type ServiceFunction,
  type Store,
} from '../service/functions.ts'
import type { TaskToPost } from '../service/task-rules.ts'
import type { Fields } from './api-fields.ts'

const POSTED_WITHIN_MS = 10_000
const DAY_MS = 86_400_000

export type Call = (client: AppDataClient) => Promise<unknown>
/**
 * Reads the fields, and says what is to be called.
 * @param store where both have it; undefined when nobody said which
 */
type Endpoint = (fields: Fields, store: Store | undefined) => Call

/** How the result of a function is got, and what a task of it is about. */
const FUNCTIONS = {
  app_searches: { subject: 'keyword', get: (client, store, id) => client.getAppSearches(store, id) },
  app_info: { subject: 'app_id', get: (client, store, id) => client.getAppInfo(store, id) },
  app_list: { subject: 'app_collection', get: (client, store, id) => client.getAppList(store, id) },
  app_reviews: { subject: 'app_id', get: (client, store, id) => client.getAppReviews(store, id) },
} satisfies Record<
  ServiceFunction,
  { subject: string; get(client: AppDataClient, store: Store, id: string): Promise<unknown> }
>

type End = 'task_post' | 'tasks_ready' | `task_get/${ResultForm}`

/** The four of a function. Charts and raw pages are of android_store alone in the specification. */
function ofFunction<F extends ServiceFunction>(fn: F) {
  const ends: Record<End, (fields: Fields, store: Store) => Call> = {
    task_post: (fields, store) => {
      const task = readTask(fn, fields)
      return (client) =>
        client.postTasks(store, fn, [task], { deadlineMs: performance.now() + POSTED_WITHIN_MS })
    },
    tasks_ready: (_, store) => (client) => client.listReady(store, fn),
    'task_get/advanced': (fields, store) => {
      const id = fields.need('id')
      return (client) => FUNCTIONS[fn].get(client, store, id)
    },
    'task_get/html': (fields) => {
      const id = fields.need('id')
      return (client) => client.getHtml(fn, id)
    },
  }
  const endpoints = Object.entries(ends).map(([end, prepare]): [string, Endpoint] => {
    const name = `${fn}/${end}`
    const form = end === 'task_get/html' ? 'html' : 'advanced'
    const usual = fn === 'app_list' || form === 'html' ? 'android_store' : 'ios_store'
    return [
      name,
      (fields, store = usual) => {
        if (!hasForm(store, fn, form)) throw new ConfigurationError(`${store} has no ${name}.`)
        return prepare(fields, store)
      },
    ]
  })
  return Object.fromEntries(endpoints) as Record<`${F}/${End}`, Endpoint>
}

/** The keyword is taken as a person types it; the client encodes it. */
function readTask(fn: ServiceFunction, fields: Fields): TaskToPost {
  return {
    subject: fields.need(FUNCTIONS[fn].subject),
    tag: fields.text('tag') ?? `by-hand.${randomUUID()}`,
    ...withoutUndefined({
      category: fields.text('app_category'),
      ...(fn === 'app_list' && { ageRating: fields.text('age_rating') as AgeRating | undefined }),
      ...(fn === 'app_reviews' && { sortBy: fields.text('sort_by'), rating: fields.number('rating') }),
      locationCode: fields.number('location_code'),
      locationName: fields.text('location_name'),
      languageCode: fields.text('language_code'),
      languageName: fields.text('language_name'),
      // The client refuses another number with the rule.
      priority: fields.number('priority') as 1 | 2 | undefined,
      depth: fields.number('depth'),
      postbackUrl: fields.text('postback_url'),
      postbackData: fields.text('postback_data') as ResultForm | undefined,
      pingbackUrl: fields.text('pingback_url'),
    }),
  }
}

type Defined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> }

function withoutUndefined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>
}

export const ENDPOINTS = {
  ...ofFunction('app_searches'),
  ...ofFunction('app_info'),
  ...ofFunction('app_list'),
  ...ofFunction('app_reviews'),
  locations:
    (_, store = 'ios_store') =>
    (client) =>
      client.listLocations(store),
  languages:
    (_, store = 'ios_store') =>
    (client) =>
      client.listLanguages(store),
  categories:
    (_, store = 'ios_store') =>
    (client) =>
      client.listCategories(store),
  'app_listings/categories':
    (_, store = 'android_store') =>
    (client) =>
      client.listListingCategories(store),
  id_list: (fields) => {
    const [from, to] = [fields.instant('datetime_from'), fields.instant('datetime_to')]
    const query = {
      limit: fields.number('limit') ?? 1000,
      offset: fields.number('offset') ?? 0,
      sort: fields.oneOf('sort', ['asc', 'desc']) ?? 'asc',
      includeMetadata: fields.oneOf('include_metadata', ['true', 'false']) === 'true',
    }
    return async (client) => {
      const end = to ?? (await client.readListEnd()).listedTo
      return client.listTaskIds({ ...query, from: from ?? new Date(end.getTime() - DAY_MS), to: end })
    }
  },
  'app_data/tasks_ready': () => async (client) => {
    const rows = await client.listAllReady()
    if (rows !== null) return rows
    const instead = 'ask that of each, such as app_searches/tasks_ready.'
    throw new RejectedError(`The service has no list for all functions: ${instead}`, 40400)
  },
  'app_data/errors': (fields) => {
    const query = withoutUndefined({
      limit: fields.number('limit'),
      offset: fields.number('offset'),
      filteredFunction: fields.text('filtered_function'),
      from: fields.instant('datetime_from'),
      to: fields.instant('datetime_to'),
    })
    return (client) => client.listFailedTasks(query)
  },
  'appendix/errors': () => (client) => client.listErrors(),
  'appendix/status': () => (client) => client.getStatus(),
  'appendix/user_data': () => (client) => client.getUserData(),
  'appendix/webhook_resend': (fields) => {
    const ids = fields.all('id')
    return (client) => client.resendWebhooks(ids)
  },
} satisfies Record<string, Endpoint>

/** Bought there and then, through the ledger: search-listings.ts. */
export const LIVE_SEARCH = 'app_listings/search/live'

export type ApiEndpoint = keyof typeof ENDPOINTS | typeof LIVE_SEARCH

export const API_ENDPOINTS = [...Object.keys(ENDPOINTS), LIVE_SEARCH] as readonly ApiEndpoint[]
