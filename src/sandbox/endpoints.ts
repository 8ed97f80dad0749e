/** The endpoints of the service: one row each, with what it answers. The server adds HTTP and the limits. */

import { randomUUID } from 'node:crypto'
import type { Account } from './account.ts'
import type { Calls, WindowName } from './calls.ts'
import { CATEGORIES, LISTING_CATEGORIES } from './categories.ts'
import { type Code, MESSAGES } from './codes.ts'
import type { TaskAnswer } from './envelope.ts'
import { listFailures } from './failures.ts'
import type { Faults } from './faults.ts'
import { fetchTask, listReady } from './fetching.ts'
import { listIds } from './id-list.ts'
import { LANGUAGES } from './languages.ts'
import { LOCATIONS } from './locations.ts'
import { type Offer, STORES, type Store } from './offers.ts'
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
}

/** One call that was let through: `id` from the path, `body` read from JSON. */
type Call = { id: string; body: unknown; nowMs: number }

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
    super(MESSAGES[code])
    this.code = code
  }
}

const requireTasks = (body: unknown): readonly unknown[] => {
  if (!Array.isArray(body)) throw new Refusal(40500)
  if (body.length === 0) throw new Refusal(40502)
  return body
}

/** Endpoints that take one object take it bare, or as the only element of an array (spec: Endpoints says both). */
const requireOne = (body: unknown): unknown => {
  if (isRecord(body)) return body
  if (Array.isArray(body) && body.length > 1) throw new Refusal(40000)
  return requireTasks(body)[0]
}

const list = (data: Record<string, unknown>, result: readonly unknown[]): TaskAnswer[] => [
  { id: randomUUID(), code: 20000, data, result },
]

const offerEndpoints = (service: Service, offer: Offer): Endpoint[] => {
  const base = `/v3/app_data/${offer.store}/${offer.function}`
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

const referenceEndpoints = (store: Store): Endpoint[] => {
  const records: Record<string, readonly unknown[]> = {
    languages: LANGUAGES,
    locations: LOCATIONS[store],
    categories: [{ categories: CATEGORIES[store] }],
    ...(store === 'android_store' && { 'app_listings/categories': LISTING_CATEGORIES }),
  }
  return Object.entries(records).map(([name, result]) => ({
    method: 'GET',
    path: `/v3/app_data/${store}/${name}`,
    // The statistics have one name for the categories of both kinds (spec: Account data record).
    countAs: name.split('/').at(-1) ?? name,
    answer: () => list({ api: 'app_data', function: name, se: store }, result),
  }))
}

const webhookEndpoints = (service: Service): Endpoint[] => [
  {
    method: 'POST',
    path: '/v3/app_data/errors',
    countAs: 'errors',
    answer: ({ body, nowMs }) => [listFailures(service, requireOne(body), nowMs)],
  },
  {
    method: 'POST',
    path: '/v3/appendix/webhook_resend',
    countAs: 'webhook_resend',
    answer: ({ body, nowMs }) => resendWebhooks(service, requireTasks(body), nowMs),
  },
]

const accountEndpoints = ({ login, tasks, account, calls, faults, webhooks }: Service): Endpoint[] => [
  {
    method: 'POST',
    path: '/v3/app_data/id_list',
    countAs: 'id_list',
    window: 'idLists',
    answer: ({ body, nowMs }) => [listIds(tasks, requireOne(body), nowMs)],
  },
  {
    method: 'GET',
    path: '/v3/appendix/user_data',
    countAs: 'user_data',
    answer: ({ nowMs }) =>
      list({ api: 'appendix', function: 'user_data' }, [showUserData(login, calls, account, nowMs)]),
  },
  {
    method: 'GET',
    path: '/v3/appendix/status',
    countAs: 'status',
    window: 'status',
    answer: ({ nowMs }) =>
      list(
        { api: 'appendix', function: 'status' },
        showStatus(faults.settings.status, webhooks.longestWaitMs(nowMs)),
      ),
  },
  {
    method: 'GET',
    path: '/v3/appendix/errors',
    countAs: 'appendix_errors',
    answer: () =>
      list(
        { api: 'appendix', function: 'errors' },
        Object.entries(MESSAGES).map(([code, message]) => ({ code: Number(code), message })),
      ),
  },
]

/** Every endpoint that the service has. */
export const listEndpoints = (service: Service): Endpoint[] => [
  ...service.offers.flatMap((offer) => offerEndpoints(service, offer)),
  ...STORES.flatMap(referenceEndpoints),
  ...webhookEndpoints(service),
  ...accountEndpoints(service),
]
