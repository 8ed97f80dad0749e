/** What `storerank api` calls, by the ends of the service's paths, with the fields that each takes. */
import { randomUUID } from 'node:crypto'
import { ConfigurationError, RejectedError } from '../errors.ts'
import type { AppDataClient } from '../service/client.ts'
import { readTimestamp } from '../service/fields.ts'
import { hasForm, type ServiceFunction, type Store } from '../service/functions.ts'
import type { ListingQuery } from '../service/listings.ts'
import type { TaskToPost } from '../service/task-rules.ts'
import { didYouMean } from '../suggest.ts'

const POSTED_WITHIN_MS = 10_000
const DAY_MS = 86_400_000

/** How the text of a field is read: null where it breaks the rule. */
interface Kind {
  readonly rule?: string
  readonly isNeeded?: true
  /** May be given several times; its values are a list. */
  readonly isRepeated?: true
  parse(text: string): unknown
}
/** By their names in the specification. */
type Kinds = Readonly<Record<string, Kind>>

const text: Kind = { parse: (value) => value }
const needed: Kind = { ...text, isNeeded: true }
const several: Kind = { ...text, isRepeated: true }
const wholeNumber = (value: string) => (/^-?\d{1,15}$/.test(value) ? Number(value) : null)
const number: Kind = { rule: 'a whole number', parse: wholeNumber }
const instant: Kind = { rule: 'a time such as "2026-01-31 04:05:06 +00:00"', parse: readTimestamp }
const list: Kind = { rule: 'a list as JSON, such as ["item.rating.value",">",4]', parse: parseList }
const oneOf = (values: Readonly<Record<string, unknown>>): Kind => ({
  rule: Object.keys(values).join(' or '),
  parse: (value) => (Object.hasOwn(values, value) ? values[value] : null),
})

function parseList(value: string): unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(value)
    return Array.isArray(parsed) ? parsed : null
  } catch {
    return null
  }
}

/** What the client calls otherwise than in camel case. */
const OWN_NAMES: Readonly<Record<string, string>> = {
  keyword: 'subject',
  app_id: 'subject',
  app_collection: 'subject',
  app_category: 'category',
  datetime_from: 'from',
  datetime_to: 'to',
}

/** Reads `name=value` arguments, into what the client calls them. Throws a ConfigurationError. */
function readFields(endpoint: string, args: readonly string[], kinds: Kinds): Record<string, unknown> {
  const pairs = args.map((argument) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(argument) ?? []
    if (name !== undefined && value !== undefined) return { name, value }
    throw new ConfigurationError(`A field is given as name=value; ${JSON.stringify(argument)} is not.`)
  })
  const given = Map.groupBy(pairs, ({ name }) => name)
  const names = Object.keys(kinds)
  const fields = Object.entries(kinds).flatMap(([name, kind]) => {
    const values = given.get(name)?.map(({ value }) => value)
    if (values !== undefined) return [[toOwnName(name), readValues(name, values, kind)]]
    if (kind.isNeeded) throw new ConfigurationError(`${endpoint} needs ${name}=….`)
    return []
  })
  const stranger = [...given.keys()].find((name) => !names.includes(name))
  if (stranger === undefined) return Object.fromEntries(fields)
  const takes = names.length === 0 ? 'no fields' : names.join(', ')
  throw new ConfigurationError(
    `${stranger} is no field of ${endpoint}, which takes ${takes}.${didYouMean(stranger, names)}`,
  )
}

function toOwnName(name: string): string {
  return OWN_NAMES[name] ?? name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())
}

function readValues(name: string, texts: readonly string[], { rule, isRepeated, parse }: Kind): unknown {
  if (texts.length > 1 && !isRepeated) throw new ConfigurationError(`${name} is given more than once.`)
  const values = texts.map(parse)
  if (values.includes(null))
    throw new ConfigurationError(`${name} must be ${rule}; it is ${JSON.stringify(texts[0])}.`)
  return isRepeated ? values : values[0]
}

type Call = (client: AppDataClient) => Promise<unknown>
/**
 * Reads the fields, and says what is to be called.
 * @param store where both have it; undefined when nobody said which
 */
type Endpoint = (name: string, args: readonly string[], store: Store | undefined) => Call

/**
 * @param Given the fields as the client calls them, which are of these kinds
 * @param usual the store where nobody said which
 */
function endpoint<Given>(
  kinds: Kinds,
  call: (client: AppDataClient, given: Given, store: Store) => Promise<unknown>,
  usual: Store = 'ios_store',
): Endpoint {
  return (name, args, store = usual) => {
    const given = readFields(name, args, kinds) as Given
    return (client) => call(client, given, store)
  }
}

const OF_TASK: Kinds = {
  tag: text,
  app_category: text,
  location_code: number,
  location_name: text,
  language_code: text,
  language_name: text,
  priority: number,
  depth: number,
  postback_url: text,
  postback_data: text,
  pingback_url: text,
}

/** The four of a function. Charts and raw pages are of android_store alone in the specification. */
function ofFunction(
  fn: ServiceFunction,
  kinds: Kinds,
  get: (client: AppDataClient, store: Store, id: string) => Promise<unknown>,
): Record<string, Endpoint> {
  const one: Kinds = { id: needed }
  const ends: Record<string, Endpoint> = {
    task_post: endpoint<TaskToPost>({ ...kinds, ...OF_TASK }, (client, task, store) => {
      const tagged = { ...task, tag: task.tag ?? `by-hand.${randomUUID()}` }
      return client.postTasks(store, fn, [tagged], { deadlineMs: performance.now() + POSTED_WITHIN_MS })
    }),
    tasks_ready: endpoint({}, (client, _, store) => client.listReady(store, fn)),
    'task_get/advanced': endpoint<{ id: string }>(one, (client, { id }, store) => get(client, store, id)),
    'task_get/html': endpoint<{ id: string }>(one, (client, { id }) => client.getHtml(fn, id)),
  }
  const checked = Object.entries(ends).map(([end, prepare]): [string, Endpoint] => {
    const form = end === 'task_get/html' ? 'html' : 'advanced'
    const usual = fn === 'app_list' || form === 'html' ? 'android_store' : 'ios_store'
    return [
      `${fn}/${end}`,
      (name, args, store = usual) => {
        if (hasForm(store, fn, form)) return prepare(name, args, store)
        throw new ConfigurationError(`${store} has no ${name}.`)
      },
    ]
  })
  return Object.fromEntries(checked)
}

const PAGE: Kinds = { limit: number, offset: number }
const RANGE: Kinds = { datetime_from: instant, datetime_to: instant }

export const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  ...ofFunction('app_searches', { keyword: needed }, (client, store, id) => client.getAppSearches(store, id)),
  ...ofFunction('app_info', { app_id: needed }, (client, store, id) => client.getAppInfo(store, id)),
  ...ofFunction('app_list', { app_collection: needed, age_rating: text }, (client, store, id) =>
    client.getAppList(store, id),
  ),
  ...ofFunction('app_reviews', { app_id: needed, sort_by: text, rating: number }, (client, store, id) =>
    client.getAppReviews(store, id),
  ),
  locations: endpoint({}, (client, _, store) => client.listLocations(store)),
  languages: endpoint({}, (client, _, store) => client.listLanguages(store)),
  categories: endpoint({}, (client, _, store) => client.listCategories(store)),
  'app_listings/categories': endpoint(
    {},
    (client, _, store) => client.listListingCategories(store),
    'android_store',
  ),
  id_list: endpoint<Partial<Parameters<AppDataClient['listTaskIds']>[0]>>(
    {
      ...RANGE,
      ...PAGE,
      sort: oneOf({ asc: 'asc', desc: 'desc' }),
      include_metadata: oneOf({ true: true, false: false }),
    },
    async (client, given) => {
      const to = given.to ?? (await client.readListEnd()).listedTo
      const from = given.from ?? new Date(to.getTime() - DAY_MS)
      const usual = { limit: 1000, offset: 0, sort: 'asc', includeMetadata: false } as const
      return client.listTaskIds({ ...usual, ...given, from, to })
    },
  ),
  'app_data/tasks_ready': endpoint({}, async (client) => {
    const rows = await client.listAllReady()
    if (rows !== null) return rows
    const instead = 'ask that of each, such as app_searches/tasks_ready.'
    throw new RejectedError(`The service has no list for all functions: ${instead}`, 40400)
  }),
  'app_data/errors': endpoint<Parameters<AppDataClient['listFailedTasks']>[0]>(
    { ...PAGE, filtered_function: text, ...RANGE },
    (client, query) => client.listFailedTasks(query),
  ),
  'appendix/errors': endpoint({}, (client) => client.listErrors()),
  'appendix/status': endpoint({}, (client) => client.getStatus()),
  'appendix/user_data': endpoint({}, (client) => client.getUserData()),
  'appendix/webhook_resend': endpoint<{ id?: string[] }>({ id: several }, (client, { id = [] }) =>
    client.resendWebhooks(id),
  ),
}

const OF_SEARCH: Kinds = {
  title: text,
  description: text,
  categories: several,
  filters: list,
  order_by: several,
  ...PAGE,
  offset_token: text,
}

/** The fields of the search in listings, which is bought there and then. */
export function readSearch(endpoint: string, args: readonly string[]): Omit<ListingQuery, 'tag'> {
  return readFields(endpoint, args, OF_SEARCH)
}
