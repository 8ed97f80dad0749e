/**
 * Prices of one billing unit, by which money is reserved and forecast. The view `unit_price` makes them of
 * the account's own price list, the unit costs of the specification (spec: rates.price), and what the service
 * really charged last. `task_price` multiplies them by the depth.
 */
import type { SqlRunner } from '../db/database.ts'
import type { ServiceFunction, Store } from '../service/functions.ts'

export interface Price {
  readonly store: Store
  readonly function: ServiceFunction
  readonly billingUnitResults: number
  /** Micro-dollars per billing unit at priority 1 and 2. */
  readonly normalMicros: number
  readonly highMicros: number
}

/** The rows of `account_usage.prices`. */
export type AccountPrices = { function: string; normalMicros: number | null; highMicros: number | null }[]

/** The prices that are reserved now, one for each store and function that it has. */
export async function readPrices(db: SqlRunner): Promise<Price[]> {
  return db<Price[]>`
    select store, function, unit_results as "billingUnitResults", max(unit_micros)
      filter (where priority = 1) as "normalMicros",
      max(unit_micros) filter (where priority = 2) as "highMicros"
    from unit_price group by 1, 2, 3`
}
