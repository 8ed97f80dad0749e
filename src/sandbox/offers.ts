/** What the service offers: stores, functions, and the depth that each may be asked for. */

export const STORES = ['ios_store', 'android_store'] as const
export type Store = (typeof STORES)[number]

export const FUNCTIONS = ['app_searches', 'app_info'] as const
export type TaskFunction = (typeof FUNCTIONS)[number]

/** How many results a task may ask for: the default, the maximum, and how many are billed together. */
export type DepthRule = { default: number; max: number; billedPer: number }

/** An offer without a depth rule gives one result. */
export type Offer = { store: Store; function: TaskFunction; seType: string; depth?: DepthRule }

/** Every kind of task that the service sells. */
export const OFFERS: readonly Offer[] = [
  {
    store: 'ios_store',
    function: 'app_searches',
    seType: 'organic',
    depth: { default: 100, max: 700, billedPer: 100 },
  },
  {
    store: 'android_store',
    function: 'app_searches',
    seType: 'organic',
    depth: { default: 30, max: 200, billedPer: 30 },
  },
  { store: 'ios_store', function: 'app_info', seType: 'app_info' },
  { store: 'android_store', function: 'app_info', seType: 'app_info' },
]

const offers = new Map(OFFERS.map((offer) => [`${offer.store}/${offer.function}`, offer]))

/** Finds the offer of a task that exists. */
export const findOffer = (store: Store, taskFunction: TaskFunction): Offer => {
  const offer = offers.get(`${store}/${taskFunction}`)
  if (!offer) throw new Error(`No offer for ${store}/${taskFunction}`)
  return offer
}
