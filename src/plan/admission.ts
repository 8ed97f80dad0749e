/**
 * The one statement that decides what is bought and what the budget cuts. The plan inserts its answer and the dry run only reads
 * it, so that both always agree.
 */
import type { Price } from '../account/prices.ts'
import type { SqlRunner } from '../db/database.ts'
import type { DayAndMonthBudget } from '../ledger/claim-post.ts'
import type { Fragment } from '../ledger/money.ts'

/** Budgets that hold for all projects together, in micro-dollars; null is no limit of our own. */
export interface OverallBudget extends DayAndMonthBudget {
  /** What one plan may reserve. */
  readonly maxRunMicros: number | null
}

/** What earlier pieces of the same plan have used up of the budgets, beyond what they reserved. */
export interface PassedMoney {
  /** By `project.id`: full prices of what stood before in its queue, less what it has reserved for them. */
  readonly byProject: ReadonlyMap<number, number>
  /** Prices of what a project affords and the overall budget cut. */
  readonly overallMicros: number
  /** What this plan has reserved: `maxRunMicros` bounds it. */
  readonly plannedMicros: number
}

export const NOTHING_PASSED: PassedMoney = { byProject: new Map(), overallMicros: 0, plannedMicros: 0 }

export interface AdmissionInput extends OverallBudget {
  readonly prices: readonly Price[]
  readonly passed: PassedMoney
}

/**
 * Common table expressions over `asked` and `due`, which name each due (target, slot) by its `place` in the queue. They end in three relations:
 * `payer`, one row per project that asks for a due (target, slot): whether it affords it;
 * `decided`, one row per due (target, slot): price, `cut`, null when it is bought, else why not, and `payers`, the ids of the projects
 * that afford it, in ascending order;
 * `passed`, what the queue of each project (`project.id`), and of all together (0), has used up beyond what is reserved.
 *
 * - A shared target is priced once, at the largest depth and priority asked. Each project that asks sums full prices over
 *   its own queue; the target is admitted when at least one affords it, and those that do split it
 *   (`share_of`). The overall cut comes after.
 * - Raw pages cost nothing: a task fetches them when at least one of its watches asks for them. A watch that asks after the task
 *   was planned gets them from the next slot on.
 * - The queue is ordered by priority, then by how long ago the target was measured: with too little money all targets are
 *   measured in turn. A target dearer than a whole budget stands outside the queue, because it would block the queue for ever.
 * - `materialized` relations are computed once: otherwise the money of a project would be summed for each of its targets.
 * - The caller holds the ledger's lock, taken in a statement of its own before this one: inside one statement two planners
 *   both see the old snapshot, and overspend.
 */
export function admission(sql: SqlRunner, due: Fragment, input: AdmissionInput): Fragment {
  const { prices, passed } = input
  return sql`
    ${due},
    price as (
      select * from unnest(
        ${prices.map((price) => price.store)}::text[], ${prices.map((price) => price.function)}::text[],
        ${prices.map((price) => price.billingUnitResults)}::int[],
        ${prices.map((price) => price.normalMicros)}::bigint[], ${prices.map((price) => price.highMicros)}::bigint[]
      ) as p (store, function, unit_results, normal_micros, high_micros)
    ),
    priced as materialized (
      select d.*,
        task_price(d.depth, p.unit_results, case d.priority when 2 then p.high_micros else p.normal_micros end)
          as price_micros
      from due d join price p using (store, function)
    ),
    project_budget as materialized (
      select project_id, project, least(daily_micros, monthly_micros) as whole_micros,
        least(daily_micros - day_micros, monthly_micros - month_micros) - coalesce(b.micros, 0) as left_micros
      from project_money(storerank_now())
      left join unnest(${[...passed.byProject.keys()]}::int[], ${[...passed.byProject.values()]}::bigint[])
        as b (project_id, micros) using (project_id)
    ),
    overall_budget as materialized (
      -- The claim keeps the account's limit per minute. A plan only sets aside what costs more than a whole minute allows.
      select least(min(limit_micros), (select minute_limit_micros from account_usage order by fetched_at desc limit 1))
          as whole_micros,
        min(limit_micros - used_micros) - ${passed.overallMicros}::bigint as left_micros
      from (
        select limit_micros, used_micros
        from overall_money(storerank_now(), ${input.maxDayMicros}::bigint, ${input.maxMonthMicros}::bigint)
        union all
        select ${input.maxRunMicros}::bigint, ${passed.plannedMicros}::bigint
      ) budget
    ),
    queued as (
      select p.place, a.project, b.project_id, p.price_micros, coalesce(p.price_micros > b.whole_micros, false) as too_dear, b.left_micros,
        sum(p.price_micros) filter (where p.price_micros <= b.whole_micros or b.whole_micros is null)
          over (partition by b.project_id order by p.place) as running_micros
      from asked a join priced p using (place) join project_budget b using (project)
    ),
    payer as materialized (
      select q.place, q.project, q.project_id, q.price_micros, q.too_dear,
        not q.too_dear and (q.left_micros is null or q.running_micros <= q.left_micros) as affords
      from queued q
    ),
    admitted as (
      select place, bool_or(affords) as affords, bool_and(too_dear) as too_dear,
        array_agg(project_id order by project_id) filter (where affords) as payers
      from payer group by place
    ),
    decided as materialized (
      select o.*, case
        when o.none_is_enough then 'dearer_than_project_budget'
        when not o.affords then 'project_budget'
        when o.price_micros > o.whole_micros then 'dearer_than_overall_budget'
        when o.running_micros > o.left_micros then 'overall_budget' end as cut
      from (
        select p.*, a.affords, a.too_dear as none_is_enough, a.payers, b.whole_micros, b.left_micros,
          sum(p.price_micros) filter (where a.affords and (p.price_micros <= b.whole_micros or b.whole_micros is null))
            over (order by p.place) as running_micros
        from priced p join admitted a using (place) cross join overall_budget b
      ) o
    ),
    passed as materialized (
      select y.project_id, sum(y.price_micros - case
        when y.affords and d.cut is null then share_of(y.price_micros, cardinality(d.payers), array_position(d.payers, y.project_id))
        else 0 end)::bigint as micros
      from payer y join decided d using (place)
      where not y.too_dear
      group by 1
      union all
      select 0, sum(price_micros)::bigint from decided where cut = 'overall_budget'
    )`
}
