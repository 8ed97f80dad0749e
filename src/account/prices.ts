/**
 * Prices of one billing unit, by which money is reserved: from the account's own price list, the unit costs of the
 * specification (spec: rates.price), and what the service really charged last. `task_price` multiplies them by the depth.
 */
import { z } from 'zod'
import type { SqlRunner } from '../db/database.ts'
import { FUNCTION_RULES, type FunctionRule, type ServiceFunction, type Store } from '../service/functions.ts'

export interface Price {
  readonly store: Store
  readonly function: ServiceFunction
  readonly billingUnitResults: number
  /** Micro-dollars per billing unit at priority 1 and 2. */
  readonly normalMicros: number
  readonly highMicros: number
}

/** The rows of `account_usage.prices`. */
export const accountPrices = z.array(
  z.object({
    function: z.string(),
    normalMicros: z.number().int().nonnegative().nullable(),
    highMicros: z.number().int().nonnegative().nullable(),
  }),
)
export type AccountPrices = z.infer<typeof accountPrices>

/** High priority doubles the price (spec: rates.price). */
const HIGH_PRIORITY_FACTOR = 2

/** What the service charged for a billing unit last: a row of `charged_price`. */
export interface ChargedPrice {
  readonly store: string
  readonly function: string
  readonly priority: number
  readonly unitMicros: number
}

/** The prices that are reserved now, one for each store and function that it has. */
export async function readPrices(sql: SqlRunner): Promise<Price[]> {
  const [latest] = await sql<{ prices: unknown; charged: ChargedPrice[] }[]>`
    select (select prices from account_usage order by fetched_at desc limit 1) as prices, coalesce((
      select jsonb_agg(jsonb_build_object('store', store, 'function', function, 'priority', priority, 'unitMicros', unit_micros))
      from charged_price), '[]') as charged`
  return priceList(accountPrices.parse(latest?.prices ?? []), latest?.charged ?? [])
}

/**
 * Pure: what to reserve for a billing unit: the greatest of the account's price list, the specification, and what was charged
 * last. With the price list alone, a list that says less than the service charges would break the budget.
 */
export function priceList(account: AccountPrices, charged: readonly ChargedPrice[] = []): Price[] {
  const stores = Object.keys(FUNCTION_RULES) as Store[]
  return stores.flatMap((store) =>
    Object.entries<FunctionRule>(FUNCTION_RULES[store]).map(([fn, rule]) => {
      const known = account.find((price) => price.function === fn)
      const last = (priority: number) =>
        charged.find((price) => price.store === store && price.function === fn && price.priority === priority)
          ?.unitMicros ?? 0
      const listedMicros = Math.max(known?.normalMicros ?? 0, rule.unitCostMicros)
      return {
        store,
        function: fn as ServiceFunction,
        billingUnitResults: rule.billingUnitResults,
        normalMicros: Math.max(listedMicros, last(1)),
        highMicros: Math.max(known?.highMicros ?? 0, listedMicros * HIGH_PRIORITY_FACTOR, last(2)),
      }
    }),
  )
}
