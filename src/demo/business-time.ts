/**
 * Business time of a database: what slots, days, budgets and periods go by, and what `storerank.now` moves.
 */
import type { SqlRunner } from '../db/database.ts'

/**
 * Sets the business time of a database for every session that begins from now on; those that are open keep
 * theirs. Leases, call windows and the schedule are not moved.
 * @param instant null: the clock's own time again
 */
export async function setBusinessTime(
  db: SqlRunner,
  database: string,
  instant: string | null,
): Promise<void> {
  const [row] = await db<{ statement: string }[]>`
    select case when ${instant}::text is null then format('alter database %I reset storerank.now',
      ${database}::text)
      else format('alter database %I set storerank.now = %L', ${database}::text,
        ${instant}::timestamptz::text) end as statement`
  if (row !== undefined) await db.unsafe(row.statement)
}
