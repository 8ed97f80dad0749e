/**
 * What a task costs: from the account's own price list where it has one, else the unit costs of the
 * specification (spec: rates.price). One billing unit at a time; the depth multiplies it.
 */
import { desc } from 'drizzle-orm'
import { z } from 'zod'
import type { Database } from '../db/database.ts'
import { accountUsage } from '../db/schema/index.ts'
import { FUNCTION_RULES, type FunctionRule, type ServiceFunction, type Store } from '../service/functions.ts'

export interface Price {
  readonly store: Store
  readonly function: ServiceFunction
  readonly billingUnitResults: number
  /** Micro-dollars a billing unit at priority 1 and 2. */
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

/** The prices that hold now, one for each store and function that it has. */
export async function readPrices(db: Database): Promise<Price[]> {
  const [latest] = await db.orm
    .select({ prices: accountUsage.prices })
    .from(accountUsage)
    .orderBy(desc(accountUsage.fetchedAt))
    .limit(1)
  return priceList(latest === undefined ? [] : accountPrices.parse(latest.prices))
}

/** Pure: the account's prices laid over the specification's. */
export function priceList(account: AccountPrices): Price[] {
  const stores = Object.keys(FUNCTION_RULES) as Store[]
  return stores.flatMap((store) =>
    Object.entries<FunctionRule>(FUNCTION_RULES[store]).map(([fn, rule]) => {
      const known = account.find((price) => price.function === fn)
      const normalMicros = known?.normalMicros ?? rule.unitCostMicros
      return {
        store,
        function: fn as ServiceFunction,
        billingUnitResults: rule.billingUnitResults,
        normalMicros,
        highMicros: known?.highMicros ?? normalMicros * HIGH_PRIORITY_FACTOR,
      }
    }),
  )
}
