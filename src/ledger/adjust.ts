/** `adjust`: an adjustment makes our charges equal to the cost in the service's own list. */
import type { Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { sql } from '../db/sql.ts'
import { insertSpendChanges } from './money.ts'
import { learnedPrices } from './prices.ts'

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
 * Writes the adjustments of `audit_found`, split and dated like their charges. Idempotent.
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
