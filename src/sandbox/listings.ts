/**
 * The search in the service's own database of listings, as it is sold: answered at once, and charged by call
 * and by result. What was found stands in id_list like a task that is done.
 */

import { z } from 'zod'
import type { App, Catalogue } from './catalogue.ts'
import type { Deviations } from './deviations.ts'
import { invalidField, isRecord, type TaskAnswer } from './envelope.ts'
import { isInStore } from './events.ts'
import { hashText } from './hash.ts'
import { tokenize } from './keyword.ts'
import { appUrl, SE_DOMAINS, showInfoItem } from './listing.ts'
import { LISTING_PRICES_MICROS, MAX_ROWS, MAX_TAG_CHARACTERS, type Store, segmentOf } from './offers.ts'
import { nameCategory } from './reference.ts'
import type { Service } from './service.ts'
import { dayOf, formatTimestamp } from './timestamp.ts'

/** Every listing is that of one place. */
const PLACE = { locationCode: 2840, languageCode: 'en' }

const showListing = (catalogue: Catalogue, app: App, nowMs: number, deviations: Deviations) => {
  const view = { ...PLACE, day: dayOf(nowMs) }
  return {
    app_id: app.id,
    se_domain: SE_DOMAINS[catalogue.store],
    location_code: PLACE.locationCode,
    language_code: PLACE.languageCode,
    check_url: appUrl(catalogue.store, app, view),
    time_update: formatTimestamp(nowMs),
    item: showInfoItem(catalogue, app, view, deviations),
  }
}
type Listing = ReturnType<typeof showListing>

/** The value at `item.rating.value`, or, as the documentation of the ios_store writes it, `rating.value`. */
const valueAt = (listing: Listing, path: string): unknown => {
  const names = path.split('.')
  const root: unknown = (names[0] ?? '') in listing ? listing : listing.item
  return names.reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], root)
}

/** `%` stands for any text. */
const isLike = (text: unknown, pattern: unknown): boolean => {
  const escaped = String(pattern).replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replaceAll('%', '.*')}$`, 'is').test(String(text))
}

const isAmong = (value: unknown, list: unknown): boolean => Array.isArray(list) && list.includes(value)

const TESTS = {
  regex: (value, given) => new RegExp(String(given)).test(String(value)),
  not_regex: (value, given) => !new RegExp(String(given)).test(String(value)),
  '<': (value, given) => Number(value) < Number(given),
  '<=': (value, given) => Number(value) <= Number(given),
  '>': (value, given) => Number(value) > Number(given),
  '>=': (value, given) => Number(value) >= Number(given),
  '=': (value, given) => value === given,
  '<>': (value, given) => value !== given,
  in: isAmong,
  not_in: (value, given) => !isAmong(value, given),
  like: isLike,
  not_like: (value, given) => !isLike(value, given),
} satisfies Record<string, (value: unknown, given: unknown) => boolean>
const OPERATORS = Object.keys(TESTS) as (keyof typeof TESTS)[]

const MAX_CONDITIONS = 8
/** `["item.rating.value", ">", 3]` */
const Condition = z.tuple([z.string().min(1), z.enum(OPERATORS), z.unknown()])
type Condition = z.output<typeof Condition>
/** Conditions with `and` or `or` between them. */
type Chain = readonly (Condition | 'and' | 'or')[]

const isWellJoined = (chain: Chain): boolean =>
  chain.length % 2 === 1 &&
  chain.length < 2 * MAX_CONDITIONS &&
  chain.every((part, index) => (typeof part === 'string') === (index % 2 === 1))

const Words = z.string().min(1).max(200).optional()
const Query = z.strictObject({
  title: Words,
  description: Words,
  categories: z.array(z.string()).min(1).max(10).optional(),
  filters: z
    .union([
      Condition.transform((condition): Chain => [condition]),
      z.array(z.union([Condition, z.enum(['and', 'or'])])).refine(isWellJoined),
    ])
    .optional(),
  /** `item.rating.value,desc` */
  order_by: z
    .array(z.string().regex(/^[a-z_.]+,(asc|desc)$/))
    .min(1)
    .max(3)
    .optional(),
  limit: z.int().min(1).max(MAX_ROWS).default(100),
  offset: z.int().nonnegative().default(0),
  offset_token: z.string().optional(),
  tag: z.string().max(MAX_TAG_CHARACTERS).optional(),
})
type Query = z.output<typeof Query>

/** Whether a listing passes all filters, read from left to right. */
const passes = (listing: Listing, chain: Chain): boolean => {
  let isPassed = false
  let joint = 'or'
  for (const part of chain) {
    if (typeof part === 'string') joint = part
    else {
      const [path, operator, given] = part
      const isMet = TESTS[operator](valueAt(listing, path), given)
      isPassed = joint === 'and' ? isPassed && isMet : isPassed || isMet
    }
  }
  return isPassed
}

const compare = (left: unknown, right: unknown): number =>
  typeof left === 'number' && typeof right === 'number'
    ? left - right
    : String(left).localeCompare(String(right))

/** The order of two listings by the first rule that tells them apart. */
const compareBy = (orders: readonly string[], left: Listing, right: Listing): number => {
  const differences = orders.map((order) => {
    const [path = '', direction] = order.split(',')
    return compare(valueAt(left, path), valueAt(right, path)) * (direction === 'asc' ? 1 : -1)
  })
  return differences.find((difference) => difference !== 0) ?? 0
}

/** What a token has to agree with: all of a query but where it stands. */
const fingerprint = ({ offset, offset_token, tag, ...rest }: Query): number => hashText(JSON.stringify(rest))

const writeToken = (query: Query, offset: number): string =>
  Buffer.from(JSON.stringify([fingerprint(query), offset])).toString('base64')

/** Where a query begins; undefined when its token is not of this query. */
const readOffset = (query: Query): number | undefined => {
  if (query.offset_token === undefined) return query.offset
  try {
    const [of, offset] = JSON.parse(Buffer.from(query.offset_token, 'base64').toString())
    return of === fingerprint(query) ? Number(offset) : undefined
  } catch {
    return undefined
  }
}

const holds = (text: string, words: string | undefined): boolean => {
  if (words === undefined) return true
  const found = tokenize(text)
  return tokenize(words).every((word) => found.includes(word))
}

/** Every listing that a query asks for, from the most popular app down. */
const findListings = (
  catalogue: Catalogue,
  { title, description, categories, filters, order_by: orders = [] }: Query,
  nowMs: number,
  deviations: Deviations,
): Listing[] =>
  catalogue.apps
    .filter((app) => isInStore(app.events, dayOf(nowMs)))
    .filter((app) => categories === undefined || categories.includes(nameCategory(app.category)))
    .filter((app) => holds(app.title, title))
    .toSorted((left, right) => right.popularity - left.popularity || left.hash - right.hash)
    .map((app) => showListing(catalogue, app, nowMs, deviations))
    .filter(({ item }) => holds(item.description, description))
    .filter((listing) => filters === undefined || passes(listing, filters))
    .toSorted((left, right) => compareBy(orders, left, right))

/** Searches in the listings of a store; a search that is answered is charged. `path` is that of the call. */
export const searchListings = (
  { account, answers, deviations, faults, makeId, tasks }: Service,
  store: Store,
  body: unknown,
  { path, nowMs }: { path: string; nowMs: number },
): TaskAnswer => {
  const id = makeId(nowMs, 'app_listings')
  const parameters = isRecord(body) ? body : {}
  const se = segmentOf(store, deviations)
  const data = { ...parameters, api: 'app_data', function: 'search', se, se_type: 'app_listings' }
  const { data: query, error } = Query.safeParse(body)
  if (!query) return { id, ...invalidField(String(error?.issues[0]?.path[0] ?? 'task')), data }
  const offset = readOffset(query)
  if (offset === undefined) return { id, ...invalidField('offset_token'), data }
  const found = findListings(answers.stores[store].catalogue, query, nowMs, deviations)
  const items = found.slice(offset, offset + query.limit)
  const { perRequest, perResult } = LISTING_PRICES_MICROS
  const costMicros = perRequest + perResult * items.length
  const isPoor = faults.strikes('insufficientFunds', path)
  const unpayable = isPoor ? 40210 : account.refuse(costMicros, nowMs)
  if (unpayable) return { id, code: unpayable, data }
  const question = { store, function: 'app_listings', subject: '', ...PLACE, depth: 1, priority: 1 } as const
  const outcome = { postedAtMs: nowMs, doneAtMs: nowMs, costMicros, results: 1, refundMicros: 0 }
  tasks.postFetched({ id, ...question, ...outcome, parameters })
  const next = offset + items.length
  const token = next < found.length ? writeToken(query, next) : null
  const result = { total_count: found.length, count: items.length, offset, offset_token: token, items }
  return { id, code: 20000, costMicros, data, result: [result] }
}
