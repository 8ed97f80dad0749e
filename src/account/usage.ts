/** The account as the service reports it: balance, limits and prices feed the budgets and the call window. */
import type { Database } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { AccountError, StorerankError, UnavailableError } from '../errors.ts'
import type { AppDataClient } from '../service/client.ts'
import { SERVICE_FUNCTIONS } from '../service/functions.ts'
import { type LookContext, refreshServiceStatus } from './service-status.ts'

/** Null is what the service did not say. */
type Limits = Readonly<Record<'balanceMicros' | 'dayLimitMicros', number | null>>

/**
 * Reads the account (free of charge) and records it. A limit that the service does not say is null, and
 * limits nothing. The row is stamped before the call: money that is charged while the answer is on its way
 * counts as not yet in the answer. Rows of the future, which a clock that was ahead has left, go, but not
 * from a copy, whose recovery asks how far ahead it was.
 */
export async function recordAccountUsage(db: Database, client: AppDataClient): Promise<Limits> {
  const asked = oneRow(
    await db.sql<{ fetchedAt: string; takenMicros: number }[]>`
    select clock_timestamp()::text as "fetchedAt", ledger_taken() as "takenMicros"`,
  )
  const user = await client.getUserData()
  const prices = SERVICE_FUNCTIONS.map((fn) => ({
    function: fn,
    normalMicros: user.pricePerUnitMicros(fn, 1),
    highMicros: user.pricePerUnitMicros(fn, 2),
  }))
  const { day, minute } = user.moneyLimits
  return oneRow(
    await db.sql<Limits[]>`
    with gone as (delete from account_usage where fetched_at > clock_timestamp() and restore_hold() is null)
    insert into account_usage (fetched_at, taken_micros, ahead_s, login, timezone, balance_micros,
      day_limit_micros, day_spent_micros,
      minute_limit_micros, calls_per_minute_limit, prices)
    values (${asked.fetchedAt}, ${asked.takenMicros}, extract(epoch from greatest(
        ${asked.fetchedAt}::timestamptz - ${user.answeredAt}::timestamptz,
        least(clock_timestamp() - ${user.answeredAt}::timestamptz, interval '0'))),
      ${user.login ?? ''}, ${user.timezone},
      ${user.balanceMicros},
      ${day?.total ?? null}, ${user.moneyStatistics.day?.total ?? null}, ${minute?.total ?? null},
      ${user.callLimits.minute?.total ?? null}, ${JSON.stringify(prices)}::text::jsonb)
    returning balance_micros as "balanceMicros", day_limit_micros as "dayLimitMicros"`,
  )
}

/** Whether the service answers, though it did not tell the account: then the recorded one will do. */
export async function isAnswered(error: Error, client: AppDataClient): Promise<boolean> {
  if (!(error instanceof StorerankError) || error instanceof AccountError) return false
  if (!(error instanceof UnavailableError)) return true
  const failure: unknown = await client.getStatus().catch((thrown: unknown) => thrown)
  return !(failure instanceof UnavailableError)
}

/** Shorter than the time between two plans: others may spend the same money. One `run` reads it once. */
const FRESH_MINUTES = 5

/**
 * Reads the account, where that was not done just now, and the status of the service. When they cannot be
 * read the plan goes by what is recorded: the service itself refuses posts that the account cannot pay.
 */
export async function refreshAccountBeforePlanning(context: LookContext): Promise<void> {
  const { db, client, log } = context
  const [row] = await db.sql<{ isFresh: boolean }[]>`
    select exists (select from account_usage
      where fetched_at > (select clock_timestamp() - make_interval(mins => ${FRESH_MINUTES}))
        and fetched_at <= (select clock_timestamp())) as "isFresh"`
  try {
    if (!row?.isFresh) await recordAccountUsage(db, client)
  } catch (error) {
    if (!(error instanceof StorerankError)) throw error
    log.warn({ err: error }, 'the account could not be asked; the plan goes by what is known')
  }
  await refreshServiceStatus(context)
}
