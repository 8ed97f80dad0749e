/** The account as the service reports it: balance, limits and prices feed the budgets and the call window. */
import { desc } from 'drizzle-orm'
import type { Database } from '../db/database.ts'
import { accountUsage } from '../db/schema/index.ts'
import type { AppDataClient } from '../service/client.ts'
import { FUNCTION_RULES, type TaskFunction } from '../service/functions.ts'
import type { AccountPrices } from './price.ts'

export type AccountUsage = typeof accountUsage.$inferSelect

/**
 * Asks the service (free of charge) and records the answer. What the service does not say is null: no limit known.
 * Stamped before the question: what is charged while the answer travels counts as not in it.
 */
export async function recordAccountUsage(db: Database, client: AppDataClient): Promise<AccountUsage> {
  const [asked] = await db.sql<{ fetchedAt: Date }[]>`select clock_timestamp() as "fetchedAt"`
  const user = await client.getUserData()
  const functions = Object.keys(FUNCTION_RULES.ios_store) as TaskFunction[]
  const prices: AccountPrices = functions.map((fn) => ({
    function: fn,
    normalMicros: user.pricePerUnitMicros(fn, 1),
    highMicros: user.pricePerUnitMicros(fn, 2),
  }))
  const [row] = await db.orm
    .insert(accountUsage)
    .values({
      ...asked,
      login: user.login ?? '',
      timezone: user.timezone,
      balanceMicros: user.balanceMicros,
      dayLimitMicros: user.moneyLimits.day?.total ?? null,
      daySpentMicros: user.moneyStatistics.day?.total ?? null,
      minuteLimitMicros: user.moneyLimits.minute?.total ?? null,
      callsPerMinuteLimit: user.callLimits.minute?.total ?? null,
      prices,
    })
    .returning()
  if (row === undefined) throw new Error('An insert returned no row.')
  return row
}

/** The latest report, if there is one. */
export async function readAccountUsage(db: Database): Promise<AccountUsage | null> {
  const [row] = await db.orm.select().from(accountUsage).orderBy(desc(accountUsage.fetchedAt)).limit(1)
  return row ?? null
}
