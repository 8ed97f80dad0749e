/** The endpoints of the service: one row each, with what it answers. The server adds HTTP and the limits. */

import type { WindowName } from './account.ts'
import { type Code, invalidField, isRecord, type TaskAnswer } from './envelope.ts'
import { fetchTask, listReady } from './fetching.ts'
import { searchListings } from './listings.ts'
import { listFailures, listIds } from './lists.ts'
import { basePath, type Offer, STORES, type Store, segmentOf } from './offers.ts'
import { buildTaskTaker } from './posting.ts'
import { CATEGORIES, listLanguages, listListingCategories, placesOf } from './reference.ts'
import type { Service } from './service.ts'
import { showStatus, showUserData } from './user-data.ts'
import { resendWebhooks, type Webhooks } from './webhooks.ts'

/** One call: parameters of the path, `body` read from JSON, and the address that was called. */
type Call = { id: string; country: string; body: unknown; nowMs: number; origin: string }
type Answer = (call: Call) => TaskAnswer[]
/** `countAs` is its name in the statistics, `window` the limit that it has beside that of all calls. */
export type Endpoint = {
  method: 'GET' | 'POST'
  path: string
  countAs: string
  window: WindowName | undefined
  answer: Answer
}

const row =
  (method: Endpoint['method']) =>
  (path: string, countAs: string, answer: Answer, window?: WindowName): Endpoint => {
    return { method, path, countAs, answer, window }
  }
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
    locations: placesOf(store, deviations).list,
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
      const { list } = placesOf('android_store', deviations)
      const result = list.filter((place) => place.country_iso_code === country.toUpperCase())
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
  const { deviations, envelope, faults, makeId } = service
  const appendix = (name: string, list: (nowMs: number) => readonly unknown[], countAs = name) =>
    get(
      `/v3/appendix/${name}`,
      countAs,
      ({ nowMs }) => {
        const data = { api: 'appendix', function: name }
        return [{ id: makeId(nowMs, name), code: 20000, data, result: list(nowMs) }]
      },
      name === 'status' ? 'status' : undefined,
    )
  const listCodes = () =>
    Object.entries(envelope.codes.list).map(([code, message]) => ({ code: Number(code), message }))
  return [
    post('/v3/app_data/errors', 'errors', ({ body, ...call }) => [
      listFailures({ ...call, service, body: requireOne(body) }),
    ]),
    post('/v3/appendix/webhook_resend', 'webhook_resend', ({ body, nowMs }) =>
      resendWebhooks(service, webhooks, requireTasks(body), nowMs),
    ),
    post(
      '/v3/app_data/id_list',
      'id_list',
      ({ body, ...call }) => {
        const query = misread(service, requireOne(body))
        return [shorten(service, 'id_list', listIds({ ...call, service, body: query }))]
      },
      'idLists',
    ),
    appendix('user_data', (nowMs) => [showUserData(service, nowMs)]),
    appendix('status', (nowMs) =>
      showStatus(faults.settings.status, webhooks.longestWaitMs(nowMs), deviations),
    ),
    appendix('errors', listCodes, 'appendix_errors'),
  ]
}

/** Every endpoint that the service has. */
export const listEndpoints = (service: Service, webhooks: Webhooks): Endpoint[] => [
  ...service.offers.flatMap((offer) => offerEndpoints(service, offer)),
  ...STORES.flatMap((store) => referenceEndpoints(service, store)),
  ...(service.deviations.has('endpoints') ? soldEndpoints(service) : []),
  ...accountEndpoints(service, webhooks),
]
