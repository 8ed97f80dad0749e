/**
 * What the service offers: stores, functions, the depth that each may be asked for, and the forms of its
 * results.
 */

import type { Deviations } from './deviations.ts'

export const STORES = ['ios_store', 'android_store'] as const
export type Store = (typeof STORES)[number]

export type TaskFunction = 'app_searches' | 'app_info' | 'app_list' | 'app_reviews'

/** A result is structured, or the raw pages of the store. */
export type Form = 'advanced' | 'html'

/** How many results a task may ask for: the default, the maximum, and how many are billed together. */
type DepthRule = { default: number; max: number; billedPer: number }

/**
 * What a result says that it is of, by function; in the specification it is the search type of the task as
 * well.
 */
export const RESULT_TYPES: Record<TaskFunction, string> = {
  app_searches: 'organic',
  app_info: 'app_info',
  app_list: 'app_list',
  app_reviews: 'app_reviews',
}

/**
 * An offer without a depth rule gives one result. `segment` is the name of its store in paths and in `se`.
 */
export type Offer = {
  store: Store
  segment: string
  function: TaskFunction
  seType: string
  forms: readonly Form[]
  depth?: DepthRule
}

/** The same in every form of the service. */
type Kind = Pick<Offer, 'store' | 'function' | 'forms' | 'depth'>

/** The ios_store has no raw pages. */
const kind = (store: Store, fn: TaskFunction, depth?: DepthRule): Kind => ({
  store,
  function: fn,
  forms: store === 'ios_store' ? ['advanced'] : ['advanced', 'html'],
  ...(depth && { depth }),
})

/** Every kind of task that the specification has (docs/service.md: depth rules by function). */
const SPECIFIED: readonly Kind[] = [
  kind('ios_store', 'app_searches', { default: 100, max: 700, billedPer: 100 }),
  kind('android_store', 'app_searches', { default: 30, max: 200, billedPer: 30 }),
  kind('ios_store', 'app_info'),
  kind('android_store', 'app_info'),
  kind('android_store', 'app_list', { default: 100, max: 200, billedPer: 100 }),
  kind('ios_store', 'app_reviews', { default: 50, max: 500, billedPer: 50 }),
]

/** Kinds that the service as it is sold has beside them. */
const SOLD_BESIDE: readonly Kind[] = [
  kind('ios_store', 'app_list', { default: 100, max: 1000, billedPer: 100 }),
  kind('android_store', 'app_reviews', { default: 150, max: 100_000, billedPer: 150 }),
]

const SOLD_IOS_REVIEWS: DepthRule = { default: 25, max: 500, billedPer: 25 }

/** The name of a store in paths and in `se`. */
export const segmentOf = (store: Store, deviations: Deviations): string => {
  if (!deviations.has('paths')) return store
  return store === 'ios_store' ? 'apple' : 'google'
}

/** The search type of a function. */
export const seTypeOf = (taskFunction: TaskFunction, deviations: Deviations): string =>
  deviations.has('types') ? 'organic' : RESULT_TYPES[taskFunction]

/**
 * What a service sells. With `htmlOnly`, searches and charts of android_store come as html only (spec:
 * Endpoints).
 */
export const listOffers = (deviations: Deviations, htmlOnly = false): Offer[] =>
  [...SPECIFIED, ...(deviations.has('endpoints') ? SOLD_BESIDE : [])].map((kind) => {
    const isHtmlOnly = htmlOnly && kind.store === 'android_store' && kind.function !== 'app_info'
    const isIosReviews = kind.store === 'ios_store' && kind.function === 'app_reviews'
    return {
      ...kind,
      segment: segmentOf(kind.store, deviations),
      seType: seTypeOf(kind.function, deviations),
      ...(isHtmlOnly && { forms: ['html'] }),
      ...(isIosReviews && deviations.has('units') && { depth: SOLD_IOS_REVIEWS }),
    }
  })

/** Finds the offer that a task is of. */
export const findOffer = (offers: readonly Offer[], task: { store: Store; function: string }): Offer => {
  const offer = offers.find((each) => each.store === task.store && each.function === task.function)
  if (!offer) throw new Error(`No offer for ${task.store}/${task.function}`)
  return offer
}

/** What the paths of an offer begin with. */
export const basePath = (offer: Pick<Offer, 'segment' | 'function'>): string =>
  `/v3/app_data/${offer.segment}/${offer.function}`

/** Where its tasks are posted. */
export const postPath = (offer: Pick<Offer, 'segment' | 'function'>): string => `${basePath(offer)}/task_post`

/** Where the result of a task is fetched. */
export const resultPath = (offer: Offer, id: string, form: Form): string =>
  `${basePath(offer)}/task_get/${form}/${id}`
