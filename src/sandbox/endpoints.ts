/** The endpoints of the service: one row each, with what it answers. The server adds HTTP and the limits. */

import type { CountedRoute, WindowName } from './calls.ts'
import { CATEGORIES, listListingCategories } from './categories.ts'
import type { Code } from './codes.ts'
import { invalidField, isRecord, type TaskAnswer } from './envelope.ts'
import { fetchTask, listReady } from './fetching.ts'
import { searchListings } from './listings.ts'
import { listFailures, listIds } from './lists.ts'
import { listLanguages, listLocations } from './locations.ts'
import { basePath, type Offer, STORES, type Store, segmentOf } from './offers.ts'
import { buildTaskTaker } from './posting.ts'
import type { Service } from './service.ts'
import { showStatus, showUserData } from './user-data.ts'
import { resendWebhooks, type Webhooks } from './webhooks.ts'

/** One call: parameters of the path, `body` read from JSON, and the address that was called. */
type Call = { id: string; country: string; body: unknown; nowMs: number; origin: string }
type Answer = (call: Call) => TaskAnswer[]
export type Endpoint = CountedRoute & { method: 'GET' | 'POST'; path: string; answer: Answer }

const row =
  (method: Endpoint['method']) =>
  (path: string, countAs: string, answer: Answer, window?: WindowName): Endpoint => ({
    method,
    path,
    countAs,
    answer,
    window,
  })
const [get, post] = [row('GET'), row('POST')]

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

/** One object comes bare, or as the only element of an array (spec: Endpoints says both). */
const requireOne = (body: unknown): unknown => {
  if (isRecord(body)) return body
  if (Array.isArray(body) && body.length > 1) throw new Refusal(40000)
  return requireTasks(body)[0]
}

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

/** The ready list of one offer, or of all. */
const readyEndpoint = (service: Service, path: string, countAs: string, offer?: Offer): Endpoint =>
  get(
    path,
    countAs,
    ({ nowMs }) => [shorten(service, path, listReady(service, offer, path, nowMs))],
    'readyLists',
  )

const offerEndpoints = (service: Service, offer: Offer): Endpoint[] => {
  const [base, fn] = [basePath(offer), offer.function]
  const takeTasks = buildTaskTaker(offer, service)
  return [
    post(`${base}/task_post`, `${fn}/task_post`, ({ body, nowMs }) => takeTasks(requireTasks(body), nowMs)),
    readyEndpoint(service, `${base}/tasks_ready`, `${fn}/tasks_ready`, offer),
    ...offer.forms.map((form) =>
      get(`${base}/task_get/${form}/:id`, `${fn}/task_get/${form}`, ({ id, nowMs }) => [
        fetchTask(service, offer, form, id, nowMs),
      ]),
    ),
  ]
}

const referenceEndpoints = ({ deviations, makeId }: Service, store: Store): Endpoint[] => {
  const se = segmentOf(store, deviations)
  const hasListings = store === 'android_store' || deviations.has('endpoints')
  const records: Record<string, readonly unknown[]> = {
    languages: listLanguages(store, deviations),
    locations: listLocations(store, deviations),
    categories: [{ categories: CATEGORIES[store] }],
    ...(hasListings && { 'app_listings/categories': listListingCategories(store) }),
  }
  return Object.entries(records).map(([name, result]) =>
    // The statistics have one name for the categories of both kinds (spec: Account data record).
    get(`/v3/app_data/${se}/${name}`, name.replace('app_listings/', ''), ({ nowMs }) => [
      { id: makeId(nowMs, name), code: 20000, data: { api: 'app_data', function: name, se }, result },
    ]),
  )
}

/** What the service as it is sold has beside its specification and its offers. */
const soldEndpoints = (service: Service): Endpoint[] => {
  const { deviations, makeId } = service
  const se = segmentOf('android_store', deviations)
  return [
    get(`/v3/app_data/${se}/locations/:country`, 'locations', ({ country, nowMs }) => {
      const places = listLocations('android_store', deviations)
      const result = places.filter((place) => place.country_iso_code === country.toUpperCase())
      const data = { api: 'app_data', function: 'locations', se, country }
      const said = result.length > 0 ? { code: 20000 as const, result } : invalidField('country')
      return [{ id: makeId(nowMs, 'locations'), ...said, data }]
    }),
    ...STORES.map((store) => {
      const path = `/v3/app_data/${segmentOf(store, deviations)}/app_listings/search/live`
      return post(path, 'app_listings/search/live', ({ body, nowMs }) => [
        searchListings(service, store, requireOne(body), { path, nowMs }),
      ])
    }),
    readyEndpoint(service, '/v3/app_data/tasks_ready', 'tasks_ready'),
  ]
}

const accountEndpoints = (service: Service, webhooks: Webhooks): Endpoint[] => {
  const appendix = (name: string, nowMs: number, result: readonly unknown[]): TaskAnswer[] => [
    { id: service.makeId(nowMs, name), code: 20000, data: { api: 'appendix', function: name }, result },
  ]
  return [
    post('/v3/app_data/errors', 'errors', ({ body, nowMs, origin }) => [
      listFailures({ service, body: requireOne(body), nowMs, origin }),
    ]),
    post('/v3/appendix/webhook_resend', 'webhook_resend', ({ body, nowMs }) =>
      resendWebhooks(service, webhooks, requireTasks(body), nowMs),
    ),
    post(
      '/v3/app_data/id_list',
      'id_list',
      ({ body, nowMs, origin }) => {
        const query = misread(service, requireOne(body))
        return [shorten(service, 'id_list', listIds({ service, body: query, nowMs, origin }))]
      },
      'idLists',
    ),
    get('/v3/appendix/user_data', 'user_data', ({ nowMs }) =>
      appendix('user_data', nowMs, [showUserData(service, nowMs)]),
    ),
    get(
      '/v3/appendix/status',
      'status',
      ({ nowMs }) => {
        const said = service.faults.settings.status
        return appendix('status', nowMs, showStatus(said, webhooks.longestWaitMs(nowMs), service.deviations))
      },
      'status',
    ),
    get('/v3/appendix/errors', 'appendix_errors', ({ nowMs }) => {
      const codes = Object.entries(service.envelope.codes.list)
      return appendix(
        'errors',
        nowMs,
        codes.map(([code, message]) => ({ code: Number(code), message })),
      )
    }),
  ]
}

/** Every endpoint that the service has. */
export const listEndpoints = (service: Service, webhooks: Webhooks): Endpoint[] => [
  ...service.offers.flatMap((offer) => offerEndpoints(service, offer)),
  ...STORES.flatMap((store) => referenceEndpoints(service, store)),
  ...(service.deviations.has('endpoints') ? soldEndpoints(service) : []),
  ...accountEndpoints(service, webhooks),
]
