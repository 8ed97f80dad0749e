/**
 * What each paid function of the service allows and costs: depths, billing units, and the prices of the
 * specification, below which no price is reserved.
 */

export type Store = 'ios_store' | 'android_store'
/** All functions of which tasks are posted. Both stores have each of them. */
export const SERVICE_FUNCTIONS = ['app_searches', 'app_info', 'app_list', 'app_reviews'] as const
export type ServiceFunction = (typeof SERVICE_FUNCTIONS)[number]
/** The search in listings, which is paid for and answered at once: no task of it is posted. */
export const LISTING_SEARCH = 'app_listings'
/** Structured, or the store's raw pages. */
export type ResultForm = 'advanced' | 'html'
/** 1 normal, 2 high: twice the price (spec: Task posting; rates.price). */
export type Priority = 1 | 2

export type FunctionRule = ReturnType<typeof rule>

/**
 * @param source where depth and billing unit come from: the specification, our reading of it, or the service
 *   as it is sold, where the specification does not have the function (docs/service.md: depth rules by
 *   function). A service in the form of the specification answers 404 for what is sold alone
 */
function rule(
  source: 'spec' | 'assumed' | 'sold',
  unitCostMicros: number,
  billingUnitResults: number,
  [defaultDepth, maximumDepth]: readonly [number, number] | readonly [null, null] = [null, null],
) {
  return {
    /** Results fetched when a task names no depth; null for a function without depth. */
    defaultDepth,
    /** The most results that a task may ask for; null for a function without depth. */
    maximumDepth,
    /** Results that one unit cost pays for. */
    billingUnitResults,
    /** Price of one billing unit at normal priority, micro-dollars (docs/service.md: rates.price). */
    unitCostMicros,
    source,
  }
}

type Rules = Readonly<Record<ServiceFunction, FunctionRule>>

export const FUNCTION_RULES: Readonly<Record<Store, Rules>> = {
  ios_store: {
    app_searches: rule('spec', 1200, 100, [100, 700]),
    app_info: rule('assumed', 600, 1),
    app_list: rule('sold', 1200, 100, [100, 1000]),
    app_reviews: rule('assumed', 750, 50, [50, 500]),
  },
  android_store: {
    app_searches: rule('assumed', 1200, 30, [30, 200]),
    app_info: rule('assumed', 600, 1),
    app_list: rule('assumed', 1200, 100, [100, 200]),
    app_reviews: rule('sold', 750, 150, [150, 100_000]),
  },
}

/** The order that gives the newest reviews first; without one the most helpful come first. */
export const NEWEST_FIRST = { ios_store: 'most_recent', android_store: 'newest' } as const

export const REVIEW_ORDERS: Readonly<Record<Store, readonly string[]>> = {
  ios_store: [NEWEST_FIRST.ios_store, 'most_helpful'],
  android_store: [NEWEST_FIRST.android_store, 'most_relevant'],
}

/** For whom the apps of a chart in the category `family` are. */
export const AGE_RATINGS = ['ages_up_to_5', 'ages_6_8', 'ages_9_12'] as const
export type AgeRating = (typeof AGE_RATINGS)[number]

/** The rule of a function in a store; null for a name that a caller in JavaScript made up. */
export function findRule(store: Store, fn: ServiceFunction): FunctionRule | null {
  return (FUNCTION_RULES[store] as Partial<Rules> | undefined)?.[fn] ?? null
}

/** Raw pages exist in android_store only, of every function that it has (spec: Endpoints 3 to 5). */
export function hasForm(store: Store, fn: ServiceFunction, form: ResultForm): boolean {
  return findRule(store, fn) !== null && (form === 'advanced' || store === 'android_store')
}

/**
 * Units that a number of results is billed as, at least one: a task that finds nothing costs one.
 * @param resultsCount a depth for an estimate, a count of results for the charge after refund
 */
export function billingUnits(store: Store, fn: ServiceFunction, resultsCount: number): number {
  const rule = findRule(store, fn)
  if (rule === null || rule.defaultDepth === null) return 1
  return Math.max(1, Math.ceil(resultsCount / rule.billingUnitResults))
}
