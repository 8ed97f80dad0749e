/**
 * What is due: the slots that watches ask for now and that have neither a task nor a row in the history. A plan writes them down
 * once, in the order of urgency, and buys them piece by piece.
 */
import type { Database, SqlRunner } from '../db/database.ts'
import { UnavailableError } from '../errors.ts'
import type { Fragment } from '../ledger/money.ts'

/** A person's open transaction may lock a watch. Planning does not wait for it: the next plan opens its period. */
const OPENING_LOCK_TIMEOUT_MS = 2_000

/** Opens the periods of watches whose location or language has become known since they were written. */
export async function openKnownWatches(db: Database): Promise<void> {
  try {
    await db.begin(async (tx) => void (await tx`select start_missing_watch_periods()`), {
      name: 'Opening watches',
      lockTimeoutMs: OPENING_LOCK_TIMEOUT_MS,
    })
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
  }
}

/**
 * Common table expressions `asked`, one row per (target, slot) and project that asks for it now, and `due`, one row per (target,
 * slot) with its `place` in the order of urgency: priority, then the time since the target was measured last.
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

/**
 * Writes down what is due, without any lock.
 * @returns how many (target, slot) there are: the last place
 */
export async function queueDueSlots(db: Database, planId: string): Promise<number> {
  return db.begin(async (tx) => {
    await tx`select set_config('enable_nestloop', 'off', true)`
    const [row] = await tx<{ due: number }[]>`
      with ${dueNow(tx)},
      queued as (
        insert into due_slot (plan_id, place, target_id, slot, slot_ends_at, project, depth, priority, html)
        select ${planId}, d.place, d.target_id, d.slot, a.slot_ends_at, a.project, a.depth, a.priority, a.html
        from due d join asked a using (target_id, slot)
      )
      select count(*) as due from due`
    return row?.due ?? 0
  })
}

/**
 * `asked` and `due` of a plan's places from `first` to `last`. Another plan may have bought some of them meanwhile, so each is
 * looked up again: as a subquery per row, which reads a few entries of an index, where a join would read the whole table.
 */
export function duePiece(sql: SqlRunner, planId: string, first: number, last: number): Fragment {
  return sql`
    asked as materialized (
      select target_id, slot, project, depth, priority, slot_ends_at, html, place from due_slot
      where plan_id = ${planId} and place between ${first} and ${last}
    ),
    due as materialized (
      select a.target_id, a.slot, t.store, t.function, t.captured_at, a.depth, a.priority, a.slot_ends_at, a.html, a.place
      from (
        select target_id, slot, place, max(depth) as depth, max(priority) as priority, max(slot_ends_at) as slot_ends_at,
          bool_or(html) as html
        from asked group by target_id, slot, place
      ) a join target t on t.id = a.target_id
      where (select count(*) from (
          select from task k where k.target_id = a.target_id and k.slot = a.slot and k.state <> 'dropped' limit 1) k) = 0
        and (select count(*) from (select from ranking r where r.target_id = a.target_id and r.slot = a.slot limit 1) r) = 0
        and (select count(*) from (select from app_snapshot s where s.target_id = a.target_id and s.slot = a.slot limit 1) s) = 0
    )`
}

/** Deletes what a plan has written down, and what was left by plans that a crash ended. */
export async function forgetDueSlots(db: Database, planId: string): Promise<void> {
  await db.sql`delete from due_slot where plan_id = ${planId} or queued_at < clock_timestamp() - interval '1 hour'`
}
