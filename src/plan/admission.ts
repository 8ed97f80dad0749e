/** Admission decides what is bought and what the budget cuts, for the plan and the dry run alike. */
import type { SqlRunner } from '../db/database.ts'
import { type Statement, sql } from '../db/sql.ts'
import type { DayAndMonthBudget } from '../ledger/claim-post.ts'

/** Budgets that hold for all projects together, in micro-dollars; null is no limit of our own. */
export interface OverallBudget extends DayAndMonthBudget {
  /** What one plan may reserve. */
  readonly maxRunMicros: number | null
}

/** What the money of a project, or of all together (scope 0), allows; null is no limit. */
export interface ScopeBudget {
  readonly scope: number
  /** Of its day and month, whatever is used of them. */
  readonly wholeMicros: number | null
  readonly leftMicros: number | null
}

/** The budgets of all projects, and of all together. @param plannedMicros what this plan has reserved */
export async function readBudgets(
  db: SqlRunner,
  budget: OverallBudget,
  plannedMicros: number,
): Promise<ScopeBudget[]> {
  return db<ScopeBudget[]>`
    select project_id as scope, least(daily_micros, monthly_micros) as "wholeMicros",
      least(daily_micros - day_micros, monthly_micros - month_micros) as "leftMicros"
    from project_money(storerank_now())
    where daily_micros is not null or monthly_micros is not null
    union all
    -- The claim keeps the account's limit per minute. A plan only sets aside what costs more than a whole
    -- minute allows.
    select 0, least(min(limit_micros), (select minute_limit_micros from account_usage order by fetched_at desc
      limit 1)),
      min(limit_micros - used_micros)
    from (
      select limit_micros, used_micros
      from overall_money(storerank_now(), ${budget.maxDayMicros}::bigint, ${budget.maxMonthMicros}::bigint)
      union all
      select ${budget.maxRunMicros}::bigint, ${plannedMicros}::bigint
    ) b`
}

/** The common table expression `budget (scope, whole_micros, left_micros)`. */
export function budgetRows(budgets: readonly ScopeBudget[]): Statement {
  const types = 'scope int, wholeMicros bigint, leftMicros bigint'
  return sql`budget as (select * from ${sql.rows('b', budgets, types)})`
}

/**
 * A select of one row for each (target, slot) of `due`, which has its `place` in the queue and its `row_id`
 * in `due_slot`: its price; `payers`, the projects that pay for it, in ascending order; `refused`, those that
 * asked and cannot; `cut`, null when it is bought, else why not; and `short_of`, whose money was.
 *
 * - A shared target is priced once, at the largest depth and priority asked. Each project that asks sums full
 *   prices over its own queue; the target is admitted when at least one affords it, and those that do split
 *   it (`share_of`). The overall cut comes after.
 * - Raw pages cost nothing: a task fetches them when at least one of its watches asks for them. A watch that
 *   asks after the task was planned gets them from the next slot on.
 * - The queue is ordered by urgency: with too little money all targets are measured in turn. A target dearer
 *   than a whole budget stands outside the queue, because it would block the queue for ever.
 * - The caller holds the ledger's lock, taken in a statement of its own before the budgets are read: inside
 *   one statement two planners both see the old snapshot, and overspend.
 * @param due common table expressions that end in `due`
 */
export function admission(due: Statement, budgets: readonly ScopeBudget[]): Statement {
  return sql`
    with ${due},
    ${budgetRows(budgets)},
    -- Of both priorities in a row: joined by the priority alone, each slot would meet every function first.
    price as materialized (
      select store, function, min(unit_results) as unit_results,
        array_agg(unit_micros order by priority) as micros_by_priority
      from unit_price group by 1, 2
    ),
    priced as (
      select d.*, task_price(d.depth, p.unit_results, p.micros_by_priority[d.priority]) as price_micros
      from due d join price p using (store, function)
    ),
    -- Materialized: estimated anew, each asker would be compared with the budget of each project.
    asking as materialized (
      select p.place, p.price_micros, y.scope from priced p cross join lateral unnest(p.askers) y (scope)
      where exists (select from budget where scope > 0)
    ),
    queue as (
      select place, scope, is_too_dear, not is_too_dear and sum(price_micros) filter (where not is_too_dear)
        over (partition by scope order by place) <= left_micros as affords
      from (select a.*, b.left_micros, a.price_micros > b.whole_micros as is_too_dear from asking a
        join budget b using (scope)) q
    ),
    refused as (
      select place, array_agg(scope order by scope) as projects, bool_and(is_too_dear) as is_too_dear
      from queue where not affords group by place
    ),
    admitted as (
      select p.*, coalesce(r.projects, '{}') as refused, r.is_too_dear, case when r.place is null
        then p.askers
        else array(select y.id from unnest(p.askers) y (id) where y.id <> all(r.projects)) end as payers
      from priced p left join refused r using (place)
    ),
    -- Materialized: each target would read all budgets again to find this one.
    overall as materialized (select whole_micros, left_micros from budget where scope = 0),
    decided as (
      select a.*, case
        when a.payers = '{}' then case when a.is_too_dear then 'dearer_than_project_budget'
          else 'project_budget' end
        when a.price_micros > o.whole_micros then 'dearer_than_overall_budget'
        when sum(a.price_micros) filter (where a.payers <> '{}'
          and (a.price_micros > o.whole_micros) is not true)
          over (order by a.place) > o.left_micros then 'overall_budget' end as cut
      from admitted a cross join overall o
    )
    select place, row_id, target_id, slot, slot_ends_at, depth, priority, html, store, function, price_micros,
      askers, payers, refused, cut,
      case when cut is null then null when cut like '%project_budget' then refused else '{0}' end as short_of
    from decided`
}
