/**
 * Closing: a slot that ended without a capture becomes a gap row with its reason, never a silence. All that were missed,
 * for however long nothing ran, are closed by one statement.
 */
import type { Database, Transaction } from '../db/database.ts'
import { lockBudget } from '../plan/budget.ts'

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
      coalesce(min(greatest(p.first_slot, p.closed_to - p.every)), storerank_now()), storerank_now())
    from watch_period p where p.ended_at is null or p.closed_to < p.ended_at`
  return db.sql.begin(async (tx) => {
    await lockBudget(tx)
    const closed = await insertGaps(tx)
    await tx`
      update watch_period set closed_to = least(storerank_now(), coalesce(ended_at, storerank_now()))
      where (ended_at is null and slot_of(every, storerank_now()) > closed_to) or closed_to < ended_at`
    return closed
  }) as Promise<ClosedSlots>
}

async function insertGaps(tx: Transaction): Promise<ClosedSlots> {
  const [row] = await tx<ClosedSlots[]>`
    with unsent as (
      delete from task k where k.state = 'planned' and k.slot_ends_at <= storerank_now()
      returning k.id, k.target_id, k.slot, k.post_id
    ),
    freed as (update charge c set open = false from unsent u where c.task_id = u.id and c.open),
    uncut as (
      delete from budget_cut where slot_ends_at <= storerank_now() returning target_id, slot, reason
    ),
    owed as (
      select distinct p.target_id, s.slot
      from watch_period p
      cross join lateral generate_series(
        slot_of(p.every, greatest(p.first_slot, p.closed_to - p.every)),
        slot_of(p.every, least(storerank_now(), p.ended_at)), p.every) as s (slot)
      where p.target_id is not null and (p.ended_at is null or p.closed_to < p.ended_at)
        and s.slot >= p.first_slot and (p.last_slot is null or s.slot <= p.last_slot)
        and s.slot + p.every > p.closed_to and s.slot + p.every <= least(storerank_now(), p.ended_at)
    ),
    gap as materialized (
      select u.target_id, u.slot, 'missed' as gap, 'It was planned, but its slot ended before it could be sent.'
        || coalesce(' ' || p.problem, '') as reason
      from unsent u left join post p on p.id = u.post_id
      union all
      select target_id, slot, 'budget', reason from uncut
      union all
      select o.target_id, o.slot, 'missed', 'Nothing ran while it was due.'
      from owed o
      where not exists (select from task k where k.target_id = o.target_id and k.slot = o.slot)
        and not exists (select from budget_cut c where c.target_id = o.target_id and c.slot = o.slot)
    ),
    ranked as (
      insert into ranking (target_id, slot, gap, reason)
      select g.target_id, g.slot, g.gap, g.reason from gap g join target t on t.id = g.target_id
      where t.function = 'app_searches'
      on conflict (target_id, slot) do nothing returning gap
    ),
    described as (
      insert into app_snapshot (target_id, slot, gap, reason)
      select g.target_id, g.slot, g.gap, g.reason from gap g join target t on t.id = g.target_id
      where t.function = 'app_info'
      on conflict (target_id, slot) do nothing returning gap
    )
    select count(*) filter (where gap = 'budget') as budget, count(*) filter (where gap = 'missed') as missed
    from (select gap from ranked union all select gap from described) as closed`
  return row ?? { budget: 0, missed: 0 }
}
