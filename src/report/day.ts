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

/** What the row of `job_run` is called whose slot is the day, and whose summary is what was told of it. */
const RUN = 'summary'
/** So long after its end a day is told of with what is still open. The service takes 45 minutes for a task, and hours in trouble. */
const WAIT_HOURS = 6

/**
 * Logs the summary of the UTC day before, once over all runners: when no task of its slots is open any more, and six hours after its end in
 * any case. To be called when the slots that ended are closed, because a slot that nothing asked for is missed from then on.
 * @returns whether it was told by this call
 */
export async function tellDayBefore(db: Database, log: Logger): Promise<boolean> {
  const [due] = await db.sql<{ begins: Date; ends: Date }[]>`
    select y.begins, y.ends
    from (select t.today - interval '1 day' as begins, t.today as ends
      from (select date_trunc('day', storerank_now(), 'UTC') as today) t) y
    where not exists (select from job_run r where r.job = ${RUN} and r.slot = y.begins)
      and (storerank_now() >= y.ends + make_interval(hours => ${WAIT_HOURS})
        or not exists (
          select from task k where k.state in ('planned', 'posting', 'posted') and k.slot >= y.begins and k.slot < y.ends))`
  if (due === undefined) return false
  const summary = await sumUp(db, due.begins, due.ends)
  return db.begin(
    async (tx) => {
      // Another runner that tells of the day at this moment waits here for the first one, and then has nothing to tell.
      const kept = await tx`
        insert into job_run (job, slot, state, started_at, ended_at, summary)
        values (${RUN}, ${due.begins}, 'done', clock_timestamp(), clock_timestamp(), ${JSON.stringify(summary)}::text::jsonb)
        on conflict do nothing`
      if (kept.count === 0) return false
      log.info(summary, 'summary of the day')
      return true
    },
    { name: 'Keeping the summary of the day' },
  )
}

async function sumUp({ sql }: Database, begins: Date, ends: Date): Promise<DaySummary> {
  const [summary] = await sql<DaySummary[]>`
    with slots as materialized (
      select r.gap from ranking_row r where r.slot >= ${begins} and r.slot < ${ends}
      union all
      select s.gap from app_snapshot s where s.slot >= ${begins} and s.slot < ${ends}
    ),
    money as (
      select sum(s.tasks_charged) as tasks, sum(s.duplicate_micros) as duplicate,
        sum(s.charged_micros + s.refunded_micros + s.duplicate_micros + s.adjusted_micros) as spent
      from (select * from spend union all select * from spend_change) s where s.scope = 0 and s.begins_at = ${begins}
    )
    select to_char(${begins}::timestamptz at time zone 'UTC', 'YYYY-MM-DD') as day,
      (select count(*) from slots where gap is null) as measured, (select count(*) from slots where gap = 'failed') as failed,
      (select count(*) from slots where gap = 'budget') as budget, (select count(*) from slots where gap = 'missed') as missed,
      (select count(*) from slots where gap = 'html_only') as "htmlOnly", coalesce(m.tasks, 0)::bigint as "paidTasks",
      coalesce(m.spent, 0)::bigint as "spentMicros", coalesce(m.duplicate, 0)::bigint as "duplicateMicros"
    from money m`
  if (summary === undefined) throw new Error('An aggregate returned no row.')
  return summary
}
