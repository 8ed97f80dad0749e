/** The day before in one line of the log: what was measured, what was not and why, and what it cost. */
import type { Database } from '../db/database.ts'
import type { Logger } from '../log.ts'

interface DaySummary {
  /** UTC. */
  readonly day: string
  readonly measured: number
  readonly failed: number
  readonly budget: number
  readonly missed: number
  readonly htmlOnly: number
  readonly paidTasks: number
  readonly spentMicros: number
  readonly duplicateMicros: number
}

/**
 * Logs the summary of the UTC day before, once over all runs of `housekeeping`, which keep the day in their summary.
 * @returns that day
 */
export async function logDayBefore(db: Database, log: Logger): Promise<string> {
  const [summary] = await db.sql<(DaySummary & { isTold: boolean })[]>`
    with yesterday as (
      select t.today - interval '1 day' as begins, t.today as ends
      from (select date_trunc('day', storerank_now(), 'UTC') as today) t
    ),
    slots as materialized (
      select r.gap from yesterday y join ranking_row r on r.slot >= y.begins and r.slot < y.ends
      union all
      select s.gap from yesterday y join app_snapshot s on s.slot >= y.begins and s.slot < y.ends
    ),
    money as (
      select sum(s.tasks_charged) as tasks, sum(s.duplicate_micros) as duplicate,
        sum(s.charged_micros + s.refunded_micros + s.duplicate_micros + s.adjusted_micros) as spent
      from yesterday y join (select * from spend union all select * from spend_change) s on s.scope = 0 and s.begins_at = y.begins
    )
    select to_char(y.begins at time zone 'UTC', 'YYYY-MM-DD') as day,
      (select count(*) from slots where gap is null) as measured, (select count(*) from slots where gap = 'failed') as failed,
      (select count(*) from slots where gap = 'budget') as budget, (select count(*) from slots where gap = 'missed') as missed,
      (select count(*) from slots where gap = 'html_only') as "htmlOnly", coalesce(m.tasks, 0)::bigint as "paidTasks",
      coalesce(m.spent, 0)::bigint as "spentMicros", coalesce(m.duplicate, 0)::bigint as "duplicateMicros",
      coalesce(to_char(y.begins at time zone 'UTC', 'YYYY-MM-DD') = any(array(
        select j.summary->>'day' from job_run j
        where j.job = 'housekeeping' and j.slot > (select clock_timestamp() - interval '3 days')
      )), false) as "isTold"
    from yesterday y, money m`
  if (summary === undefined) throw new Error('An aggregate returned no row.')
  const { isTold, ...told } = summary
  if (!isTold) log.info(told, 'summary of the day')
  return told.day
}
