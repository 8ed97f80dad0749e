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
 * `price`, one row per function of a store; `project_budget`, of each project what its days and months allow and what is left of that; and
 * `overall_budget`, the same of all together. Null is no limit.
 */
export function budgets(sql: SqlRunner, { prices, passed, ...budget }: AdmissionInput): Fragment {
  return sql`
    price as materialized (
      select * from unnest(
        ${prices.map((price) => price.store)}::text[], ${prices.map((price) => price.function)}::text[],
        ${prices.map((price) => price.billingUnitResults)}::int[],
        ${prices.map((price) => price.normalMicros)}::bigint[], ${prices.map((price) => price.highMicros)}::bigint[]
      ) with ordinality as p (store, function, unit_results, normal_micros, high_micros, endpoint)
    ),
    project_budget as materialized (
      select project_id, least(daily_micros, monthly_micros) as whole_micros,
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
        from overall_money(storerank_now(), ${budget.maxDayMicros}::bigint, ${budget.maxMonthMicros}::bigint)
        union all
        select ${budget.maxRunMicros}::bigint, ${passed.plannedMicros}::bigint
      ) budget
    )`
}

/**
 * Common table expressions over `due` and `barrier`, which name each due (target, slot) by its `place` in the queue. They end in:
 * `payer`, one row per due (target, slot) and project that asks for it and whose budget does not reach the whole queue: whether it affords it;
 * `decided`, one row per due (target, slot): price, `cut`, null when it is bought, else why not, and `payers`, the ids of the projects
 * that afford it, in ascending order, and `number`, from 0 within its endpoint, of what is bought; `alike`, how many of them have the same price and payers; `cuts`, those that are
 * not bought;
 * `passed`, what the queue of each project (`project.id`), and of all together (0), has used up beyond what is reserved.
 *
 * - A shared target is priced once, at the largest depth and priority asked. Each project that asks sums full prices over
 *   its own queue; the target is admitted when at least one affords it, and those that do split it
 *   (`share_of`). The overall cut comes after.
 * - Raw pages cost nothing: a task fetches them when at least one of its watches asks for them. A watch that asks after the task
 *   was planned gets them from the next slot on.
 * - The queue is ordered by priority, then by how long ago the target was measured: with too little money all targets are
 *   measured in turn. A target dearer than a whole budget stands outside the queue, because it would block the queue for ever.
 *   What stands behind a budget's `barrier` is less urgent than what waits for its money already.
 * - Queues are added up only of budgets that do not reach all of theirs: `short`, and `overall`.
 * - Where each budget reaches all of its queue (`uncut`), `decided` is `priced`: to join it with empty queues, and to copy its rows once
 *   more, was a tenth of a plan.
 * - `materialized` relations are computed once: otherwise the money of a project would be summed for each of its targets.
 * - The caller holds the ledger's lock, taken in a statement of its own before this one: inside one statement two planners
 *   both see the old snapshot, and overspend.
 */
export function admission(sql: SqlRunner, due: Fragment, input: AdmissionInput): Fragment {
  return sql`
    ${due},
    ${budgets(sql, input)},
    priced as materialized (
      select d.place, d.target_id, d.slot, d.slot_ends_at, d.depth, d.priority, d.html, d.askers, p.endpoint,
        task_price(d.depth, p.unit_results, case d.priority when 2 then p.high_micros else p.normal_micros end)
          as price_micros,
        row_number() over (partition by p.endpoint order by d.place) - 1 as number
      from due d join price p using (store, function)
    ),
    -- Most cost the same and are asked for by the same projects.
    priced_alike as materialized (select askers, price_micros, count(*) as slots from priced group by 1, 2),
    limit_of_project as materialized (
      select b.*, r.place as barrier from project_budget b left join barrier r on r.scope = b.project_id
      where b.left_micros is not null or r.place is not null
    ),
    limited as materialized (
      select a.place, b.project_id, a.price_micros, b.left_micros, b.barrier, coalesce(a.price_micros > b.whole_micros, false) as too_dear
      from (
        select p.place, p.price_micros, y.project_id from priced p cross join lateral unnest(p.askers) y (project_id)
        -- Else all would be unnested where no project has a limit.
        where exists (select from limit_of_project)
        -- Else each asker would be compared with each budget: 2,500 of them held the lock for three seconds a piece.
        offset 0
      ) a join limit_of_project b using (project_id)
    ),
    short as materialized (
      select project_id from limited
      group by project_id having bool_or(too_dear or barrier is not null) or sum(price_micros) > min(left_micros)
    ),
    payer as materialized (
      select q.place, q.project_id, q.price_micros, q.too_dear, q.is_behind,
        not q.too_dear and not q.is_behind and (q.left_micros is null or q.running_micros <= q.left_micros) as affords
      from (
        select *, coalesce(place >= barrier, false) as is_behind,
          sum(price_micros) filter (where not too_dear) over (partition by project_id order by place) as running_micros
        from limited where project_id in (select project_id from short)
      ) q
    ),
    refused as materialized (
      select place, array_agg(project_id) as projects, bool_and(too_dear) as too_dear from payer where not affords group by place
    ),
    admitted as not materialized (
      select p.*, r.too_dear, case when r.place is null then p.askers
        else array(select y.id from unnest(p.askers) y (id) where y.id <> all(r.projects)) end as payers
      from priced p left join refused r using (place)
    ),
    overall as materialized (
      select b.*, r.place as barrier
      from overall_budget b left join barrier r on r.scope = 0
      where r.place is not null
        or (select sum(price_micros * slots) > b.left_micros or max(price_micros) > b.whole_micros from priced_alike)
    ),
    overall_queue as materialized (
      select a.place, coalesce(a.price_micros > b.whole_micros, false) as too_dear, coalesce(a.place >= b.barrier, false) as is_behind,
        b.left_micros,
        sum(a.price_micros) filter (where a.price_micros <= b.whole_micros or b.whole_micros is null) over (order by a.place) as running_micros
      from overall b cross join admitted a where a.payers <> '{}'
    ),
    uncut as materialized (
      select true as is_uncut where not exists (select from refused) and not exists (select from overall)
    ),
    cut_down as materialized (
      select *, row_number() over (partition by endpoint, cut is null order by place) - 1 as number
      from (
        select a.place, a.target_id, a.slot, a.slot_ends_at, a.depth, a.priority, a.html, a.endpoint, a.price_micros, a.payers, case
          when a.payers <> '{}' then case
            when o.too_dear then 'dearer_than_overall_budget'
            when o.is_behind or o.running_micros > o.left_micros then 'overall_budget' end
          when a.too_dear then 'dearer_than_project_budget'
          else 'project_budget' end as cut, o.is_behind
        from admitted a left join overall_queue o using (place)
        where not exists (select from uncut)
      ) d
    ),
    decided as not materialized (
      select place, target_id, slot, slot_ends_at, depth, priority, html, endpoint, price_micros, askers as payers, null as cut,
        null::boolean as is_behind, number
      from priced where exists (select from uncut)
      union all
      select place, target_id, slot, slot_ends_at, depth, priority, html, endpoint, price_micros, payers, cut, is_behind, number
      from cut_down
    ),
    alike as materialized (
      select askers as payers, price_micros, true as is_bought, slots from priced_alike where exists (select from uncut)
      union all
      select payers, price_micros, cut is null, count(*) from cut_down group by 1, 2, 3
    ),
    cuts as materialized (
      select place, target_id, slot, slot_ends_at, price_micros, cut, is_behind from decided where cut is not null
    ),
    passed as materialized (
      select l.project_id, sum(l.price_micros - case
        when d.cut is null then coalesce(share_of(d.price_micros, cardinality(d.payers), array_position(d.payers, l.project_id)), 0)
        else 0 end)::bigint as micros
      from limited l join decided d using (place) left join payer y on y.place = l.place and y.project_id = l.project_id
      where not l.too_dear and y.is_behind is not true
      group by 1
      union all
      select 0, sum(price_micros)::bigint from cuts where cut = 'overall_budget' and not is_behind
    )`
}
