/** The time zones by which the money of projects counts. */
import type { Transaction } from '../db/database.ts'

/**
 * Notes where the time zone of a project was changed: its money counts by the new one from the hour after the
 * next on. Every transaction that reads the old one until then has ended by that time, and moves money of
 * instants before it, so that nobody has to wait for a person's transaction. A project that was copied
 * without triggers gets its first row here. The caller holds the ledger's lock.
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
