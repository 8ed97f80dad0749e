/** Closing slots: what is due and over becomes a gap with its reason, in bounded pieces. */
import type { Database, Transaction } from '../db/database.ts'
import { readByIndexes } from '../db/joins.ts'
import { oneRow } from '../db/one-row.ts'
import { closeUnsentTasks } from '../ledger/leave-unsent.ts'
import { presentOfSlots, withLedgerLock } from '../ledger/lock.ts'
import { openDueSlots } from '../plan/due.ts'
import { TIMINGS } from '../timings.ts'

export type ClosedSlots = Readonly<Record<'budget' | 'missed', number>>

/**
 * Closes the slots that are over: of tasks that were never sent, and those that no plan bought, also what
 * passed while nothing ran. A posted slot stays open until its result is known; a task that fails closes its
 * own (trigger `close_failed`).
 * @param atOnce slots that one transaction closes at most
 */
export async function closeEndedSlots(db: Database, atOnce = TIMINGS.closeSlots): Promise<ClosedSlots> {
  const close = <T>(piece: (tx: Transaction) => Promise<T>) =>
    withLedgerLock(db, 'Closing the slots', async (tx) => {
      await readByIndexes(tx)
      return piece(tx)
    })
  await openDueSlots(db)
  while ((await close((tx) => closeUnsentTasks(tx, atOnce))) > 0) {}
  await db.sql`
    select ensure_history_partitions(min(slot), storerank_now()) from due_slot
      where ends_at <= storerank_now() having count(*) > 0`
  const total = { budget: 0, missed: 0 }
  for (;;) {
    const { slots, budget, missed } = await close((tx) => closeDueSlots(tx, atOnce))
    if (slots === 0) return total
    total.budget += budget
    total.missed += missed
  }
}

/**
 * Moves due slots that are over to the history. What no watch asked for to its end, and what was bought and
 * adopted since, leaves no gap. `ranked` and `described` have to be read, or nothing is written.
 */
async function closeDueSlots(tx: Transaction, atOnce: number): Promise<ClosedSlots & { slots: number }> {
  const row = oneRow(
    await tx<(ClosedSlots & { slots: number })[]>`
    with over as (
      delete from due_slot where ctid = any(array(
        select ctid from due_slot where ends_at <= ${presentOfSlots()} order by ends_at limit ${atOnce}))
      returning target_id, slot, cut, problem
    ),
    gap as (
      select o.target_id, o.slot, (select t.function from target t where t.id = o.target_id) as function,
        case when o.cut is not null and o.problem is null then 'budget' else 'missed' end as gap,
        coalesce(o.problem, o.cut, 'Nothing ran while it was due.') as reason
      from over o
      where case
        when (select true from task k where k.slot = o.slot and k.target_id = o.target_id
          and k.state <> 'dropped') then false
        else exists (
          select from watch_period p
          where p.target_id = o.target_id and o.slot between p.first_slot
            and coalesce(p.last_slot, 'infinity')
            and slot_of(p.every, o.slot) = o.slot and slot_end(p.every, o.slot)
              <= least((select storerank_now()), p.ended_at)) end
    ),
    ranked as (
      select store_gaps(array_agg(target_id), array_agg(slot), array_agg(gap), array_agg(reason)) as gap
      from gap where function in ('app_searches', 'app_list')
    ),
    described as (
      insert into app_snapshot (target_id, slot, gap, reason)
      select target_id, slot, gap, reason from gap where function in ('app_info', 'app_reviews')
      on conflict (target_id, slot) do nothing returning gap
    )
    select count(*) filter (where gap = 'budget') as budget, count(*) filter (where gap = 'missed') as missed,
      (select count(*) from over) as slots
    from (select gap from ranked union all select gap from described) closed`,
  )
  return row
}
