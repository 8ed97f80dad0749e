/** The end of waiting: what the service cannot hold any more is not awaited any more, and its slot says so. */
import type { Database } from '../db/database.ts'

/** The service keeps results for 30 days at most (spec: Limits), counted from when they are done, not posted. */
const RESULTS_KEPT_DAYS = 32

/**
 * Ends tasks that were never done, and those that the service does not know any more (40401), when no result of theirs can be
 * there any longer. Until then they were asked for every day.
 * @returns how many ended
 */
export async function giveUpExpired(db: Database): Promise<number> {
  const rows = await db.sql`
    update task set state = 'failed', ended_at = clock_timestamp(), fetching_until = null,
      problem = concat_ws(' ', 'Its result did not come while the service keeps results.', 'The last answer was: ' || problem)
    where state = 'posted' and posted_at < clock_timestamp() - make_interval(days => ${RESULTS_KEPT_DAYS})
    returning id`
  return rows.length
}
