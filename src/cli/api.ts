/**
 * What `storerank api` does: one call of the service by hand. It opens no database: what is posted here
 * is charged to the account, but counts in no budget and no history of ours. The search in listings alone is
 * bought through the ledger.
 */
import { randomUUID } from 'node:crypto'
import { ConfigurationError, RejectedError } from '../errors.ts'
import { AppDataClient } from '../service/client.ts'
import {
  type AgeRating,
  hasForm,
  type ResultForm,
  type ServiceFunction,
  type Store,
} from '../service/functions.ts'
import type { PostOutcome, TaskToPost } from '../service/post-tasks.ts'
import type { ReadyList } from '../service/ready-list.ts'
import type { AnswerHead } from '../service/transport.ts'
import { formatUsd } from '../text/money.ts'
import { type ApiEndpoint, isTaskEndpoint, type TaskEndpoint } from './api-endpoints.ts'
import { Fields } from './api-fields.ts'
import type { CommandContext } from './command.ts'
import { type Document, type Part, type Row, table } from './document.ts'
import { searchByHand } from './search-listings.ts'
import { openService } from './service-access.ts'
import { warn } from './tell.ts'

const POSTED_WITHIN_MS = 10_000
const DAY_MS = 86_400_000

interface ApiOptions {
  readonly endpoint: ApiEndpoint
  /** `name=value`, named as in the specification. */
  readonly fields: readonly string[]
  /** Default: android_store for charts and raw pages, as in the specification; else ios_store. */
  readonly store?: Store
  /** Which project pays; app_listings/search/live alone. */
  readonly project?: string
}

export async function callEndpoint(options: ApiOptions, context: CommandContext): Promise<Document> {
  const data = await callByHand(options, context)
  return { data, parts: [describeValue(data)], exitCode: isFailure(data) ? 1 : 0 }
}

async function callByHand({ endpoint, ...options }: ApiOptions, context: CommandContext): Promise<unknown> {
  if (endpoint === 'app_listings/search/live') return searchByHand({ endpoint, ...options }, context)
  if (options.project !== undefined) {
    throw new ConfigurationError(
      `--project is of app_listings/search/live alone: ${endpoint} counts in no budget.`,
    )
  }
  return callService({ endpoint, ...options }, context)
}

type ServiceCall = ApiOptions & { readonly endpoint: Exclude<ApiEndpoint, 'app_listings/search/live'> }

async function callService(options: ServiceCall, context: CommandContext): Promise<unknown> {
  const fields = new Fields(options.endpoint, options.fields)
  const call = prepareCall(options, fields)
  fields.refuseRest()
  const { url: baseUrl, dispose, ...access } = await openService(context.config)
  const client = new AppDataClient({
    ...access,
    baseUrl,
    onAnswer: (answer) => warn(context, describeAnswer(answer)),
  })
  try {
    return await call(client)
  } finally {
    await client.close()
    await dispose()
  }
}

type Call = (client: AppDataClient) => Promise<unknown>

function prepareCall({ endpoint, store }: ServiceCall, fields: Fields): Call {
  if (isTaskEndpoint(endpoint)) return prepareTaskCall(endpoint, store, fields)
  const either = store ?? 'ios_store'
  switch (endpoint) {
    case 'locations':
      return (client) => client.listLocations(either)
    case 'languages':
      return (client) => client.listLanguages(either)
    case 'categories':
      return (client) => client.listCategories(either)
    case 'app_listings/categories':
      return (client) => client.listListingCategories(store ?? 'android_store')
    case 'id_list': {
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
    }
    case 'app_data/tasks_ready':
      return listAllReady
    case 'app_data/errors': {
      const query = withoutUndefined({
        limit: fields.number('limit'),
        offset: fields.number('offset'),
        filteredFunction: fields.text('filtered_function'),
        from: fields.instant('datetime_from'),
        to: fields.instant('datetime_to'),
      })
      return (client) => client.listFailedTasks(query)
    }
    case 'appendix/errors':
      return (client) => client.listErrors()
    case 'appendix/status':
      return (client) => client.getStatus()
    case 'appendix/user_data':
      return (client) => client.getUserData()
    case 'appendix/webhook_resend': {
      const ids = fields.all('id')
      return (client) => client.resendWebhooks(ids)
    }
  }
}

async function listAllReady(client: AppDataClient): Promise<ReadyList> {
  const rows = await client.listAllReady()
  if (rows !== null) return rows
  throw new RejectedError(
    'The service has no list for all functions: ask that of each, such as app_searches/tasks_ready.',
    40400,
  )
}

function prepareTaskCall(endpoint: TaskEndpoint, asked: Store | undefined, fields: Fields): Call {
  const [fn, action, form = 'advanced'] = endpoint.split('/') as [ServiceFunction, string, ResultForm?]
  const isOfAndroid = fn === 'app_list' || form === 'html'
  const store = asked ?? (isOfAndroid ? 'android_store' : 'ios_store')
  if (!hasForm(store, fn, form)) throw new ConfigurationError(`${store} has no ${endpoint}.`)
  if (action === 'tasks_ready') return (client) => client.listReady(store, fn)
  if (action === 'task_post') {
    const task = readTask(fn, fields)
    return (client) =>
      client.postTasks(store, fn, [task], { deadlineMs: performance.now() + POSTED_WITHIN_MS })
  }
  const id = fields.need('id')
  if (form === 'html') return (client) => client.getHtml(fn, id)
  return (client) => GETTERS[fn](client, store, id)
}

const GETTERS: Readonly<
  Record<ServiceFunction, (client: AppDataClient, store: Store, id: string) => Promise<unknown>>
> = {
  app_searches: (client, store, id) => client.getAppSearches(store, id),
  app_info: (client, store, id) => client.getAppInfo(store, id),
  app_list: (client, store, id) => client.getAppList(store, id),
  app_reviews: (client, store, id) => client.getAppReviews(store, id),
}

const SUBJECTS = {
  app_searches: 'keyword',
  app_info: 'app_id',
  app_list: 'app_collection',
  app_reviews: 'app_id',
} as const

/** The keyword is taken as a person types it; the client encodes it. */
function readTask(fn: ServiceFunction, fields: Fields): TaskToPost {
  return {
    subject: fields.need(SUBJECTS[fn]),
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

function describeAnswer({
  method,
  path,
  statusCode,
  message,
  version,
  timeSeconds,
  costMicros,
}: AnswerHead): string {
  const cost = costMicros === null ? '' : `, cost ${formatUsd(costMicros)}`
  return (
    `${method} ${path}: ${statusCode} ${message} (version ${version ?? 'unknown'}, ` +
    `${timeSeconds ?? '?'} s${cost})`
  )
}

/** A post of which a task was not created, or a task without a result for good. */
function isFailure(value: unknown): boolean {
  if (!isRow(value) || !('kind' in value)) return false
  if (value.kind !== 'answered') return value.kind !== 'done' && value.kind !== 'pending'
  return (value as PostOutcome & { kind: 'answered' }).answers.some((answer) => answer.statusCode !== 20100)
}

/** Plain values as a table of their own, then each list of records, then what is nested. */
function describeValue(value: unknown): Part {
  if (Array.isArray(value)) return describeList(value)
  return isRow(value) && describeRecord(value)
}

function describeRecord(value: Row): Part {
  const isTabled = (field: unknown) => isRow(field) || (Array.isArray(field) && field.some(isRow))
  const entries = Object.entries(value).filter(([, field]) => typeof field !== 'function')
  const plain = entries
    .filter(([, field]) => !isTabled(field))
    .map(([field, content]) => ({ field, value: content }))
  const nested = entries.filter(([, content]) => isTabled(content))
  return [
    plain.length > 0 && table(plain),
    nested.map(([field, content]) => [`${field}:`, describeValue(content)]),
  ]
}

function describeList(values: readonly unknown[]): Part {
  const rows = values.map((value): Row => (isRow(value) ? value : { value }))
  return table(rows, { columns: [...new Set(rows.flatMap((row) => Object.keys(row)))] })
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}
