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

export interface FunctionRule {
  /** Results fetched when a task names no depth; null for a function without depth. */
  readonly defaultDepth: number | null
  /** The most results that a task may ask for; null for a function without depth. */
  readonly maximumDepth: number | null
  /** Results that one unit cost pays for. */
  readonly billingUnitResults: number
  /**
   * Price of one billing unit at normal priority, micro-dollars (spec: rates.price, the same for both
   * stores).
   */
  readonly unitCostMicros: number
  /**
   * Where depth and billing unit come from: the specification, our reading of it, or the service as it is
   * sold, where the specification does not have the function (docs/service.md: depth rules by function).
   */
  readonly source: 'spec' | 'assumed' | 'sold'
}

type Rules = Readonly<Record<ServiceFunction, FunctionRule>>

/**
 * A service in the form of the specification lacks the functions whose source is `sold`, and answers 404
 * there.
 */
export const FUNCTION_RULES: Readonly<Record<Store, Rules>> = {
  ios_store: {
    app_searches: {
      defaultDepth: 100,
      maximumDepth: 700,
      billingUnitResults: 100,
      unitCostMicros: 1200,
      source: 'spec',
    },
    app_info: {
      defaultDepth: null,
      maximumDepth: null,
      billingUnitResults: 1,
      unitCostMicros: 600,
      source: 'assumed',
    },
    app_list: {
      defaultDepth: 100,
      maximumDepth: 1000,
      billingUnitResults: 100,
      unitCostMicros: 1200,
      source: 'sold',
    },
    app_reviews: {
      defaultDepth: 50,
      maximumDepth: 500,
      billingUnitResults: 50,
      unitCostMicros: 750,
      source: 'assumed',
    },
  },
  android_store: {
    app_searches: {
      defaultDepth: 30,
      maximumDepth: 200,
      billingUnitResults: 30,
      unitCostMicros: 1200,
      source: 'assumed',
    },
    app_info: {
      defaultDepth: null,
      maximumDepth: null,
      billingUnitResults: 1,
      unitCostMicros: 600,
      source: 'assumed',
    },
    app_list: {
      defaultDepth: 100,
      maximumDepth: 200,
      billingUnitResults: 100,
      unitCostMicros: 1200,
      source: 'assumed',
    },
    app_reviews: {
      defaultDepth: 150,
      maximumDepth: 100_000,
      billingUnitResults: 150,
      unitCostMicros: 750,
      source: 'sold',
    },
  },
}

/**
 * The order in which each store gives the newest reviews first. Without it both give first what they hold to
 * be the most helpful.
 */
export const NEWEST_FIRST = { ios_store: 'most_recent', android_store: 'newest' } as const

export const REVIEW_ORDERS: Readonly<Record<Store, readonly string[]>> = {
  ios_store: ['most_recent', 'most_helpful'],
  android_store: ['newest', 'most_relevant'],
}

/** For whom the apps of a chart in the category `family` are. */
export const AGE_RATINGS = ['ages_up_to_5', 'ages_6_8', 'ages_9_12'] as const
export type AgeRating = (typeof AGE_RATINGS)[number]

/** The rule of a function in a store; null for a name that a caller in JavaScript made up. */
export function findRule(store: Store, fn: ServiceFunction): FunctionRule | null {
  const rules: Partial<Rules> | undefined = FUNCTION_RULES[store]
  return rules?.[fn] ?? null
}

/** Raw pages exist in android_store only, of every function that it has (spec: Endpoints 3 to 5). */
export function hasForm(store: Store, fn: ServiceFunction, form: ResultForm): boolean {
  return findRule(store, fn) !== null && (form === 'advanced' || store === 'android_store')
}

/**
 * Units that a number of results is billed as: rounded up, at least one (a task that finds nothing
 * still costs one unit). Takes a depth for an estimate, a count of results for the charge after refund.
 */
export function billingUnits(store: Store, fn: ServiceFunction, resultsCount: number): number {
  const rule = findRule(store, fn)
  if (rule === null || rule.defaultDepth === null) return 1
  return Math.max(1, Math.ceil(resultsCount / rule.billingUnitResults))
}
