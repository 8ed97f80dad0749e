/** By which clock slots run and money counts: by the database's and the service's, where they differ. */
import type { SqlRunner, Transaction } from '../db/database.ts'
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

/**
 * Notes where the time zone of a project was changed: its money counts by the new one from the hour after the
 * next on, when every transaction that reads the old one has ended. A project that was copied without
 * triggers gets its first row here. The caller holds the ledger's lock.
 */
export async function followTimeZones(tx: Transaction): Promise<void> {
  await tx`
    insert into money_zone (project_id, since, timezone)
    select p.id, case when last.timezone is null then '-infinity'
      else date_trunc('hour', storerank_now(), 'UTC') + interval '2 hours' end, p.timezone
    from project p left join lateral (
      select m.timezone from money_zone m where m.project_id = p.id order by m.since desc limit 1
    ) last on true
    where last.timezone is distinct from p.timezone
    on conflict (project_id, since) do update set timezone = excluded.timezone`
}
