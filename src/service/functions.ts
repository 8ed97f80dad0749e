/**
 * What each paid function of the service allows and costs: depths, billing units, and the prices of the specification, below which no
 * price is reserved.
 */

export type Store = 'ios_store' | 'android_store'
/** All that the service sells; which store has it, `FUNCTION_RULES` says. */
export const SERVICE_FUNCTIONS = ['app_searches', 'app_info', 'app_list', 'app_reviews'] as const
export type ServiceFunction = (typeof SERVICE_FUNCTIONS)[number]
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
  /** Price of one billing unit at normal priority, micro-dollars (spec: rates.price, the same for both stores). */
  readonly unitCostMicros: number
  /** Where depth and billing unit come from: the specification, or our reading of it (docs/service.md: depth rules by function). */
  readonly source: 'spec' | 'assumed'
}

type Rules<Fn extends ServiceFunction> = Readonly<Record<Fn, FunctionRule>>

/** A function that a store lacks has no row there (spec: Endpoints). */
export const FUNCTION_RULES: {
  readonly ios_store: Rules<'app_searches' | 'app_info' | 'app_reviews'>
  readonly android_store: Rules<'app_searches' | 'app_info' | 'app_list'>
} = {
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
  },
}

/** The rule of a function in a store; null when the store does not have it. */
export function findRule(store: Store, fn: ServiceFunction): FunctionRule | null {
  // A caller in JavaScript may name a store that there is not.
  const rules: Partial<Rules<ServiceFunction>> | undefined = FUNCTION_RULES[store]
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
