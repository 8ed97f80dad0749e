/** The lock behind which money is reserved: whoever plans or claims holds it to the end of its transaction. */
import type { Transaction } from '../db/database.ts'

/** Must be a statement of its own before the one that reads: that one then sees what the last holder committed. */
export async function lockBudget(tx: Transaction): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtext('storerank'), hashtext('budget'))`
}
