/**
 * Closing: a slot that ended without a capture becomes a gap row with its reason, never a silence. All that were missed,
 * for however long nothing ran, are closed by one statement.
 */
import type { Database, Transaction } from '../db/database.ts'
import { lockBudget } from '../plan/budget.ts'
import { joinInBulk } from '../plan/joins.ts'

export interface ClosedSlots {
  readonly budget: number
  readonly missed: number
}

/**
 * Closes what is over: cuts of the budget whose slot ended, tasks that were planned and never sent, and owed slots that
 * nobody even planned. A slot is owed when it ended while its watch was active. What is posted stays open until its
 * result is known, however late; a task that fails closes its slot itself (trigger `close_failed`).
 */
export async function closeEndedSlots(db: Database): Promise<ClosedSlots> {
  await db.sql`
    select ensure_history_partitions(
      coalesce(min(slot_of(p.every, greatest(p.first_slot, p.closed_to))), storerank_now()), storerank_now())
    from watch_period p where p.ended_at is null or p.closed_to < p.ended_at`
  return db.begin(async (tx) => {
    await lockBudget(tx)
    await joinInBulk(tx)
    return insertGaps(tx)
  })
}

/**
 * A slot may be over for one watch and still run for another, more seldom one on the same target: then it may yet be
 * measured. It stays open, and the period that owes it comes back to it.
 */
async function insertGaps(tx: Transaction): Promise<ClosedSlots> {
  const [row] = await tx<ClosedSlots[]>`
    with unsent as (
      delete from task k where k.state = 'planned' and k.slot_ends_at <= storerank_now()
      returning k.id, k.target_id, k.slot, k.post_id, k.status_code, k.problem
    ),
    freed as (update charge c set open = false from unsent u where c.task_id = u.id and c.open),
    uncut as (
      delete from budget_cut where slot_ends_at <= storerank_now() returning target_id, slot, reason
    ),
    running as materialized (
      select target_id, slot_of(every, storerank_now()) as slot from watch_period
      where ended_at is null and target_id is not null and slot_of(every, storerank_now()) >= first_slot
      union
      select target_id, slot from task where state = 'planned' and slot_ends_at > storerank_now()
      union
      select target_id, slot from budget_cut where slot_ends_at > storerank_now()
    ),
    owed as materialized (
      select p.id as period_id, p.target_id, s.slot, r.slot is not null as is_running
      from watch_period p
      cross join lateral generate_series(
        slot_of(p.every, greatest(p.first_slot, p.closed_to)),
        slot_of(p.every, least(storerank_now(), p.ended_at)), p.every) as s (slot)
      left join running r on r.target_id = p.target_id and r.slot = s.slot
      where p.target_id is not null and (p.ended_at is null or p.closed_to < p.ended_at)
        and s.slot + p.every > p.closed_to and s.slot + p.every <= least(storerank_now(), p.ended_at)
      union all
      -- Out at the service, for all we knew, when its slot was closed, and given back unsent since.
      select p.id, p.target_id, u.slot, r.slot is not null
      from (select target_id, slot from unsent union all select target_id, slot from uncut) u
      join watch_period p on p.target_id = u.target_id
      left join running r on r.target_id = u.target_id and r.slot = u.slot
      where slot_of(p.every, u.slot) = u.slot and u.slot >= p.first_slot and (p.last_slot is null or u.slot <= p.last_slot)
        and u.slot + p.every <= least(p.closed_to, p.ended_at)
    ),
    -- What a person has changed and not committed yet is left for the next time: behind the budget lock everybody would wait.
    settled as (
      select p.id from watch_period p
      where ((p.ended_at is null and slot_of(p.every, storerank_now()) > p.closed_to) or p.closed_to < p.ended_at)
        and not exists (select from owed o where o.period_id = p.id and o.is_running)
      for no key update skip locked
    ),
    closed_to as (
      update watch_period p set closed_to = least(storerank_now(), coalesce(p.ended_at, storerank_now()))
      from settled s where p.id = s.id
    ),
    gap as materialized (
      select o.target_id, o.slot,
        case when u.status_code is not null then 'failed' when u.id is null and c.reason is not null then 'budget'
          else 'missed' end as gap,
        case when u.id is not null then concat_ws(' ', 'It was planned, but its slot ended before it could be sent.',
          coalesce(p.problem, u.problem)) else coalesce(c.reason, 'Nothing ran while it was due.') end as reason
      from (select distinct target_id, slot from owed where not is_running) o
      left join unsent u using (target_id, slot)
      left join uncut c using (target_id, slot)
      left join post p on p.id = u.post_id
      where u.id is not null or not exists (select from task k where k.target_id = o.target_id and k.slot = o.slot)
    ),
    ranked as (
      insert into ranking (target_id, slot, gap, reason)
      select g.target_id, g.slot, g.gap, g.reason from gap g join target t on t.id = g.target_id
      where t.function in ('app_searches', 'app_list')
      on conflict (target_id, slot) do nothing returning gap
    ),
    described as (
      insert into app_snapshot (target_id, slot, gap, reason)
      select g.target_id, g.slot, g.gap, g.reason from gap g join target t on t.id = g.target_id
      where t.function in ('app_info', 'app_reviews')
      on conflict (target_id, slot) do nothing returning gap
    )
    select count(*) filter (where gap = 'budget') as budget, count(*) filter (where gap = 'missed') as missed
    from (select gap from ranked union all select gap from described) as closed`
  return row ?? { budget: 0, missed: 0 }
}
