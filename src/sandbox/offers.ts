/** What the service offers: stores, functions, forms of results, depths, prices and limits. */

import type { Deviations } from './deviations.ts'

export const STORES = ['ios_store', 'android_store'] as const
export type Store = (typeof STORES)[number]

/** What a billing unit of a posted task costs (spec: Account data record); high priority costs double. */
export const UNIT_MICROS = { app_info: 600, app_list: 1200, app_searches: 1200, app_reviews: 750 }
export type TaskFunction = keyof typeof UNIT_MICROS
export type Priority = 1 | 2

/** The search in listings, as it is sold: for the call, and for each result. */
export const LISTING_PRICES_MICROS = { perRequest: 10_000, perResult: 100 }

/** A result is structured, or the raw pages of the store. */
export type Form = 'advanced' | 'html'

/** A kind of task. */
export type Offer = ReturnType<typeof listOffers>[number]

/** What a result says that it is of; in the specification it is the search type of the task as well. */
export const resultTypeOf = (taskFunction: string): string =>
  taskFunction === 'app_searches' ? 'organic' : taskFunction

export const segmentOf = (store: Store, deviations: Deviations): string =>
  deviations.has('paths') ? { ios_store: 'apple', android_store: 'google' }[store] : store

/** The search type of a function. */
export const seTypeOf = (taskFunction: TaskFunction, deviations: Deviations): string =>
  deviations.has('types') ? 'organic' : resultTypeOf(taskFunction)

/**
 * What a service sells (docs/service.md: depth rules by function). With `htmlOnly`, searches and charts of
 * android_store come as html only (spec: Endpoints).
 */
export const listOffers = (deviations: Deviations, htmlOnly: boolean) => {
  const offer = (store: Store, fn: TaskFunction, unit?: number, max = 0) => {
    const androidForms: Form[] = htmlOnly && fn !== 'app_info' ? ['html'] : ['advanced', 'html']
    const forms: readonly Form[] = store === 'ios_store' ? ['advanced'] : androidForms
    return {
      store,
      /** The name of the store in paths and in `se`. */
      segment: segmentOf(store, deviations),
      function: fn,
      seType: seTypeOf(fn, deviations),
      forms,
      /** `unit` results are the default, and billed together. A task without a depth gives one result. */
      depth: unit === undefined ? undefined : { unit, max },
    }
  }
  return [
    offer('ios_store', 'app_searches', 100, 700),
    offer('android_store', 'app_searches', 30, 200),
    offer('ios_store', 'app_info'),
    offer('android_store', 'app_info'),
    offer('android_store', 'app_list', 100, 200),
    offer('ios_store', 'app_reviews', deviations.has('units') ? 25 : 50, 500),
    ...(deviations.has('endpoints')
      ? [offer('ios_store', 'app_list', 100, 1000), offer('android_store', 'app_reviews', 150, 100_000)]
      : []),
  ]
}

/** Finds the offer that a task is of. */
export const findOffer = (offers: readonly Offer[], task: { store: Store; function: string }): Offer => {
  const offer = offers.find((each) => each.store === task.store && each.function === task.function)
  if (!offer) throw new Error(`No offer for ${task.store}/${task.function}`)
  return offer
}

/** What the paths of an offer begin with. */
export const basePath = (offer: Offer): string => `/v3/app_data/${offer.segment}/${offer.function}`

/** Where its tasks are posted. */
export const postPath = (offer: Offer): string => `${basePath(offer)}/task_post`

/** Where the result of a task is fetched. */
export const resultPath = (offer: Offer, id: string, form: Form): string =>
  `${basePath(offer)}/task_get/${form}/${id}`

/** Micro-dollars as the floating dollars of the wire. */
export const toUsd = (micros: number): number => micros / 1_000_000

/** What a task costs for a number of results, which is never less than one billing unit. */
export const priceTaskMicros = (offer: Offer, priority: Priority, results: number): number =>
  Math.max(1, Math.ceil(results / (offer.depth?.unit ?? 1))) * UNIT_MICROS[offer.function] * priority

// The limits that no option changes (spec: Limits; docs/service.md: Open points).

/** Tasks in one POST; those beyond it are refused with 40006. */
export const MAX_TASKS_PER_POST = 100
export const MAX_KEYWORD_CHARACTERS = 700
export const MAX_TAG_CHARACTERS = 255
/** Ids in one webhook resend; those beyond it are refused with 40006. */
export const MAX_IDS_PER_RESEND = 100
/** Rows of one ready list, one id list and one list of failed tasks. */
export const MAX_ROWS = 1000
/** The ready list tells of tasks of this many days. */
export const READY_LIST_DAYS = 3
/** Results stay for this many days after completion, by form. */
export const RETENTION_DAYS = { advanced: 30, html: 7 } as const
/** Bytes of a request body: 100 tasks with every field at its limit fit. */
export const MAX_BODY_BYTES = 4_000_000
