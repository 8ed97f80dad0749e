/** The account as the service reports it: balance, limits and prices feed the budgets and the call window. */
import type { Database } from '../db/database.ts'
import { accountUsage, serviceAccount } from '../db/schema/index.ts'
import { ConfigurationError, StorerankError } from '../errors.ts'
import type { AppDataClient } from '../service/client.ts'
import { SERVICE_FUNCTIONS } from '../service/functions.ts'
import type { AccountPrices } from './price.ts'
import { type LookContext, refreshServiceStatus } from './service-status.ts'

export type AccountUsage = typeof accountUsage.$inferSelect

/**
 * Asks the service (free of charge) and records the answer. What the service does not say is null: no limit known.
 * Stamped before the question: what is charged while the answer travels counts as not in it.
 */
export async function recordAccountUsage(db: Database, client: AppDataClient): Promise<AccountUsage> {
  const [asked] = await db.sql<{ fetchedAt: Date }[]>`select clock_timestamp() as "fetchedAt"`
  const user = await client.getUserData()
  const prices: AccountPrices = SERVICE_FUNCTIONS.map((fn) => ({
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

/** Shorter than from one plan to the next, as other programs may spend the same money; a run that has just looked asks once. */
const FRESH_MINUTES = 5

/**
 * Looks at the account, when the last look is old, and at the service. When neither can be asked the plan goes by what is
 * known: it only reserves, and whoever posts is refused then as well.
 */
export async function lookBeforePlanning(context: LookContext): Promise<void> {
  const { db, client, log } = context
  const [row] = await db.sql<{ isFresh: boolean }[]>`
    select exists (select from account_usage
      where fetched_at > clock_timestamp() - make_interval(mins => ${FRESH_MINUTES})) as "isFresh"`
  try {
    if (!row?.isFresh) await recordAccountUsage(db, client)
    await refreshServiceStatus(context)
  } catch (error) {
    if (!(error instanceof StorerankError)) throw error
    log.warn({ err: error }, 'the account could not be asked; the plan goes by what is known')
  }
}

/**
 * Ties a database to one account at its first work, for ever: results of two services must not mix in one history, and one
 * account cannot collect what another has paid for.
 * @param account the login, or how the sandbox is called
 * @throws ConfigurationError when the database belongs to another account
 */
export async function claimDatabaseFor(db: Database, account: string): Promise<void> {
  await db.orm.insert(serviceAccount).values({ account }).onConflictDoNothing()
  const [owner] = await db.orm.select({ account: serviceAccount.account }).from(serviceAccount)
  if (owner === undefined || owner.account === account) return
  throw new ConfigurationError(
    `The database holds what was measured with ${owner.account}, and must not mix it with ${account}. Mend APP_DATA_URL and APP_DATA_LOGIN, or use another database. (If it is the same account by another name: update service_account set account = '…'.)`,
  )
}
