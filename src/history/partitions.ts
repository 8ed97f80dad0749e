/** Monthly partitions of the history, made ahead of time. Statements that write to the history make a missing one themselves. */
import type { Database } from '../db/database.ts'

/** Makes the partitions from the present month to `monthsAhead` months later; returns how many were missing. */
export async function makePartitionsAhead(db: Database, monthsAhead: number): Promise<number> {
  const [row] = await db.sql<{ made: number }[]>`
    select ensure_history_partitions(storerank_now(), storerank_now() + make_interval(months => ${monthsAhead})) as made`
  return row?.made ?? 0
}
