/**
 * What the service charges, compared with what it states: a billing unit or a price that does not fit is
 * learned, told once, and reserved from then on (`unit_price`).
 */
import type { SqlRunner, Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { type Statement, sql } from '../db/sql.ts'
import type { Logger } from '../log.ts'
import { insertSpendChanges } from './money.ts'

/** What costs more times as much as is known is believed when a second charge says the same. */
const DOUBTED_FROM_TIMES = 10

/**
 * `learned`: upserts what a billing unit was charged at, where it has changed or was last confirmed an hour
 * ago. Stands behind `known`.
 *
 * - The tasks of one function and priority fit one billing unit when each cost is a whole number of units at
 *   the listed price. That is the known unit or the stated one where it fits, and else the least that does:
 *   it reserves the most at other depths.
 * - A smaller unit and a dearer one cost the same at one depth. Until the charges of another depth say which
 *   it is, what is reserved is the most by either: the dearer unit, or the whole charge for each such depth.
 * - Costs that fit no unit, or another one than was learned before, are a price: the dearest of them. What
 *   the known price and unit explain is believed to be that: twice the price is half a unit at some depths.
 * - A task that costs more than DOUBTED_FROM_TIMES as much as is known says nothing beside others that do
 *   not. When it is alone, its price is doubted until a second charge is as dear: one wrong number must not
 *   keep a function from being bought.
 */
export function learnedPrices(): Statement {
  return sql`
    ${judgedCharges()},
    fitted as (
      select *, case
        when is_known then unit_results
        when unit_results between least_results and coalesce(most_results, unit_results) then unit_results
        when stated_results between least_results and coalesce(most_results, stated_results)
          then stated_results
        when unit_results = stated_results and least_results <= coalesce(most_results, least_results)
          then least_results end as fitting_results
      from judged
    ),
    weighed as (
      select *, dearest_stated_micros % listed_micros = 0
        and fitting_results * dearest_stated_micros >= stated_results * listed_micros as is_safe
      from fitted
    ),
    priced as (
      select store, function, priority, stated_results, service_id, is_doubted,
        case when is_known and is_reserved then reserved_results when is_known then null
          when is_stated and fitting_results < stated_results
          then case when is_safe then stated_results else dearest_depth end end as reserved_results,
        case when is_known and is_reserved then reserved_micros when is_known then null
          when is_stated and fitting_results < stated_results
          then case when is_safe then dearest_stated_micros else told_micros end end as reserved_micros,
        case when is_known then known_micros when fitting_results is not null then listed_micros
          when least_results is null then dearest_micros else dearest_stated_micros end as unit_micros,
        case when fitting_results is not null then fitting_results
          when least_results is null then unit_results else stated_results end as unit_results
      from weighed
    ),
    learned as (
      insert into charged_price as c (
        store, function, priority, unit_micros, unit_results, reserved_micros, reserved_results, service_id,
        is_doubted)
      select store, function, priority, unit_micros, nullif(unit_results, stated_results), reserved_micros,
        reserved_results, service_id, is_doubted
      from priced order by store, function, priority
      on conflict (store, function, priority) do update set unit_micros = excluded.unit_micros,
        unit_results = excluded.unit_results, reserved_micros = excluded.reserved_micros,
        reserved_results = excluded.reserved_results, service_id = excluded.service_id,
        is_doubted = excluded.is_doubted and not c.is_doubted, charged_at = clock_timestamp(),
        learned_at = case when ${isSame()} then c.learned_at else clock_timestamp() end,
        is_told = c.is_told and ${isSame()}
      where not ${isSame()} or c.charged_at < clock_timestamp() - interval '1 hour'
    )`
}

/** `judged`: what the charges of each kind of task say of its price and its billing unit. */
function judgedCharges(): Statement {
  return sql`
    told as (
      select u.store, u.function, u.priority, u.billed_results as unit_results, u.stated_results,
        u.listed_micros, nullif(u.unit_results, u.billed_results) as reserved_results,
        u.unit_micros as reserved_micros, f.service_id, f.told_micros, f.depth,
        f.told_micros > ${DOUBTED_FROM_TIMES} * task_price(f.depth, u.unit_results,
          u.unit_micros) as is_outlier,
        f.told_micros = task_price(f.depth, u.billed_results, u.billed_micros) as is_known,
        f.told_micros = task_price(f.depth, u.unit_results, u.unit_micros) as is_reserved,
        f.told_micros % task_price(f.depth, u.stated_results, 1) = 0 as is_stated,
        u.billed_micros as known_micros,
        ceil(f.told_micros::numeric / task_price(f.depth, u.billed_results, 1))::bigint as unit_micros,
        ceil(f.told_micros::numeric / task_price(f.depth, u.stated_results, 1))::bigint as stated_micros,
        case when f.told_micros % l.micros = 0 and f.told_micros / l.micros between 1 and f.depth
          then f.told_micros / l.micros end as units
      from known f join target t on t.id = f.target_id
      join unit_price u on u.store = t.store and u.function = t.function and u.priority = f.priority
      cross join lateral (select nullif(u.listed_micros, 0) as micros) l
      where f.told_micros is not null
    ),
    usual as (
      select * from (
        select *, bool_and(is_outlier) over (partition by store, function, priority) as are_all_outliers
        from told
      ) t
      where are_all_outliers or not is_outlier
    ),
    judged as (
      select store, function, priority, unit_results, stated_results, listed_micros, known_micros,
        reserved_results, reserved_micros, bool_and(is_known) as is_known,
        bool_and(is_reserved) and reserved_results is not null as is_reserved,
        bool_and(is_stated) and min(stated_micros) = max(stated_micros) as is_stated,
        max(told_micros) as told_micros,
        (array_agg(depth order by told_micros desc, depth))[1] as dearest_depth,
        max(unit_micros) as dearest_micros,
        max(stated_micros) as dearest_stated_micros,
        (array_agg(service_id order by unit_micros desc))[1] as service_id,
        bool_and(is_outlier) and count(*) = 1 as is_doubted,
        case when bool_and(units is not null) then max(ceil(depth::numeric
          / units))::int end as least_results,
        -- A single unit may be of any size.
        min(case when units > 1 then ceil(depth::numeric / (units - 1))::int - 1 end) as most_results
      from usual group by 1, 2, 3, 4, 5, 6, 7, 8, 9
    )`
}

function isSame(): Statement {
  return sql`(c.unit_micros, c.unit_results, c.reserved_micros, c.reserved_results, c.is_doubted)
    is not distinct from (excluded.unit_micros, excluded.unit_results, excluded.reserved_micros,
      excluded.reserved_results, excluded.is_doubted and not c.is_doubted)`
}

/** Logs what the service charges otherwise than it states, once, in the words of `task_problem`. */
export async function tellPrices(db: SqlRunner, log: Logger): Promise<void> {
  try {
    const rows = await db<{ store: string; function: string; message: string }[]>`
      with told as (
        update charged_price set is_told = true where not is_told returning store, function
      )
      select distinct p.store, p.function, p.message
      from told join task_problem p using (store, function) where p.kind = 'price'`
    for (const { message, ...of } of rows)
      log.warn({ ...of, problem: message }, 'charged otherwise than stated')
  } catch (error) {
    log.debug({ err: error }, 'what was charged otherwise than stated could not be read')
  }
}

/**
 * What is known of the price of a function in a store: whether a charge of the last days said it and none is
 * doubted; whether one task alone was charged much more, and the account's price list was not read since.
 */
export async function readPriceKnowledge(
  db: SqlRunner,
  { store, function: fn }: { readonly store: string; readonly function: string },
) {
  const rows = await db<{ isKnown: boolean; isDoubted: boolean; isListOld: boolean }[]>`
    select count(*) > 0 and not coalesce(bool_or(c.is_doubted), false) as "isKnown",
      coalesce(bool_or(c.is_doubted), false) as "isDoubted",
      coalesce(bool_or(c.is_doubted and not exists (
        select from account_usage u where u.fetched_at > c.charged_at)), false) as "isListOld"
    from charged_price c
    where c.store = ${store} and c.function = ${fn} and c.charged_at > now() - interval '8 days'`
  return oneRow(rows)
}

/** Learns the prices of tasks of `audit_found` that cost more than was told, before they are adjusted. */
export async function learnFromList(tx: Transaction): Promise<void> {
  await tx`
    with known as (
      select k.service_id, k.target_id, k.priority, k.depth, f.service_micros as told_micros
      from audit_found f join task k using (service_id)
      cross join lateral (
        select sum(c.amount_micros) filter (where c.kind in ('charge', 'duplicate')) as charged,
          sum(c.amount_micros) filter (where c.kind = 'adjustment') as adjusted
        from charge c where c.service_id = f.service_id
      ) booked
      where f.kind = 'cost' and f.service_micros > booked.charged
        and coalesce(booked.adjusted, 0) <> f.service_micros - f.our_micros
    ),
    ${learnedPrices()}
    select`
}

/**
 * Makes our charges equal to the cost in the service's own list (`audit_found`): adjustments are split and
 * dated like their charges. Idempotent.
 * @returns how many tasks have a new or changed adjustment
 */
export async function adjustCharges(tx: Transaction): Promise<number> {
  const { adjusted } = oneRow(
    await tx<{ adjusted: number }[]>`
    with payer as (
      select c.*, f.service_micros - f.our_micros as difference,
        row_number() over (partition by c.service_id order by c.project_id) as place,
        (count(*) over (partition by c.service_id))::int as payers
      from audit_found f join charge c on c.service_id = f.service_id and c.kind in ('charge', 'duplicate')
      where f.kind = 'cost'
    ),
    due as (
      select * from (
        select p.*, share_of(p.difference, p.payers, p.place) as due_micros,
          coalesce(b.amount_micros, 0) as booked_micros
        from payer p left join charge b on (b.service_id, b.kind, b.project_id)
          = (p.service_id, 'adjustment', p.project_id)
      ) d
      where due_micros <> booked_micros
    ),
    adjusted as (
      insert into charge (kind, at, project_id, amount_micros, target_id, slot, service_id)
      select 'adjustment', at, project_id, due_micros, target_id, slot, service_id from due
      on conflict (service_id, kind, project_id) do update set amount_micros = excluded.amount_micros
    ),
    -- What was learned of a charge that was too high is doubted until another one says the same.
    doubted as (
      update charged_price c set is_doubted = true, is_told = false
      from due where c.service_id = due.service_id and due.difference < 0
    ),
    ${insertSpendChanges(sql`
      select project_id, at, 'adjustment' as kind, due_micros - booked_micros as micros from due`)}
    select count(distinct service_id) as adjusted from due`,
  )
  return adjusted
}
