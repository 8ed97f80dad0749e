/** What the service offers: stores, functions, the depth that each may be asked for, and the forms of its results. */

export const STORES = ['ios_store', 'android_store'] as const
export type Store = (typeof STORES)[number]

export type TaskFunction = 'app_searches' | 'app_info' | 'app_list' | 'app_reviews'

/** A result is structured, or the raw pages of the store. */
export type Form = 'advanced' | 'html'

/** How many results a task may ask for: the default, the maximum, and how many are billed together. */
type DepthRule = { default: number; max: number; billedPer: number }

/** An offer without a depth rule gives one result. */
export type Offer = {
  store: Store
  function: TaskFunction
  seType: string
  forms: readonly Form[]
  depth?: DepthRule
}

/** Every kind of task that the service sells (docs/service.md: depth rules by function). */
export const OFFERS: readonly Offer[] = [
  {
    store: 'ios_store',
    function: 'app_searches',
    seType: 'organic',
    forms: ['advanced'],
    depth: { default: 100, max: 700, billedPer: 100 },
  },
  {
    store: 'android_store',
    function: 'app_searches',
    seType: 'organic',
    forms: ['advanced', 'html'],
    depth: { default: 30, max: 200, billedPer: 30 },
  },
  { store: 'ios_store', function: 'app_info', seType: 'app_info', forms: ['advanced'] },
  { store: 'android_store', function: 'app_info', seType: 'app_info', forms: ['advanced', 'html'] },
  {
    store: 'android_store',
    function: 'app_list',
    seType: 'app_list',
    forms: ['advanced', 'html'],
    depth: { default: 100, max: 200, billedPer: 100 },
  },
  {
    store: 'ios_store',
    function: 'app_reviews',
    seType: 'app_reviews',
    forms: ['advanced'],
    depth: { default: 50, max: 500, billedPer: 50 },
  },
]

/** The offers of a service that gives app_searches and app_list of android_store as html only (spec: Endpoints). */
export const HTML_ONLY_OFFERS: readonly Offer[] = OFFERS.map((offer) =>
  offer.store === 'android_store' && offer.function !== 'app_info' ? { ...offer, forms: ['html'] } : offer,
)

const offers = new Map(OFFERS.map((offer) => [`${offer.store}/${offer.function}`, offer]))

/** Finds the offer of a task that exists. */
export const findOffer = (store: Store, taskFunction: TaskFunction): Offer => {
  const offer = offers.get(`${store}/${taskFunction}`)
  if (!offer) throw new Error(`No offer for ${store}/${taskFunction}`)
  return offer
}

/** Where the result of a task is fetched. */
export const resultPath = (task: { id: string; store: Store; function: TaskFunction }, form: Form): string =>
  `/v3/app_data/${task.store}/${task.function}/task_get/${form}/${task.id}`
