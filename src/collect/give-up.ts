/** Gives up results that the service cannot have any more: their tasks fail, and their slots become gaps. */
import type { Database } from '../db/database.ts'
import { giveUpResults } from '../ledger/task-failures.ts'

/**
 * The service keeps results for 30 days at most (spec: Limits), from when the task was done, which is later
 * than its posting.
 */
const RESULTS_KEPT_DAYS = 32

/**
 * Fails tasks that the service never finished or does not know any more (40401), when it cannot have a result
 * of them any longer. Until then they are asked for daily.
 * @returns how many ended
 */
export async function giveUpExpired(db: Database): Promise<number> {
  return giveUpResults(db.sql, RESULTS_KEPT_DAYS)
}
