/**
 * What is due: the slots that watches ask for now and that have neither a task nor a row in the history. Each is a row of `due_slot`
 * once, from when its slot begins until it is bought; a plan reads them piece by piece in the order of urgency, and never all watches.
 */
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { UnavailableError } from '../errors.ts'
import { withLedgerLock } from '../ledger/lock.ts'
import type { Fragment } from '../ledger/money.ts'
import { TIMINGS } from '../timings.ts'

/** A person's open transaction may hold the lock of a watch. Planning goes on without it, and the next plan opens its period. */
const OPENING_LOCK_TIMEOUT_MS = 2_000

/** Of several watches of a project on one target the oldest is followed. When it has ended, this opens the period of the next one. */
export async function openTwins(db: Database): Promise<void> {
  try {
    await db.begin(async (tx) => void (await tx`select start_twins_of_ended()`), {
      name: 'Opening watches',
      lockTimeoutMs: OPENING_LOCK_TIMEOUT_MS,
    })
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
  }
}

/**
 * Common table expressions `asked`, one row per (target, slot) and project that asks for it now, and `due`, one row per (target,
 * slot) with its `place` in the order of urgency: priority, then the time since the target was measured last. They read all
 * open periods, and are what `due_slot` has to agree with.
 */
export function dueNow(sql: SqlRunner): Fragment {
  return sql`
    asked as materialized (
      select p.target_id, slot_of(p.every, storerank_now()) as slot, p.project,
        max(p.depth) as depth, max(p.priority) as priority, max(slot_of(p.every, storerank_now()) + p.every) as slot_ends_at,
        bool_or(p.html) as html
      from watch_period p
      where p.ended_at is null and p.target_id is not null and slot_of(p.every, storerank_now()) >= p.first_slot
      group by 1, 2, 3
    ),
    due as materialized (
      select d.*, row_number() over (order by d.priority desc, d.captured_at nulls first, d.slot, d.target_id) as place
      from (
        select a.target_id, a.slot, t.store, t.function, t.captured_at, max(a.depth) as depth, max(a.priority) as priority,
          max(a.slot_ends_at) as slot_ends_at, bool_or(a.html) as html
        from asked a join target t on t.id = a.target_id
        where not exists (select from task k where k.target_id = a.target_id and k.slot = a.slot and k.state <> 'dropped')
          and not exists (select from ranking r where r.target_id = a.target_id and r.slot = a.slot
            and r.slot > storerank_now() - interval '32 days')
          and not exists (select from app_snapshot s where s.target_id = a.target_id and s.slot = a.slot
            and s.slot > storerank_now() - interval '32 days')
        group by 1, 2, 3, 4, 5
      ) d
    )`
}

/** Queues what has become due since the last plan. Where nothing has it reads a row for each interval of the watches. */
export async function queueDueSlots(db: Database): Promise<void> {
  await db.sql`
    update due_slot d set priority_order = now.priority_order, captured_at = now.captured_at
    from (
      select q.target_id, q.slot, coalesce((
          select -max(p.priority) from watch_period p
          where p.target_id = q.target_id and p.ended_at is null and slot_of(p.every, q.slot) = q.slot
        ), q.priority_order) as priority_order,
        coalesce((select t.captured_at from target t where t.id = q.target_id), '-infinity') as captured_at
      from due_slot q
    ) now
    where (d.target_id, d.slot) = (now.target_id, now.slot)
      and (d.priority_order, d.captured_at) <> (now.priority_order, now.captured_at)`
  while (await withLedgerLock(db, 'Planning', queueNextPeriods)) {}
}

/** Queues the slots of some periods that have to be looked at. Returns whether there were any. */
async function queueNextPeriods(tx: Transaction): Promise<boolean> {
  const [taken] = await tx<
    { ids: number[] }[]
  >`select take_due_periods('plan', ${TIMINGS.planPeriods}) as ids`
  const { ids = [] } = taken ?? {}
  if (ids.length === 0) return false
  await tx`
    insert into due_slot (target_id, slot, priority_order, captured_at)
    select d.target_id, d.slot, d.priority_order,
      coalesce((select t.captured_at from target t where t.id = d.target_id), '-infinity')
    from (
      select p.target_id, slot_of(p.every, n.present) as slot, -max(p.priority) as priority_order
      from watch_period p cross join (select storerank_now() as present offset 0) n
      where p.id = any(${ids}::bigint[]) and p.ended_at is null and p.target_id is not null
        and slot_of(p.every, n.present) >= p.first_slot
      group by 1, 2
    ) d
    order by 1, 2
    on conflict (target_id, slot) do update set priority_order = excluded.priority_order
    where due_slot.priority_order > excluded.priority_order`
  return true
}

/** A due slot by its place in the order of urgency. */
export interface DueSlot {
  readonly targetId: number
  /** Instants as Postgres writes them: -infinity is no Date, and a Date has no microseconds. */
  readonly slot: string
  readonly capturedAt: string
  readonly priorityOrder: number
}

/** The next due slots after one in the order of urgency, or the first. */
export async function readDueSlots(sql: SqlRunner, after: DueSlot | null, limit: number): Promise<DueSlot[]> {
  return sql<DueSlot[]>`
    select target_id as "targetId", slot::text, captured_at::text as "capturedAt", priority_order as "priorityOrder"
    from due_slot
    where ${
      after === null
        ? sql`true`
        : sql`(priority_order, captured_at, slot, target_id)
          > (${after.priorityOrder}::smallint, ${after.capturedAt}::text::timestamptz, ${after.slot}::text::timestamptz, ${after.targetId}::int)`
    }
    order by priority_order, captured_at, slot, target_id limit ${limit}`
}

/** `piece`: due slots as a relation, with their `place`. */
function pieceOf(sql: SqlRunner, slots: readonly DueSlot[]): Fragment {
  return sql`
    piece as materialized (
      select * from unnest(${slots.map((due) => due.targetId)}::int[], ${slots.map((due) => due.slot)}::text[]::timestamptz[])
        with ordinality as p (target_id, slot, place)
    )`
}

/**
 * `asked` and `due` of a piece of the due slots. Periods that ended meanwhile ask no more, and another plan may have bought
 * some of them. Tables that grow with the watches are read by the ids of the piece: a join would read all of them for each piece.
 */
export function duePiece(sql: SqlRunner, slots: readonly DueSlot[]): Fragment {
  const targets = sql`any(${slots.map((due) => due.targetId)}::int[])`
  return sql`
    ${pieceOf(sql, slots)},
    asked as materialized (
      select i.target_id, i.slot, i.place, p.project, max(p.depth) as depth, max(p.priority) as priority,
        max(i.slot + p.every) as slot_ends_at, bool_or(p.html) as html
      from watch_period p join piece i on i.target_id = p.target_id and i.slot = slot_of(p.every, (select storerank_now()))
      where p.target_id = ${targets} and p.ended_at is null and i.slot >= p.first_slot
      group by 1, 2, 3, 4
    ),
    due as materialized (
      select a.target_id, a.slot, t.store, t.function, t.captured_at, a.depth, a.priority, a.slot_ends_at, a.html, a.place
      from (
        select target_id, slot, place, max(depth) as depth, max(priority) as priority, max(slot_ends_at) as slot_ends_at,
          bool_or(html) as html
        from asked group by target_id, slot, place
      ) a join target t on t.id = a.target_id
      where t.id = ${targets}
        and (select count(*) from (
          select from task k where k.target_id = a.target_id and k.slot = a.slot and k.state <> 'dropped' limit 1) k) = 0
        and (select count(*) from (select from ranking r where r.target_id = a.target_id and r.slot = a.slot limit 1) r) = 0
        and (select count(*) from (select from app_snapshot s where s.target_id = a.target_id and s.slot = a.slot limit 1) s) = 0
    )`
}

/** Deletes what a plan has decided of a piece: all but what the budget cut, which the next plan looks at again. */
export async function forgetDecided(tx: Transaction, slots: readonly DueSlot[]): Promise<void> {
  await tx`
    with ${pieceOf(tx, slots)}
    delete from due_slot d using piece p
    where (d.target_id, d.slot) = (p.target_id, p.slot) and d.target_id = any(${slots.map((due) => due.targetId)}::int[])
      and not exists (select from budget_cut c where c.target_id = p.target_id and c.slot = p.slot offset 0)`
}

/** Makes the next plan and the next closing read all periods, as after a crash. The daily call bounds how long a mistake in what is due can last. */
export async function lookAtAllPeriods(db: Database): Promise<void> {
  await db.sql`delete from interval_progress`
}
