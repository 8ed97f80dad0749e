/**
 * What the budget cut waits in the queue of each project that asks for it (`waiting_slot`), and not among the due slots: while a budget has
 * no room a plan reads the head of its queue and nothing behind it.
 */
import type { Database, SqlRunner } from '../db/database.ts'
import type { Fragment } from '../ledger/money.ts'
import { TIMINGS } from '../timings.ts'
import { type AdmissionInput, budgets } from './admission.ts'

/** Forgets the slots that are over, whose gaps are written by closing. */
export async function forgetEndedWaits({ sql }: Database): Promise<void> {
  for (;;) {
    const { count } = await sql`
      delete from waiting_slot where ctid = any(array(
        select ctid from waiting_slot where slot_ends_at <= storerank_now() limit ${TIMINGS.wakeSlots}))`
    if (count < TIMINGS.wakeSlots) return
  }
}

/** A budget with room, and how many slots it can pay for at the least price there is, and one more; null: it has no limit. */
interface Room {
  readonly scope: number
  readonly wholeMicros: number | null
  slots: number | null
}

/**
 * Makes slots that wait for a budget with room due again, as many from the head of its queue as it can pay at the least price there is, and
 * one more, so that what it pays for is never more than what becomes due. Each transaction wakes a bounded number of them, and all wake before
 * anything is planned: what is left in a queue is a barrier to whatever is less urgent. What was dearer than the whole budget becomes due
 * again when that is raised. Their places in the order of urgency are those of now: a target may have been measured since, and people may have
 * ended their watches, but neither makes it more urgent, so that nothing behind the head belongs before it.
 * @returns how many became due
 */
export async function wakeWaiting(db: Database, input: AdmissionInput): Promise<number> {
  const rooms = await readRooms(db, input)
  for (let total = 0; ; ) {
    const woken = await db.sql<{ scope: number; fromHead: number; woken: number }[]>`
      select of_scope as scope, from_head as "fromHead", woken from wake_waiting(
        ${rooms.map(({ scope }) => scope)}::int[], ${rooms.map(({ slots }) => slots)}::bigint[],
        ${rooms.map(({ wholeMicros }) => wholeMicros)}::bigint[], ${TIMINGS.wakeSlots})`
    const count = woken.reduce((sum, each) => sum + each.woken, 0)
    total += count
    if (count < TIMINGS.wakeSlots) return total
    for (const room of rooms) {
      const { fromHead = 0 } = woken.find(({ scope }) => scope === room.scope) ?? {}
      if (room.slots !== null) room.slots -= fromHead
    }
  }
}

async function readRooms({ sql }: Database, input: AdmissionInput): Promise<Room[]> {
  const leastMicros = Math.min(...input.prices.map(({ normalMicros }) => normalMicros))
  return sql<Room[]>`
    with ${budgets(sql, input)}
    select b.scope, b.whole_micros as "wholeMicros", b.left_micros / greatest(${leastMicros}::bigint, 1) + 1 as slots
    from (
      select project_id as scope, whole_micros, left_micros from project_budget
      union all
      select 0, whole_micros, left_micros from overall_budget
    ) b
    where (b.left_micros >= ${leastMicros}::bigint) is not false
      and (select left_micros >= ${leastMicros}::bigint from overall_budget) is not false`
}

/**
 * `barrier`, of each project (`project.id`) and of all together (0) the first place of `piece` behind what waits for its money: whatever is
 * less urgent than that must not be paid before it.
 */
export function barriers(sql: SqlRunner): Fragment {
  return sql`
    barrier as materialized (
      select h.scope, (
          select min(i.place) from piece i
          where (i.priority_order, i.captured_at, i.slot, i.target_id) > (h.priority_order, h.captured_at, h.slot, h.target_id)
        ) as place
      from waiting_heads() h
    )`
}

/** `waiting` keeps what is cut, in the queue of each project that asks for it, or in that of all together. */
export function keepWaiting(sql: SqlRunner): Fragment {
  return sql`
    waiting as (
      insert into waiting_slot (scope, too_dear_micros, priority_order, captured_at, slot, target_id, slot_ends_at)
      select w.scope, w.too_dear_micros, i.priority_order, i.captured_at, i.slot, i.target_id, w.slot_ends_at
      from (
        select d.place, d.slot_ends_at, y.project_id as scope, case when y.too_dear then y.price_micros else 0 end as too_dear_micros
        from cuts d join payer y using (place)
        where d.cut in ('project_budget', 'dearer_than_project_budget')
        union all
        select place, slot_ends_at, 0, case cut when 'dearer_than_overall_budget' then price_micros else 0 end
        from cuts where cut in ('overall_budget', 'dearer_than_overall_budget')
      ) w join piece i using (place)
      on conflict (scope, too_dear_micros, priority_order, captured_at, slot, target_id)
        do update set slot_ends_at = greatest(waiting_slot.slot_ends_at, excluded.slot_ends_at)
    )`
}
