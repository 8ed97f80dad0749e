/**
 * The database's clock beside the service's, where they differ (`clock_ahead`): what is bought and what is
 * over goes by both.
 */
import type { SqlRunner } from '../db/database.ts'
import { type Statement, sql } from '../db/sql.ts'

/** Whether a slot runs by the service's clock too: one that is hours ahead shows another day. */
export function runsThere(slot: Statement, endsAt: Statement): Statement {
  return sql`(select storerank_now() - clock_ahead()) between ${slot} and ${endsAt}`
}

/** The earlier one of both presents: a clock that is ahead ends no slot. */
export function presentOfSlots(): Statement {
  return sql`(select storerank_now() - greatest(clock_ahead(), interval '0'))`
}

/** What is wrong with the clock and what to do, as a sentence; null while nothing is. */
export async function readWrongClock(db: SqlRunner): Promise<string | null> {
  const [row] = await db<{ message: string | null }[]>`select message from open_work where kind = 'clock'`
  return row?.message ?? null
}
