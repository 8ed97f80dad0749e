/** The end of waiting: what the service cannot hold any more is not awaited any more, and its slot says so. */
import type { Database } from '../db/database.ts'
import { giveUpResults } from '../ledger/task-failures.ts'

/** The service keeps results for 30 days at most (spec: Limits), counted from when they are done, not posted. */
const RESULTS_KEPT_DAYS = 32

/**
 * Ends tasks that were never done, and those that the service does not know any more (40401), when no result of theirs can be
 * there any longer. Until then they were asked for every day.
 * @returns how many ended
 */
export async function giveUpExpired(db: Database): Promise<number> {
  return giveUpResults(db.sql, RESULTS_KEPT_DAYS)
}
