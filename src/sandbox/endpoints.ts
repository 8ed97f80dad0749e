/** The endpoints of the service: one row each, with what it answers. The server adds HTTP and the limits. */

import type { Account } from './account.ts'
import type { Calls, WindowName } from './calls.ts'
import { CATEGORIES, LISTING_CATEGORIES } from './categories.ts'
import type { Code } from './codes.ts'
import type { Deviations } from './deviations.ts'
import type { Envelope, TaskAnswer } from './envelope.ts'
import { listFailures } from './failures.ts'
import type { Faults } from './faults.ts'
import { fetchTask, listReady } from './fetching.ts'
import { listIds } from './id-list.ts'
import type { MakeId } from './ids.ts'
import { listLanguages } from './languages.ts'
import { searchListings } from './listings.ts'
import { listLocations } from './locations.ts'
import { basePath, type Offer, STORES, type Store, segmentOf } from './offers.ts'
import { buildTaskTaker, isRecord } from './posting.ts'
import { resendWebhooks } from './resending.ts'
import type { Answers } from './results.ts'
import { showStatus } from './status.ts'
import type { Tasks } from './tasks.ts'
import { showUserData } from './user-data.ts'
import type { Webhooks } from './webhooks.ts'

/** All that the endpoints work on. */
export type Service = {
  login: string
  readyMs: number
  offers: readonly Offer[]
  answers: Answers
  account: Account
  tasks: Tasks
  calls: Calls
  faults: Faults
  webhooks: Webhooks
  deviations: Deviations
  envelope: Envelope
  makeId: MakeId
}

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

const offerEndpoints = (service: Service, offer: Offer): Endpoint[] => {
  const base = basePath(offer)
  const takeTasks = buildTaskTaker(offer, service)
  return [
    {
      method: 'POST',
      path: `${base}/task_post`,
      countAs: `${offer.function}/task_post`,
      answer: ({ body, nowMs }) => takeTasks(requireTasks(body), nowMs),
    },
    {
      method: 'GET',
      path: `${base}/tasks_ready`,
      countAs: `${offer.function}/tasks_ready`,
      window: 'readyLists',
      answer: ({ nowMs }) => [listReady(service, offer, `${base}/tasks_ready`, nowMs)],
    },
    ...offer.forms.map(
      (form): Endpoint => ({
        method: 'GET',
        path: `${base}/task_get/${form}/:id`,
        countAs: `${offer.function}/task_get/${form}`,
        answer: ({ id, nowMs }) => [fetchTask(service, offer, form, id, nowMs)],
      }),
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
  return Object.entries(records).map(([name, result]) => ({
    method: 'GET',
    path: `/v3/app_data/${segment}/${name}`,
    // The statistics have one name for the categories of both kinds (spec: Account data record).
    countAs: name.split('/').at(-1) ?? name,
    answer: ({ nowMs }) =>
      list(makeId(nowMs, name), { api: 'app_data', function: name, se: segment }, result),
  }))
}

/** The locations of one country, by its letters. */
const countryEndpoint = ({ deviations, makeId }: Service): Endpoint => {
  const segment = segmentOf('android_store', deviations)
  return {
    method: 'GET',
    path: `/v3/app_data/${segment}/locations/:country`,
    countAs: 'locations',
    answer: ({ country, nowMs }) => {
      const places = listLocations('android_store', deviations)
      const found = places.filter((place) => place.country_iso_code === country.toUpperCase())
      const id = makeId(nowMs, 'locations')
      const data = { api: 'app_data', function: 'locations', se: segment, country }
      if (found.length > 0) return list(id, data, found)
      return [{ id, code: 40501, message: "Invalid Field: 'country'.", data, result: null }]
    },
  }
}

const listingEndpoint = (service: Service, store: Store): Endpoint => {
  const path = `/v3/app_data/${segmentOf(store, service.deviations)}/app_listings/search/live`
  return {
    method: 'POST',
    path,
    countAs: 'app_listings/search/live',
    answer: ({ body, nowMs }) => [searchListings(service, store, requireOne(body), { path, nowMs })],
  }
}

/** What the service as it is sold has beside its specification and its offers. */
const soldEndpoints = (service: Service): Endpoint[] => [
  countryEndpoint(service),
  ...STORES.map((store) => listingEndpoint(service, store)),
  {
    method: 'GET',
    path: '/v3/app_data/tasks_ready',
    countAs: 'tasks_ready',
    window: 'readyLists',
    answer: ({ nowMs }) => [listReady(service, undefined, '/v3/app_data/tasks_ready', nowMs)],
  },
]

const webhookEndpoints = (service: Service): Endpoint[] => [
  {
    method: 'POST',
    path: '/v3/app_data/errors',
    countAs: 'errors',
    answer: ({ body, nowMs, origin }) => [listFailures({ ...service, origin }, requireOne(body), nowMs)],
  },
  {
    method: 'POST',
    path: '/v3/appendix/webhook_resend',
    countAs: 'webhook_resend',
    answer: ({ body, nowMs }) => resendWebhooks(service, requireTasks(body), nowMs),
  },
]

const listAppendix = (service: Service, name: string, nowMs: number, result: readonly unknown[]) =>
  list(service.makeId(nowMs, name), { api: 'appendix', function: name }, result)

const sayStatus = ({ faults, webhooks, deviations }: Service, nowMs: number) =>
  showStatus(faults.settings.status, webhooks.longestWaitMs(nowMs), deviations)

const accountEndpoints = (service: Service): Endpoint[] => [
  {
    method: 'POST',
    path: '/v3/app_data/id_list',
    countAs: 'id_list',
    window: 'idLists',
    answer: ({ body, nowMs, origin }) => [listIds({ ...service, origin }, requireOne(body), nowMs)],
  },
  {
    method: 'GET',
    path: '/v3/appendix/user_data',
    countAs: 'user_data',
    answer: ({ nowMs }) => listAppendix(service, 'user_data', nowMs, [showUserData(service, nowMs)]),
  },
  {
    method: 'GET',
    path: '/v3/appendix/status',
    countAs: 'status',
    window: 'status',
    answer: ({ nowMs }) => listAppendix(service, 'status', nowMs, sayStatus(service, nowMs)),
  },
  {
    method: 'GET',
    path: '/v3/appendix/errors',
    countAs: 'appendix_errors',
    answer: ({ nowMs }) => {
      const codes = Object.entries(service.envelope.codes.list)
      const records = codes.map(([code, message]) => ({ code: Number(code), message }))
      return listAppendix(service, 'errors', nowMs, records)
    },
  },
]

/** Every endpoint that the service has. */
export const listEndpoints = (service: Service): Endpoint[] => [
  ...service.offers.flatMap((offer) => offerEndpoints(service, offer)),
  ...STORES.flatMap((store) => referenceEndpoints(service, store)),
  ...(service.deviations.has('endpoints') ? soldEndpoints(service) : []),
  ...webhookEndpoints(service),
  ...accountEndpoints(service),
]
