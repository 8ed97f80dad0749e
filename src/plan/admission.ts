/**
 * The one statement that decides what is due, what it costs and what the budget lets through. The plan inserts its
 * answer, the dry run only reads it, so that both always agree.
 */
import type postgres from 'postgres'
import type { Price } from '../account/prices.ts'
import type { SqlRunner } from '../db/database.ts'
import type { DayAndMonthBudget } from '../ledger/claim-post.ts'

/** Budgets that hold for all projects together, in micro-dollars; null is no limit of our own. */
export interface OverallBudget extends DayAndMonthBudget {
  /** What one plan may reserve. */
  readonly maxRunMicros: number | null
}

export interface AdmissionInput extends OverallBudget {
  readonly prices: readonly Price[]
}

/**
 * Common table expressions ending in two relations:
 * `decided`, one row per due (target, slot): price and `cut`, null when it is bought, else why not;
 * `paying`, one row per bought (target, slot): the ids of the projects that pay, in ascending order.
 *
 * - A shared target is priced once, at the largest depth and priority asked. Each project that asks sums full prices over
 *   its own queue; the target is admitted when at least one affords it, and those that do split it (`share_of`). The overall cut comes after.
 * - Raw pages cost nothing: the task brings them when anybody asks for them. Who asks once it is planned gets them from the
 *   next slot on.
 * - The queue is ordered by priority, then by how long ago the target was measured: with too little money everybody has
 *   their turn. What is dearer than a whole budget stands outside the queue, or it would block it for ever.
 * - What is `materialized` is computed once: the money of a project would else be summed for each of its targets.
 * - The caller holds the ledger's lock, taken in a statement of its own before this one: inside one statement two planners
 *   both see the old snapshot, and overspend.
 */
export function admission(sql: SqlRunner, input: AdmissionInput): postgres.PendingQuery<postgres.Row[]> {
  const { prices } = input
  return sql`
    price as (
      select * from unnest(
        ${prices.map((price) => price.store)}::text[], ${prices.map((price) => price.function)}::text[],
        ${prices.map((price) => price.billingUnitResults)}::int[],
        ${prices.map((price) => price.normalMicros)}::bigint[], ${prices.map((price) => price.highMicros)}::bigint[]
      ) as p (store, function, unit_results, normal_micros, high_micros)
    ),
    asked as materialized (
      select p.target_id, slot_of(p.every, storerank_now()) as slot, p.project,
        max(p.depth) as depth, max(p.priority) as priority, max(slot_of(p.every, storerank_now()) + p.every) as slot_ends_at,
        bool_or(p.html) as html
      from watch_period p
      where p.ended_at is null and p.target_id is not null and slot_of(p.every, storerank_now()) >= p.first_slot
      group by 1, 2, 3
    ),
    due as (
      select a.target_id, a.slot, t.store, t.function, t.captured_at, max(a.depth) as depth, max(a.priority) as priority,
        max(a.slot_ends_at) as slot_ends_at, bool_or(a.html) as html
      from asked a join target t on t.id = a.target_id
      where not exists (select from task k where k.target_id = a.target_id and k.slot = a.slot and k.state <> 'dropped')
        and not exists (select from ranking r where r.target_id = a.target_id and r.slot = a.slot
          and r.slot > storerank_now() - interval '32 days')
        and not exists (select from app_snapshot s where s.target_id = a.target_id and s.slot = a.slot
          and s.slot > storerank_now() - interval '32 days')
      group by 1, 2, 3, 4, 5
    ),
    priced as materialized (
      select d.*,
        task_price(d.depth, p.unit_results, case d.priority when 2 then p.high_micros else p.normal_micros end)
          as price_micros,
        row_number() over (order by d.priority desc, d.captured_at nulls first, d.slot, d.target_id) as place
      from due d join price p using (store, function)
    ),
    project_budget as materialized (
      select project_id, project, least(daily_micros, monthly_micros) as whole_micros,
        least(daily_micros - day_micros, monthly_micros - month_micros) as left_micros
      from project_money(storerank_now())
    ),
    overall_budget as materialized (
      -- What is left of the account's minute is no matter of a plan: only what a whole minute can never pay is.
      select least(min(limit_micros), (select minute_limit_micros from account_usage order by fetched_at desc limit 1))
          as whole_micros,
        min(limit_micros - used_micros) as left_micros
      from (
        select limit_micros, used_micros
        from overall_money(storerank_now(), ${input.maxDayMicros}::bigint, ${input.maxMonthMicros}::bigint)
        union all
        select ${input.maxRunMicros}::bigint, 0
      ) budget
    ),
    queued as (
      select a.target_id, a.slot, a.project, b.project_id, p.price_micros,
        coalesce(p.price_micros > b.whole_micros, false) as too_dear, b.left_micros,
        sum(p.price_micros) filter (where p.price_micros <= b.whole_micros or b.whole_micros is null)
          over (partition by a.project order by p.place) as running_micros
      from asked a join priced p using (target_id, slot) join project_budget b using (project)
    ),
    payer as materialized (
      select q.target_id, q.slot, q.project, q.project_id, q.price_micros, q.too_dear,
        not q.too_dear and (q.left_micros is null or q.running_micros <= q.left_micros) as affords
      from queued q
    ),
    admitted as materialized (
      select p.target_id, p.slot, p.place, p.price_micros, bool_or(y.affords) as affords, bool_and(y.too_dear) as too_dear
      from priced p join payer y using (target_id, slot)
      group by 1, 2, 3, 4
    ),
    overall as (
      select a.target_id, a.slot, coalesce(a.price_micros > b.whole_micros, false) as too_dear, b.left_micros,
        sum(a.price_micros) filter (where a.price_micros <= b.whole_micros or b.whole_micros is null)
          over (order by a.place) as running_micros
      from admitted a cross join overall_budget b
      where a.affords
    ),
    decided as materialized (
      select p.*, case
        when a.too_dear then 'dearer_than_project_budget'
        when not a.affords then 'project_budget'
        when o.too_dear then 'dearer_than_overall_budget'
        when o.running_micros > o.left_micros then 'overall_budget' end as cut
      from priced p join admitted a using (target_id, slot) left join overall o using (target_id, slot)
    ),
    paying as materialized (
      select y.target_id, y.slot, array_agg(y.project_id order by y.project_id) as payers
      from payer y join decided d using (target_id, slot)
      where y.affords and d.cut is null
      group by 1, 2
    )`
}
