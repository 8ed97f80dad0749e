/**
 * `collect`: the guard under which every result is stored: history, task state and refund in one statement.
 */
import { type Statement, sql } from '../db/sql.ts'
import { insertSpendChanges, newCharges } from './money.ts'

/**
 * Ends the task of each result as `collected`, and refunds the billing units that were paid for and not
 * returned, split like the charge (spec: Task posting, rule 3), by the unit that the service bills now. Takes
 * `result` (service_id, status_code, problem, results_returned); gives `collected` (id, service_id,
 * target_id, slot, depth), one row for each result whose task was `posted`.
 */
export function collectTasks(): Statement {
  return sql`
    open as (
      select k.id, k.service_id from task k
      where k.service_id in (select service_id from result) and k.state = 'posted'
      order by k.id for update
    ),
    collected as (
      update task k set state = 'collected', ended_at = clock_timestamp(), status_code = r.status_code,
        problem = r.problem, fetching_until = null
      from open o join result r using (service_id)
      where k.id = o.id
      returning k.id, k.service_id, k.target_id, k.slot, k.depth, r.results_returned
    ),
    billed as (
      select k.*, u.units as units_posted,
        u.units - greatest(1, ceil(k.results_returned::numeric / p.unit_results)) as units_back
      from collected k join target t on t.id = k.target_id
      join unit_price p on p.store = t.store and p.function = t.function and p.priority = 1
      cross join lateral (select task_price(k.depth, p.unit_results, 1) as units) u
      where k.results_returned < k.depth
    ),
    paid as (
      select k.*, c.project_id,
        floor((sum(c.amount_micros) over same_task) * k.units_back / k.units_posted)::bigint as back_micros,
        row_number() over (same_task order by c.project_id) as place, (count(*) over same_task)::int as payers
      from billed k join charge c on c.service_id = k.service_id and c.kind = 'charge'
      where k.units_back > 0
      window same_task as (partition by c.service_id)
    ),
    refunded as (
      insert into charge (kind, project_id, amount_micros, target_id, slot, service_id)
      select 'refund', project_id, -share_of(back_micros, payers, place), target_id, slot, service_id
      from paid where back_micros > 0
      on conflict do nothing
      returning project_id, at, kind, amount_micros
    ),
    ${insertSpendChanges(newCharges('refunded'))}`
}
