/**
 * Closing slots: a slot that ended without a capture becomes a gap with its reason. After a downtime of any length slots are closed in
 * bounded pieces with a commit between, so that claims and plans wait only for one piece.
 */
import type { Database, Transaction } from '../db/database.ts'
import { readByIndexes } from '../db/joins.ts'
import { closeUnsentTasks, hasMoreUnsentTasks } from '../ledger/close-unsent.ts'
import { withLedgerLock } from '../ledger/lock.ts'
import { TIMINGS } from '../timings.ts'

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

/** More slots than any period has: a period that waits for a running slot is looked at as a whole. */
const ALL_SLOTS = 1_000_000

/**
 * Closes the slots that are over: of budget cuts, of tasks that were planned and never sent, and owed slots that were not even planned.
 * A slot is owed when it ended while its watch was active. The slot of a `posted` task stays open until its result is known. A
 * task that fails closes its slot itself (trigger `close_failed`).
 * @param piece for tests: smaller pieces
 */
export async function closeEndedSlots(
  db: Database,
  piece: ClosingPiece = TIMINGS.closing,
): Promise<ClosedSlots> {
  await ensurePartitionsToClose(db)
  const total = { budget: 0, missed: 0 }
  const waiting: number[] = []
  const closeOnce = (read: (tx: Transaction) => Promise<number[]>, limits: ClosingPiece) =>
    withLedgerLock(db, 'Closing the slots', async (tx) => {
      await readByIndexes(tx)
      const hasMore = await hasMoreUnsentTasks(tx, limits.tasks)
      const closed = await closePiece(tx, hasMore ? [] : await read(tx), limits)
      total.budget += closed.budget
      total.missed += closed.missed
      return { ...closed, hasMore }
    })
  // A slot is not closed before its task: it would be neither in the history nor open, and its gap would not have the task's reason.
  const closeNext = async (read: (tx: Transaction) => Promise<number[]>, limits: ClosingPiece) => {
    for (;;) {
      const closed = await closeOnce(read, limits)
      if (!closed.hasMore) return closed
    }
  }
  for (;;) {
    const closed = await closeNext((tx) => takePeriods(tx, piece.periods), piece)
    waiting.push(...closed.waiting)
    if (!closed.goesOn) break
  }
  // Each may have hundreds of slots.
  const atOnce = Math.ceil(piece.periods / piece.slotsOfPeriod)
  for (let from = 0; from < waiting.length; from += atOnce) {
    await closeNext(async () => waiting.slice(from, from + atOnce), { ...piece, slotsOfPeriod: ALL_SLOTS })
  }
  return total
}

/** The slots of periods that were all looked at before have their partitions: it reads the others. */
async function ensurePartitionsToClose(db: Database): Promise<void> {
  await db.sql`
    select ensure_history_partitions(coalesce(min(slot), storerank_now()), storerank_now())
    from (
      select slot from interval_progress where work = 'close'
      union all
      -- A join would read all periods, as if many were due.
      select slot_of(p.every, greatest(p.first_slot, p.closed_to)) from watch_period p
      where p.id = any(array(select period_id from period_due where work = 'close')) and p.target_id is not null
      union all
      select slot_of(p.every, greatest(p.first_slot, p.closed_to)) from watch_period p
      where (select count(*) filter (where every > '0') = 0 or bool_or(slot is null and every > '0')
          from interval_progress where work = 'close')
        and (p.ended_at is null or p.closed_to < p.ended_at)
    ) first`
}

async function takePeriods(tx: Transaction, limit: number): Promise<number[]> {
  const [taken] = await tx<{ ids: number[] }[]>`select take_due_periods('close', ${limit}) as ids`
  return taken?.ids ?? []
}

interface ClosedPiece extends ClosedSlots {
  readonly goesOn: boolean
  /** Periods that wait for a slot that runs for another watch, and have more slots to close than the piece looked at. */
  readonly waiting: readonly number[]
}

/**
 * Closes one piece. A slot may be over for one watch and still run for another watch on the same target with a longer `every`: then it
 * may yet be measured. It stays open, and its period is looked at again when that ends.
 * @param ids the periods that it looks at
 */
async function closePiece(
  tx: Transaction,
  ids: readonly number[],
  piece: ClosingPiece,
): Promise<ClosedPiece> {
  const [row] = await tx<(ClosedSlots & { isFull: boolean; waiting: number[] })[]>`
    with ${closeUnsentTasks(tx, piece.tasks)},
    uncut as (
      delete from budget_cut where ctid = any(array(
        select ctid from budget_cut where slot_ends_at <= storerank_now() limit ${piece.tasks}))
      returning target_id, slot, reason
    ),
    ${owedSlots(tx, ids, piece)},
    waiting as materialized (
      select period_id as id, min(running_until) as at from owed where running_until is not null group by period_id
    ),
    settled as (
      update watch_period p set closed_to = d.horizon from due_period d
      where p.id = d.id and p.id = any(${ids}::bigint[]) and not exists (select from waiting w where w.id = d.id)
      returning p.id
    ),
    due_later as (
      insert into period_due (work, period_id, at)
      select 'close', d.id, coalesce(w.at, (select storerank_now())) from due_period d left join waiting w using (id)
      where w.id is not null or d.horizon < d.ends
      union all
      select 'close', l.id, storerank_now() + interval '1 minute' from locked l
    ),
    ${gaps(tx)}
    select count(*) filter (where gap = 'budget') as budget, count(*) filter (where gap = 'missed') as missed,
      (select count(*) from uncut) >= ${piece.tasks} as "isFull",
      array(select d.id from due_period d join waiting w using (id) where d.horizon < d.ends) as waiting
    from (select gap from ranked union all select gap from described) as closed`
  const { budget = 0, missed = 0, isFull = false, waiting = [] } = row ?? {}
  return { budget, missed, waiting, goesOn: isFull || ids.length > 0 }
}

/**
 * `due_period`: periods with slots to close, each to a horizon of a bounded number of its slots; `owed`: those slots of them that
 * are not in the history, and until when each may yet be measured. What belongs to a slot is read by a subquery, which reads a few entries
 * of an index, where a join would read the whole table.
 */
function owedSlots(tx: Transaction, ids: readonly number[], piece: ClosingPiece) {
  const present = tx`(select storerank_now())`
  return tx`
    open_period as materialized (
      select p.id from watch_period p
      where p.id = any(${ids}::bigint[]) and p.target_id is not null
        and ((p.ended_at is null and slot_of(p.every, ${present}) > p.closed_to) or p.closed_to < p.ended_at)
    ),
    -- Periods that a person's open transaction has locked are left for the next time: waiting here would hold the ledger's lock.
    due_period as materialized (
      select p.id, p.target_id, p.every, p.first_slot, p.closed_to, e.ends,
        least(e.ends, slot_of(p.every, greatest(p.first_slot, p.closed_to)) + p.every * ${piece.slotsOfPeriod}::int) as horizon
      from watch_period p cross join lateral (select least(${present}, p.ended_at) as ends) e
      where p.id = any(${ids}::bigint[]) and p.target_id is not null
        and ((p.ended_at is null and slot_of(p.every, ${present}) > p.closed_to) or p.closed_to < p.ended_at)
      for no key update of p skip locked
    ),
    locked as (select o.id from open_period o where not exists (select from due_period d where d.id = o.id)),
    owed as materialized (
      select o.*, greatest(
        (select max(o.slot + p.every) from watch_period p
          where p.target_id = o.target_id and p.ended_at is null and slot_of(p.every, ${present}) = o.slot and p.first_slot <= o.slot),
        (select max(k.slot_ends_at) from task k
          where k.target_id = o.target_id and k.slot = o.slot and k.state = (select 'planned') and k.state <> 'dropped'
            and k.slot_ends_at > ${present}),
        (select max(c.slot_ends_at) from budget_cut c
          where c.target_id = o.target_id and c.slot = o.slot and c.slot_ends_at > ${present})) as running_until
      from (
        select p.id as period_id, p.target_id, s.slot
        from due_period p
        cross join lateral generate_series(
          slot_of(p.every, greatest(p.first_slot, p.closed_to)), slot_of(p.every, p.horizon), p.every) as s (slot)
        where s.slot + p.every > p.closed_to and s.slot + p.every <= p.horizon
        union all
        -- Slots of tasks that were posting or posted when their period was closed, and were released and dropped since.
        select null, u.target_id, u.slot
        from (select target_id, slot from unsent union all select target_id, slot from uncut) u
        where exists (
          select from watch_period p
          where p.target_id = u.target_id and slot_of(p.every, u.slot) = u.slot and u.slot >= p.first_slot
            and (p.last_slot is null or u.slot <= p.last_slot) and u.slot + p.every <= least(${present}, p.ended_at)
          offset 0)
      ) o
      where not exists (select from ranking_row r where r.target_id = o.target_id and r.slot = o.slot offset 0)
        and not exists (select from app_snapshot s where s.target_id = o.target_id and s.slot = o.slot offset 0)
    )`
}

/** `gap`: the reason of each owed slot, which is written to `ranking` or `app_snapshot`; `ranked` has to be read, or nothing is written. */
function gaps(tx: Transaction) {
  return tx`
    gap as materialized (
      select o.target_id, o.slot, (select t.function from target t where t.id = o.target_id) as function,
        case when u.status_code is not null then 'failed' when u.id is null and c.reason is not null then 'budget'
          else 'missed' end as gap,
        case when u.id is not null then concat_ws(' ', 'It was planned, but its slot ended before it could be sent.', u.problem)
          else coalesce(c.reason, 'Nothing ran while it was due.') end as reason
      from (select distinct target_id, slot from owed where running_until is null) o
      left join (select distinct on (target_id, slot) * from unsent order by target_id, slot, status_code nulls last) u
        using (target_id, slot)
      left join uncut c using (target_id, slot)
      where u.id is not null
        or not exists (select from task k where k.target_id = o.target_id and k.slot = o.slot and k.state <> 'dropped' offset 0)
    ),
    ranked as materialized (
      select store_gaps(array_agg(g.target_id), array_agg(g.slot), array_agg(g.gap), array_agg(g.reason)) as gap
      from gap g where g.function in ('app_searches', 'app_list')
    ),
    described as (
      insert into app_snapshot (target_id, slot, gap, reason)
      select g.target_id, g.slot, g.gap, g.reason from gap g where g.function in ('app_info', 'app_reviews')
      on conflict (target_id, slot) do nothing returning gap
    )`
}
