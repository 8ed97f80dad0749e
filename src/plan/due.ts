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
 * Common table expressions `due`, one row per (target, slot) with its `place` in the order of urgency: priority, then the time since
 * the target was measured last; and `asked`, one row per place and project that asks for it now. They read all open periods, and are
 * what `due_slot` has to agree with.
 */
export function dueNow(sql: SqlRunner): Fragment {
  return sql`
    wanted as materialized (
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
        from wanted a join target t on t.id = a.target_id
        where not exists (select from task k where k.target_id = a.target_id and k.slot = a.slot and k.state <> 'dropped')
          and not exists (select from ranking_row r where r.target_id = a.target_id and r.slot = a.slot
            and r.slot > storerank_now() - interval '32 days')
          and not exists (select from app_snapshot s where s.target_id = a.target_id and s.slot = a.slot
            and s.slot > storerank_now() - interval '32 days')
        group by 1, 2, 3, 4, 5
      ) d
    ),
    asked as materialized (select d.place, w.project from wanted w join due d using (target_id, slot))`
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

/** A place in the order of urgency: that of a due slot. */
export interface DuePlace {
  readonly targetId: number
  /** Instants as Postgres writes them: -infinity is no Date, and a Date has no microseconds. */
  readonly slot: string
  readonly capturedAt: string
  readonly priorityOrder: number
}

/** Before all due slots, and behind them. */
export const FIRST_PLACE: DuePlace = {
  targetId: 0,
  slot: '-infinity',
  capturedAt: '-infinity',
  priorityOrder: -32_768,
}
const LAST_PLACE: DuePlace = {
  targetId: 2 ** 31 - 1,
  slot: 'infinity',
  capturedAt: 'infinity',
  priorityOrder: 32_767,
}

/** Due slots behind one place up to another, at most so many. */
export interface DueRange {
  readonly after: DuePlace
  /** Null: all that are left. */
  readonly to: DuePlace | null
  readonly slots: number
}

/**
 * The place up to which there are so many due slots behind another; null when there are fewer. The order names the table's own `slot`: by that
 * of the answer, a text, it would sort all that are left.
 */
export async function readPieceEnd(sql: SqlRunner, after: DuePlace, slots: number): Promise<DuePlace | null> {
  const [end] = await sql<DuePlace[]>`
    select target_id as "targetId", slot::text, captured_at::text as "capturedAt", priority_order as "priorityOrder"
    from due_slot where (priority_order, captured_at, due_slot.slot, target_id) > ${placeOf(sql, after)}
    order by priority_order, captured_at, due_slot.slot, target_id offset ${slots - 1} limit 1`
  return end ?? null
}

function placeOf(sql: SqlRunner, place: DuePlace): Fragment {
  return sql`(${place.priorityOrder}::smallint, ${place.capturedAt}::text::timestamptz, ${place.slot}::text::timestamptz, ${place.targetId}::int)`
}

/**
 * `piece`, `asked` and `due` of a range of the due slots. Periods that ended meanwhile ask no more, and another plan may have bought some of
 * them. Tables that grow with the watches are read by the ids of the piece: a join would read all of them for each piece.
 */
export function duePiece(sql: SqlRunner, { after, to, slots }: DueRange): Fragment {
  const place = sql`priority_order, captured_at, slot, target_id`
  const targets = sql`any(array(select target_id from piece))`
  return sql`
    piece as materialized (
      select row_id, target_id, slot, row_number() over (order by ${place}) as place
      from (
        -- There are no more; the limit tells the planner, which would read the whole table.
        select ctid as row_id, ${place} from due_slot
        where (${place}) > ${placeOf(sql, after)} and (${place}) <= ${placeOf(sql, to ?? LAST_PLACE)}
        order by ${place} limit ${slots}
      ) d
    ),
    asked as materialized (
      select i.place, p.project, max(p.depth) as depth, max(p.priority) as priority, max(i.slot + p.every) as slot_ends_at,
        bool_or(p.html) as html
      from watch_period p join piece i on i.target_id = p.target_id and i.slot = slot_of(p.every, (select storerank_now()))
      where p.target_id = ${targets} and p.ended_at is null and i.slot >= p.first_slot
      group by 1, 2
    ),
    due as materialized (
      select i.target_id, i.slot, i.place, t.store, t.function, a.depth, a.priority, a.slot_ends_at, a.html
      from (
        select place, max(depth) as depth, max(priority) as priority, max(slot_ends_at) as slot_ends_at, bool_or(html) as html
        from asked group by place
      ) a join piece i using (place) join target t on t.id = i.target_id
      where t.id = ${targets}
        -- Looked up row by row: the offset keeps the planner from a join, which would read all tasks and the whole history.
        and not exists (
          select from task k where k.target_id = i.target_id and k.slot = i.slot and k.state <> 'dropped' offset 0)
        and case when t.function in ('app_searches', 'app_list')
          then not exists (select from ranking_row r where r.target_id = i.target_id and r.slot = i.slot offset 0)
          else not exists (select from app_snapshot s where s.target_id = i.target_id and s.slot = i.slot offset 0) end
    )`
}

/** `forgotten` deletes what a plan has decided of its `piece`: all but what the budget cut, which the next plan looks at again. */
export function forgetDecided(sql: SqlRunner): Fragment {
  return sql`
    forgotten as (
      delete from due_slot where ctid = any(array(
        select p.row_id from piece p left join (select place from decided where cut is not null) c using (place) where c.place is null))
    )`
}

/** Makes the next plan and the next closing read all periods, as after a crash. The daily call bounds how long a mistake in what is due can last. */
export async function lookAtAllPeriods(db: Database): Promise<void> {
  await db.sql`delete from interval_progress`
}
