/** The day before in one line of the log: what was measured, what was not and why, and what it cost. */
import type { Database } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import type { Logger } from '../log.ts'

/**
 * Logs the summary of the UTC day before, once over all runs of a job, which keep the day in their summary.
 * To be called when the slots of that day are closed and their results are in: a slot that nothing asked for
 * is missed from then on.
 * @param job that calls it
 * @returns that day
 */
export async function logDayBefore(db: Database, log: Logger, job: string): Promise<string> {
  const yesterday = oneRow(
    await db.sql<{ day: string; begins: Date; ends: Date; isTold: boolean }[]>`
    select y.day, y.begins, y.ends, exists (
        select from job_run r where r.job = ${job} and r.state = 'done' and r.slot >= y.ends
          and r.summary->>'day' = y.day
      ) as "isTold"
    from (
      select to_char(t.today - interval '1 day', 'YYYY-MM-DD') as day,
        (t.today - interval '1 day') at time zone 'UTC' as begins, t.today at time zone 'UTC' as ends
      from (select date_trunc('day', storerank_now() at time zone 'UTC') as today) t
    ) y`,
  )
  const { day, begins, ends, isTold } = yesterday
  if (!isTold) log.info({ day, ...(await sumUp(db, begins, ends)) }, 'summary of the day')
  return day
}

async function sumUp({ sql }: Database, begins: Date, ends: Date): Promise<Record<string, number>> {
  return oneRow(
    await sql<Record<string, number>[]>`
    with slots as (
      select r.gap from ranking_row r where r.slot >= ${begins} and r.slot < ${ends}
      union all
      select s.gap from app_snapshot s where s.slot >= ${begins} and s.slot < ${ends}
    ),
    money as (
      select sum(s.tasks_charged) as tasks, sum(s.duplicate_micros) as duplicate,
        sum(s.charged_micros + s.refunded_micros + s.duplicate_micros + s.adjusted_micros) as spent
      from spend s where s.scope = 0 and s.begins_at = ${begins}
    )
    select (select count(*) from slots where gap is null) as measured,
      (select count(*) from slots where gap = 'failed') as failed,
      (select count(*) from slots where gap = 'budget') as budget,
      (select count(*) from slots where gap = 'missed') as missed,
      (select count(*) from slots where gap = 'html_only') as "htmlOnly",
      coalesce(m.tasks, 0)::bigint as "paidTasks",
      coalesce(m.spent, 0)::bigint as "spentMicros", coalesce(m.duplicate, 0)::bigint as "duplicateMicros"
    from money m`,
  )
}
