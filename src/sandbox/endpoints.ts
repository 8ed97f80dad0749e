/** The endpoints of the service: one row each, with what it answers. The server adds HTTP and the limits. */

import type { WindowName } from './calls.ts'
import { CATEGORIES, LISTING_CATEGORIES } from './categories.ts'
import type { Code } from './codes.ts'
import { invalidField, type TaskAnswer } from './envelope.ts'
import { listFailures } from './failures.ts'
import { fetchTask, listReady } from './fetching.ts'
import { listIds } from './id-list.ts'
import { listLanguages } from './languages.ts'
import { searchListings } from './listings.ts'
import { listLocations } from './locations.ts'
import { basePath, type Offer, STORES, type Store, segmentOf } from './offers.ts'
import { buildTaskTaker, isRecord } from './posting.ts'
import { resendWebhooks } from './resending.ts'
import type { Service } from './service.ts'
import { showStatus } from './status.ts'
import { showUserData } from './user-data.ts'
import type { Webhooks } from './webhooks.ts'

/**
 * One call that was let through: parameters from the path, `body` read from JSON, and the address that was
 * called.
 */
type Call = { id: string; country: string; body: unknown; nowMs: number; origin: string }

/** `countAs` is its name in the statistics, `window` a limit of its own. */
export type Endpoint = {
  method: 'GET' | 'POST'
  path: string
  countAs: string
  window?: WindowName
  answer(call: Call): TaskAnswer[]
}

/** Refuses a whole call with a status code of its own. */
export class Refusal extends Error {
  readonly code: Code
  constructor(code: Code) {
    super(`The call is refused with ${code}.`)
    this.code = code
  }
}

const requireTasks = (body: unknown): readonly unknown[] => {
  if (!Array.isArray(body)) throw new Refusal(40500)
  if (body.length === 0) throw new Refusal(40502)
  return body
}

/**
 * Endpoints that take one object take it bare, or as the only element of an array (spec: Endpoints says
 * both).
 */
const requireOne = (body: unknown): unknown => {
  if (isRecord(body)) return body
  if (Array.isArray(body) && body.length > 1) throw new Refusal(40000)
  return requireTasks(body)[0]
}

const list = (id: string, data: Record<string, unknown>, result: readonly unknown[]): TaskAnswer[] => [
  { id, code: 20000, data, result },
]

/** @param called method and path */
const endpoint = (
  called: `${Endpoint['method']} /${string}`,
  countAs: string,
  answer: Endpoint['answer'],
  window?: WindowName,
): Endpoint => {
  const [method, path = ''] = called.split(' ')
  return { method: method as Endpoint['method'], path, countAs, answer, ...(window && { window }) }
}

const offerEndpoints = (service: Service, offer: Offer): Endpoint[] => {
  const base = basePath(offer) as `/${string}`
  const takeTasks = buildTaskTaker(offer, service)
  const ready = `${base}/tasks_ready`
  return [
    endpoint(`POST ${base}/task_post`, `${offer.function}/task_post`, ({ body, nowMs }) =>
      takeTasks(requireTasks(body), nowMs),
    ),
    endpoint(
      `GET ${base}/tasks_ready`,
      `${offer.function}/tasks_ready`,
      ({ nowMs }) => [shorten(service, ready, listReady(service, offer, ready, nowMs))],
      'readyLists',
    ),
    ...offer.forms.map((form) =>
      endpoint(`GET ${base}/task_get/${form}/:id`, `${offer.function}/task_get/${form}`, ({ id, nowMs }) => [
        fetchTask(service, offer, form, id, nowMs),
      ]),
    ),
  ]
}

const referenceEndpoints = ({ deviations, makeId }: Service, store: Store): Endpoint[] => {
  const segment = segmentOf(store, deviations)
  const hasListings = store === 'android_store' || deviations.has('endpoints')
  const records: Record<string, readonly unknown[]> = {
    languages: listLanguages(store, deviations),
    locations: listLocations(store, deviations),
    categories: [{ categories: CATEGORIES[store] }],
    ...(hasListings && { 'app_listings/categories': LISTING_CATEGORIES[store] }),
  }
  return Object.entries(records).map(([name, result]) =>
    endpoint(
      `GET /v3/app_data/${segment}/${name}`,
      // The statistics have one name for the categories of both kinds (spec: Account data record).
      name.split('/').at(-1) ?? name,
      ({ nowMs }) => list(makeId(nowMs, name), { api: 'app_data', function: name, se: segment }, result),
    ),
  )
}

/** The locations of one country, by its letters. */
const countryEndpoint = ({ deviations, makeId }: Service): Endpoint => {
  const segment = segmentOf('android_store', deviations)
  return endpoint(`GET /v3/app_data/${segment}/locations/:country`, 'locations', ({ country, nowMs }) => {
    const places = listLocations('android_store', deviations)
    const found = places.filter((place) => place.country_iso_code === country.toUpperCase())
    const id = makeId(nowMs, 'locations')
    const data = { api: 'app_data', function: 'locations', se: segment, country }
    if (found.length > 0) return list(id, data, found)
    return [{ id, ...invalidField('country'), data }]
  })
}

const listingEndpoint = (service: Service, store: Store): Endpoint => {
  const path = `/v3/app_data/${segmentOf(store, service.deviations)}/app_listings/search/live` as const
  return endpoint(`POST ${path}`, 'app_listings/search/live', ({ body, nowMs }) => [
    searchListings(service, store, requireOne(body), { path, nowMs }),
  ])
}

const ALL_READY = '/v3/app_data/tasks_ready'

/** What the service as it is sold has beside its specification and its offers. */
const soldEndpoints = (service: Service): Endpoint[] => [
  countryEndpoint(service),
  ...STORES.map((store) => listingEndpoint(service, store)),
  endpoint(
    `GET ${ALL_READY}`,
    'tasks_ready',
    ({ nowMs }) => [shorten(service, ALL_READY, listReady(service, undefined, ALL_READY, nowMs))],
    'readyLists',
  ),
]

/** A list that lacks half of the rows that it counts, where that fault strikes. */
const shorten = ({ faults }: Service, path: string, answer: TaskAnswer): TaskAnswer => {
  const rows = answer.result ?? []
  if (rows.length === 0 || !faults.strikes('shortRows', path)) return answer
  return { ...answer, resultCount: rows.length, result: rows.slice(0, rows.length >> 1) }
}

/** Another query than the one that was asked, where that fault strikes. */
const misread = ({ faults }: Service, query: unknown): unknown => {
  if (!isRecord(query) || !faults.strikes('otherQuery', 'id_list')) return query
  return { ...query, offset: Number(query.offset ?? 0) + 1000 }
}

const listAppendix = (service: Service, name: string, nowMs: number, result: readonly unknown[]) =>
  list(service.makeId(nowMs, name), { api: 'appendix', function: name }, result)

const accountEndpoints = (service: Service, webhooks: Webhooks): Endpoint[] => [
  endpoint('POST /v3/app_data/errors', 'errors', ({ body, nowMs, origin }) => [
    listFailures({ ...service, origin }, requireOne(body), nowMs),
  ]),
  endpoint('POST /v3/appendix/webhook_resend', 'webhook_resend', ({ body, nowMs }) =>
    resendWebhooks(service, webhooks, requireTasks(body), nowMs),
  ),
  endpoint(
    'POST /v3/app_data/id_list',
    'id_list',
    ({ body, nowMs, origin }) => [
      shorten(service, 'id_list', listIds({ ...service, origin }, misread(service, requireOne(body)), nowMs)),
    ],
    'idLists',
  ),
  endpoint('GET /v3/appendix/user_data', 'user_data', ({ nowMs }) =>
    listAppendix(service, 'user_data', nowMs, [showUserData(service, nowMs)]),
  ),
  endpoint(
    'GET /v3/appendix/status',
    'status',
    ({ nowMs }) => {
      const said = service.faults.settings.status
      const records = showStatus(said, webhooks.longestWaitMs(nowMs), service.deviations)
      return listAppendix(service, 'status', nowMs, records)
    },
    'status',
  ),
  endpoint('GET /v3/appendix/errors', 'appendix_errors', ({ nowMs }) => {
    const codes = Object.entries(service.envelope.codes.list)
    const records = codes.map(([code, message]) => ({ code: Number(code), message }))
    return listAppendix(service, 'errors', nowMs, records)
  }),
]

/** Every endpoint that the service has. */
export const listEndpoints = (service: Service, webhooks: Webhooks): Endpoint[] => [
  ...service.offers.flatMap((offer) => offerEndpoints(service, offer)),
  ...STORES.flatMap((store) => referenceEndpoints(service, store)),
  ...(service.deviations.has('endpoints') ? soldEndpoints(service) : []),
  ...accountEndpoints(service, webhooks),
]
