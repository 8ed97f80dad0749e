/** Money for a person: what was spent since a moment, and what each budget has left. */
import type { Database } from '../db/database.ts'
import type { OverallBudget } from '../plan/admission.ts'
import type { ServiceFunction } from '../service/functions.ts'

/** The present by which charges are dated. */
export async function readBusinessTime(db: Database): Promise<Date> {
  const [row] = await db.sql<{ now: Date }[]>`select storerank_now() as now`
  if (row === undefined) throw new Error('A function returned no row.')
  return row.now
}

export interface Spent {
  readonly tasks: number
  readonly chargedMicros: number
  readonly refundedMicros: number
  readonly duplicateMicros: number
  /** What the audit found beyond these; negative when the service took less. */
  readonly adjustedMicros: number
}

/** Everything charged, refunded and adjusted since `from`, over all projects. */
export async function readSpentSince(db: Database, from: Date): Promise<Spent> {
  const [row] = await db.sql<Spent[]>`
    select count(distinct service_id) filter (where kind = 'charge') as tasks,
      coalesce(sum(amount_micros) filter (where kind = 'charge'), 0)::bigint as "chargedMicros",
      coalesce(-sum(amount_micros) filter (where kind = 'refund'), 0)::bigint as "refundedMicros",
      coalesce(sum(amount_micros) filter (where kind = 'duplicate'), 0)::bigint as "duplicateMicros",
      coalesce(sum(amount_micros) filter (where kind = 'adjustment'), 0)::bigint as "adjustedMicros"
    from charge where kind <> 'estimate' and at >= ${from}`
  return row ?? { tasks: 0, chargedMicros: 0, refundedMicros: 0, duplicateMicros: 0, adjustedMicros: 0 }
}

export interface SpentOnFunction {
  readonly function: ServiceFunction
  readonly tasks: number
  /** Less what came back. */
  readonly netMicros: number
}

/** The same by what was measured, the dearest first. */
export async function readSpentByFunction(db: Database, from: Date): Promise<SpentOnFunction[]> {
  return db.sql<SpentOnFunction[]>`
    select t.function, count(distinct c.service_id) filter (where c.kind = 'charge') as tasks,
      sum(c.amount_micros)::bigint as "netMicros"
    from charge c join target t on t.id = c.target_id
    where c.kind <> 'estimate' and c.at >= ${from}
    group by 1 order by 3 desc, 1`
}

export interface BudgetLine {
  readonly budget: string
  readonly limitMicros: number
  readonly usedMicros: number
}

/** Every budget that is set: those of all projects together, then each project's. Used includes what is reserved. */
export async function readBudgets(db: Database, budget: OverallBudget): Promise<BudgetLine[]> {
  return db.sql<BudgetLine[]>`
    select limited_by as budget, limit_micros as "limitMicros", used_micros as "usedMicros"
    from overall_money(storerank_now(), ${budget.maxDayMicros}::bigint, ${budget.maxMonthMicros}::bigint)
    union all
    select 'project ' || project || ', day', daily_micros, day_micros
    from project_money(storerank_now()) where daily_micros is not null
    union all
    select 'project ' || project || ', month', monthly_micros, month_micros
    from project_money(storerank_now()) where monthly_micros is not null`
}
