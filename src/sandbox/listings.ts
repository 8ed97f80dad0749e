/**
 * The search in the service's own database of listings, as it is sold: answered at once, and charged by call
 * and by result. What was found stands in id_list like a task that is done.
 */

import { z } from 'zod'
import type { PostedTask } from './books.ts'
import type { App, Catalogue } from './catalogue.ts'
import { nameCategory } from './categories.ts'
import type { Deviations } from './deviations.ts'
import { invalidField, type TaskAnswer } from './envelope.ts'
import { isInStore } from './events.ts'
import { hashText } from './hash.ts'
import { tokenize } from './keyword.ts'
import { MAX_ROWS, MAX_TAG_CHARACTERS } from './limits.ts'
import { appUrl, SE_DOMAINS, showInfoItem } from './listing.ts'
import { Filters, type Listing, OrderBy, passes, sortListings } from './listing-filters.ts'
import { type Store, segmentOf } from './offers.ts'
import { isRecord } from './posting.ts'
import { LISTING_PRICES_MICROS } from './prices.ts'
import type { Service } from './service.ts'
import { dayOf, formatTimestamp } from './timestamp.ts'

const MAX_WORDS_CHARACTERS = 200
const MAX_CATEGORIES = 10
/** Every listing is that of one place. */
const LOCATION_CODE = 2840
const LANGUAGE_CODE = 'en'

const Words = z.string().min(1).max(MAX_WORDS_CHARACTERS).optional()

const Query = z.strictObject({
  title: Words,
  description: Words,
  categories: z.array(z.string()).min(1).max(MAX_CATEGORIES).optional(),
  filters: Filters.optional(),
  order_by: OrderBy.optional(),
  limit: z.int().min(1).max(MAX_ROWS).default(100),
  offset: z.int().nonnegative().default(0),
  offset_token: z.string().optional(),
  tag: z.string().max(MAX_TAG_CHARACTERS).optional(),
})
type Query = z.output<typeof Query>

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

const showListing = (catalogue: Catalogue, app: App, nowMs: number, deviations: Deviations): Listing => {
  const view = { locationCode: LOCATION_CODE, languageCode: LANGUAGE_CODE, day: dayOf(nowMs) }
  return {
    app_id: app.id,
    se_domain: SE_DOMAINS[catalogue.store],
    location_code: LOCATION_CODE,
    language_code: LANGUAGE_CODE,
    check_url: appUrl(catalogue.store, app, view),
    time_update: formatTimestamp(nowMs),
    item: showInfoItem(catalogue, app, view, deviations),
  }
}

/** Every listing that a query asks for, from the most popular app down. */
const findListings = (
  catalogue: Catalogue,
  query: Query,
  nowMs: number,
  deviations: Deviations,
): Listing[] => {
  const { title, description, categories, filters, order_by: orders } = query
  const found = catalogue
    .allApps()
    .filter((app) => isInStore(app.events, dayOf(nowMs)))
    .filter((app) => categories === undefined || categories.includes(nameCategory(app.category)))
    .filter((app) => holds(app.title, title))
    .toSorted((left, right) => right.popularity - left.popularity || left.hash - right.hash)
    .map((app) => showListing(catalogue, app, nowMs, deviations))
    .filter(({ item }) => holds(item.description, description))
    .filter((listing) => filters === undefined || passes(listing, filters))
  return orders === undefined ? found : sortListings(found, orders)
}

/** A call in the books. */
const recordCall = (
  store: Store,
  { id, costMicros, nowMs }: { id: string; costMicros: number; nowMs: number },
  parameters: Record<string, unknown>,
): PostedTask => ({
  id,
  store,
  function: 'app_listings',
  subject: '',
  locationCode: LOCATION_CODE,
  languageCode: LANGUAGE_CODE,
  depth: 1,
  priority: 1,
  postedAtMs: nowMs,
  doneAtMs: nowMs,
  costMicros,
  results: 1,
  refundMicros: 0,
  parameters,
})

/** Searches in the listings of a store; a search that is answered is charged. `path` is that of the call. */
export const searchListings = (
  service: Service,
  store: Store,
  body: unknown,
  { path, nowMs }: { path: string; nowMs: number },
): TaskAnswer => {
  const { deviations } = service
  const id = service.makeId(nowMs, 'app_listings')
  const parameters = isRecord(body) ? body : {}
  const se = segmentOf(store, deviations)
  const data = { ...parameters, api: 'app_data', function: 'search', se, se_type: 'app_listings' }
  const refuse = (field: string): TaskAnswer => ({ id, ...invalidField(field), data })
  const { data: query, error } = Query.safeParse(body)
  if (query === undefined) return refuse(String(error?.issues[0]?.path[0] ?? 'task'))
  const offset = readOffset(query)
  if (offset === undefined) return refuse('offset_token')
  const found = findListings(service.answers.stores[store].catalogue, query, nowMs, deviations)
  const items = found.slice(offset, offset + query.limit)
  const { perRequest, perResult } = LISTING_PRICES_MICROS
  const costMicros = perRequest + perResult * items.length
  const isPoor = service.faults.strikes('insufficientFunds', path)
  const unpayable = isPoor ? 40210 : service.account.refuse(costMicros, nowMs)
  if (unpayable) return { id, code: unpayable, data }
  const call = recordCall(store, { id, costMicros, nowMs }, parameters)
  service.tasks.postFetched(call)
  const next = offset + items.length
  const token = next < found.length ? writeToken(query, next) : null
  const result = { total_count: found.length, count: items.length, offset, offset_token: token, items }
  return { id, code: 20000, costMicros, data, result: [result] }
}
