/** Money for a person: what was spent, what each budget has left, and which are nearly used up. */
import type { Database } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import type { Logger } from '../log.ts'
import type { OverallBudget } from '../plan/admission.ts'
import type { Budget } from '../plan/forecast.ts'
import type { ServiceFunction } from '../service/functions.ts'

/** The present by which charges are dated. */
export async function readBusinessTime(db: Database): Promise<Date> {
  const row = oneRow(await db.sql<{ now: Date }[]>`select storerank_now() as now`)
  return row.now
}

type Amount = 'chargedMicros' | 'refundedMicros' | 'duplicateMicros' | 'adjustedMicros'

/** Over all projects; what the audit found is negative when the service took less. */
export async function readSpentSince(db: Database, from: Date) {
  const rows = await db.sql<Record<'tasks' | Amount, number>[]>`
    select count(distinct service_id) filter (where kind = 'charge') as tasks,
      coalesce(sum(amount_micros) filter (where kind = 'charge'), 0)::bigint as "chargedMicros",
      coalesce(-sum(amount_micros) filter (where kind = 'refund'), 0)::bigint as "refundedMicros",
      coalesce(sum(amount_micros) filter (where kind = 'duplicate'), 0)::bigint as "duplicateMicros",
      coalesce(sum(amount_micros) filter (where kind = 'adjustment'), 0)::bigint as "adjustedMicros"
    from charge where at >= ${from}`
  return oneRow(rows)
}

/** How many projects paid since `from`, and what, less what came back. */
export async function readPaidSince(db: Database, from: Date) {
  return oneRow(
    await db.sql<{ projects: number; micros: number }[]>`
      select count(distinct project_id) as projects, coalesce(sum(amount_micros), 0)::bigint as micros
      from charge where at >= ${from}`,
  )
}

/** What was spent since `from` by what was measured, less what came back, the dearest first. */
export async function readSpentByFunction(db: Database, from: Date) {
  return db.sql<{ function: ServiceFunction; tasks: number; netMicros: number }[]>`
    select t.function, count(distinct c.service_id) filter (where c.kind = 'charge') as tasks,
      sum(c.amount_micros)::bigint as "netMicros"
    from charge c join target t on t.id = c.target_id
    where c.at >= ${from}
    group by 1 order by 3 desc, 1`
}

/** How many due slots the budget does not reach. */
export async function countBudgetCuts(db: Database): Promise<number> {
  const [row] = await db.sql<{ count: number }[]>`select count from open_work where kind = 'budget_cut'`
  return row?.count ?? 0
}

/**
 * That the account pays for nothing of what is due, as a sentence. Null while it pays for something, while
 * nothing is cut, and while a budget of our own settings holds before it.
 */
export async function describeSpentAccount(db: Database, budget: OverallBudget): Promise<string | null> {
  const [row] = await db.sql<{ sentence: string }[]>`
    select format(
      'Stopped by money: %s leaves %s of %s, and what is due costs %s or more a measurement '
        || '(not bought: %s). %s',
      b.limited_by, dollars(greatest(b.limit_micros - b.used_micros, 0)), dollars(b.limit_micros),
      dollars(cut.least_micros), cut.slots,
      case b.period when 'balance' then 'Add money to the account.'
        else 'Raise it with the service, or wait until its day is over.' end) as sentence
    from (
      select * from overall_money(storerank_now(), ${budget.maxDayMicros}::bigint,
        ${budget.maxMonthMicros}::bigint)
      order by limit_micros - used_micros, set_by limit 1
    ) b
    cross join (
      select count(*) as slots, min(price_micros) as least_micros from due_slot
      where cut = 'overall_budget' and ends_at > storerank_now()
    ) cut
    where b.set_by = 'account' and b.limit_micros - b.used_micros < cut.least_micros`
  return row?.sentence ?? null
}

/** `budget` is its name for people. Programs go by who set it, the project and the period. */
export interface BudgetLine extends Budget {
  readonly setBy: 'settings' | 'account' | 'project'
  /** Null where it holds for all projects together. */
  readonly project: string | null
  /** Why it is worth a warning, as a sentence; null while there is enough. */
  readonly warning: string | null
}

/** From here on a person should know: the rest of the period may not be enough. */
const WARN_AT_PERCENT = 80

/**
 * Every budget that is set: those of all projects together, then each project's. Used includes what is
 * reserved. The balance is measured by what a day costs, as `low_balance` says.
 */
export async function readBudgets(db: Database, budget: OverallBudget): Promise<BudgetLine[]> {
  return db.sql<BudgetLine[]>`
    with line as (
      select limited_by as budget, set_by, null as project, 0 as scope, period, limit_micros, used_micros
      from overall_money(storerank_now(), ${budget.maxDayMicros}::bigint, ${budget.maxMonthMicros}::bigint)
      union all
      select 'project ' || project || ', day', 'project', project, project_id, 'day', daily_micros, day_micros
      from project_money(storerank_now()) where daily_micros is not null
      union all
      select 'project ' || project || ', month', 'project', project, project_id, 'month', monthly_micros,
        month_micros
      from project_money(storerank_now()) where monthly_micros is not null
    )
    select budget, set_by as "setBy", project, scope, period, limit_micros as "limitMicros",
      used_micros as "usedMicros", case
      when period = 'balance' then low_balance()
      when limit_micros > 0 and used_micros * 100 >= limit_micros * ${WARN_AT_PERCENT}::int
        then format('%s: %s %% is used.', budget, used_micros * 100 / limit_micros)
      end as warning
    from line`
}

/** Logs each budget that is nearly used up, once a UTC day: runs of `track` keep what is returned here. */
export async function warnOfBudgets(db: Database, budget: OverallBudget, log: Logger): Promise<string[]> {
  const warned = await db.sql<{ budget: string }[]>`
    select distinct jsonb_array_elements_text(summary->'warnedOf') as budget from job_run
    where job = 'track' and slot >= (select date_trunc('day', clock_timestamp(), 'UTC'))`
  const known = new Set(warned.map((row) => row.budget))
  const lines = (await readBudgets(db, budget)).filter(
    (line) => line.warning !== null && !known.has(line.budget),
  )
  for (const line of lines) log.warn(line, 'a budget is nearly used up')
  return lines.map((line) => line.budget)
}
