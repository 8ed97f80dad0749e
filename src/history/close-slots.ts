/**
 * Closing slots: a slot that ended without a capture becomes a gap with its reason. After a downtime of any length slots are closed in
 * bounded pieces with a commit between, so that claims and plans wait only for one piece.
 */
import type { Database, Transaction } from '../db/database.ts'
import { closeUnsentTasks } from '../ledger/close-unsent.ts'
import { withLedgerLock } from '../ledger/lock.ts'
import { disableNestedLoops } from '../plan/joins.ts'

export interface ClosedSlots {
  readonly budget: number
  readonly missed: number
}

/** The most that one piece handles: unsent tasks, cuts, periods, and slots of each period. */
export interface ClosingPiece {
  readonly tasks: number
  readonly periods: number
  readonly slotsOfPeriod: number
}

const PIECE: ClosingPiece = { tasks: 10_000, periods: 5_000, slotsOfPeriod: 24 }
/** More slots than any period has: a period that waits for a running slot is looked at as a whole. */
const ALL_SLOTS = 1_000_000

/**
 * Closes the slots that are over: of budget cuts, of tasks that were planned and never sent, and owed slots that were not even planned.
 * A slot is owed when it ended while its watch was active. The slot of a `posted` task stays open until its result is known. A
 * task that fails closes its slot itself (trigger `close_failed`).
 * @param piece for tests: smaller pieces
 */
export async function closeEndedSlots(db: Database, piece = PIECE): Promise<ClosedSlots> {
  await db.sql`
    select ensure_history_partitions(
      coalesce(min(slot_of(p.every, greatest(p.first_slot, p.closed_to))), storerank_now()), storerank_now())
    from watch_period p where p.ended_at is null or p.closed_to < p.ended_at`
  const total = { budget: 0, missed: 0 }
  const closeNext = async (isWaiting: boolean, limits: ClosingPiece) => {
    const closed = await withLedgerLock(db, 'Closing the slots', async (tx) => {
      await disableNestedLoops(tx)
      return closePiece(tx, isWaiting, limits)
    })
    total.budget += closed.budget
    total.missed += closed.missed
    return closed.goesOn
  }
  while (await closeNext(false, piece)) {}
  await closeNext(true, { ...piece, periods: ALL_SLOTS, slotsOfPeriod: ALL_SLOTS })
  return total
}

/**
 * Closes one piece. A slot may be over for one watch and still run for another watch on the same target with a longer `every`: then it
 * may yet be measured. It stays open, and a later piece looks at its period again.
 * @param isWaiting the periods that wait for such a slot, or all others
 */
async function closePiece(
  tx: Transaction,
  isWaiting: boolean,
  piece: ClosingPiece,
): Promise<ClosedSlots & { readonly goesOn: boolean }> {
  const [row] = await tx<(ClosedSlots & { goesOn: boolean })[]>`
    with ${closeUnsentTasks(tx, piece.tasks)},
    uncut as (
      delete from budget_cut where ctid = any(array(
        select ctid from budget_cut where slot_ends_at <= storerank_now() limit ${piece.tasks}))
      returning target_id, slot, reason
    ),
    ${owedSlots(tx, isWaiting, piece)},
    settled as (
      update watch_period p set closed_to = d.horizon from due_period d
      where p.id = d.id and not exists (select from owed o where o.period_id = d.id and o.is_running)
      returning p.id
    ),
    ${gaps(tx)}
    select count(*) filter (where gap = 'budget') as budget, count(*) filter (where gap = 'missed') as missed,
      (select count(*) from unsent) >= ${piece.tasks} or (select count(*) from uncut) >= ${piece.tasks}
        or (exists (select from settled) and ((select count(*) from due_period) >= ${piece.periods}
          or exists (select from due_period where horizon < ends))) as "goesOn"
    from (select gap from ranked union all select gap from described) as closed`
  return row ?? { budget: 0, missed: 0, goesOn: false }
}

/**
 * `due_period`: periods with slots to close, each to a horizon of a bounded number of its slots; `owed`: those slots, and
 * whether each may yet be measured.
 */
function owedSlots(tx: Transaction, isWaiting: boolean, piece: ClosingPiece) {
  return tx`
    running as materialized (
      select target_id, slot_of(every, storerank_now()) as slot from watch_period
      where ended_at is null and target_id is not null and slot_of(every, storerank_now()) >= first_slot
      union
      select target_id, slot from task where state = 'planned' and slot_ends_at > storerank_now()
      union
      select target_id, slot from budget_cut where slot_ends_at > storerank_now()
    ),
    due as not materialized (
      select p.*, e.ends from watch_period p cross join lateral (select least(storerank_now(), p.ended_at) as ends) e
      where (p.ended_at is null and slot_of(p.every, storerank_now()) > p.closed_to) or p.closed_to < p.ended_at
    ),
    waiting as materialized (
      select distinct d.id from due d join running r on r.target_id = d.target_id
      where slot_of(d.every, r.slot) = r.slot and r.slot >= slot_of(d.every, greatest(d.first_slot, d.closed_to))
        and r.slot + d.every <= d.ends
    ),
    -- Periods that a person's open transaction has locked are left for the next time: waiting here would hold the ledger's lock.
    due_period as materialized (
      select p.id, p.target_id, p.every, p.first_slot, p.closed_to, e.ends,
        least(e.ends, slot_of(p.every, greatest(p.first_slot, p.closed_to)) + p.every * ${piece.slotsOfPeriod}::int) as horizon
      from watch_period p cross join lateral (select least(storerank_now(), p.ended_at) as ends) e
      where ((p.ended_at is null and slot_of(p.every, storerank_now()) > p.closed_to) or p.closed_to < p.ended_at)
        and (p.id in (select id from waiting)) = ${isWaiting}
      order by p.closed_to limit ${piece.periods}
      for no key update of p skip locked
    ),
    owed as materialized (
      select p.id as period_id, p.target_id, s.slot, r.slot is not null as is_running
      from due_period p
      cross join lateral generate_series(
        slot_of(p.every, greatest(p.first_slot, p.closed_to)), slot_of(p.every, p.horizon), p.every) as s (slot)
      left join running r on r.target_id = p.target_id and r.slot = s.slot
      where p.target_id is not null and s.slot + p.every > p.closed_to and s.slot + p.every <= p.horizon
      union all
      -- Slots of tasks that were posting or posted when their period was closed, and were released and dropped since.
      select p.id, p.target_id, u.slot, r.slot is not null
      from (select target_id, slot from unsent union all select target_id, slot from uncut) u
      join watch_period p on p.target_id = u.target_id
      left join running r on r.target_id = u.target_id and r.slot = u.slot
      where slot_of(p.every, u.slot) = u.slot and u.slot >= p.first_slot and (p.last_slot is null or u.slot <= p.last_slot)
        and u.slot + p.every <= least(storerank_now(), p.ended_at)
    )`
}

/** `gap`: the reason of each owed slot, which is written to `ranking` or `app_snapshot`. */
function gaps(tx: Transaction) {
  return tx`
    gap as materialized (
      select o.target_id, o.slot,
        case when u.status_code is not null then 'failed' when u.id is null and c.reason is not null then 'budget'
          else 'missed' end as gap,
        case when u.id is not null then concat_ws(' ', 'It was planned, but its slot ended before it could be sent.', u.problem)
          else coalesce(c.reason, 'Nothing ran while it was due.') end as reason
      from (select distinct target_id, slot from owed where not is_running) o
      left join (select distinct on (target_id, slot) * from unsent order by target_id, slot, status_code nulls last) u
        using (target_id, slot)
      left join uncut c using (target_id, slot)
      where u.id is not null
        or not exists (select from task k where k.target_id = o.target_id and k.slot = o.slot and k.state <> 'dropped')
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
    )`
}
