/**
 * What each paid function of the service allows and costs: the one place of depths, billing units and
 * the prices that hold until the account's own price list is known.
 */

export type Store = 'ios_store' | 'android_store'
export type TaskFunction = 'app_searches' | 'app_info'
/** 1 normal, 2 high: twice the price (spec: Task posting; rates.price). */
export type Priority = 1 | 2

export interface FunctionRule {
  /** Results fetched when a task names no depth; null for a function without depth. */
  readonly defaultDepth: number | null
  readonly maximumDepth: number | null
  /** Results that one unit cost pays for. */
  readonly billingUnitResults: number
  /** Price of one billing unit at normal priority, micro-dollars (spec: rates.price, the same for both stores). */
  readonly unitCostMicros: number
  /** Where depth and billing unit come from: the specification, or our reading of it (SERVICE-NOTES: depth rules). */
  readonly source: 'spec' | 'assumed'
}

export const FUNCTION_RULES: Readonly<Record<Store, Readonly<Record<TaskFunction, FunctionRule>>>> = {
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
  },
}

/**
 * Units that a number of results is billed as: rounded up, at least one (a task that finds nothing
 * still costs one unit). Takes a depth for an estimate, a count of results for the charge after refund.
 */
export function billingUnits(store: Store, fn: TaskFunction, resultsCount: number): number {
  const rule = FUNCTION_RULES[store][fn]
  if (rule.defaultDepth === null) return 1
  return Math.max(1, Math.ceil(resultsCount / rule.billingUnitResults))
}
