/** The lock behind which money is reserved: whoever plans or claims holds it to the end of its transaction. */
import type { Transaction } from '../db/database.ts'

/**
 * Must be a statement of its own before the one that reads: that one then sees what the last holder committed. Business time
 * is from here on that of the lock and stands still: by that of the transaction, whoever waited over midnight would spend the
 * money of a day that is over.
 */
export async function lockBudget(tx: Transaction): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtext('storerank'), hashtext('budget'))`
  await tx`
    select set_config('storerank.now',
      coalesce(nullif(current_setting('storerank.now', true), ''), clock_timestamp()::text), true)`
}
