/** Planned tasks that leave the ledger unsent: their reservations end, and their slots are due again. */
import type { Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { type Statement, sql } from '../db/sql.ts'
import { presentOfSlots } from './lock.ts'
import { insertSpendChanges, RESERVATION, releasedReservations } from './money.ts'

/** What a person reads of an unsent task, with what the service or a claim said of it. */
export function describeUnsent(problem: Statement): Statement {
  return sql`concat_ws(' ', 'It was planned, but its slot ended before it could be sent.', ${problem})`
}

/**
 * Common table expressions over `leaving (id, cut, problem, failure)`, planned tasks that are locked. One
 * with a `failure` was charged before, and fails: a plan would buy its slot from the first attempt. One that
 * was sent before stays as `dropped`, because the service may name its tag; the rest is deleted. Their slots
 * go on for as long as a watch asks for them, also one that began later.
 */
export function leaveUnsent(): Statement {
  const leaves = sql`k.id = any(array(select id from leaving where failure is null)) and k.state = 'planned'`
  return sql`
    failed as (
      update task k set state = 'failed', ended_at = clock_timestamp(), problem = l.failure from leaving l
      where k.id = l.id and k.state = 'planned'
        and k.id = any(array(select id from leaving where failure is not null))
      returning ${RESERVATION}
    ),
    kept as (
      update task k set state = 'dropped', ended_at = clock_timestamp(), post_id = null where ${leaves}
        and k.attempt > 1 returning k.*
    ),
    deleted as (delete from task k where ${leaves} and k.attempt = 1 returning k.*),
    gone as (select * from kept union all select * from deleted),
    due_again as (
      insert into due_slot (target_id, slot, ends_at, priority, captured_at, askers, cut, price_micros,
        problem)
      select g.target_id, g.slot, greatest(g.slot_ends_at, (
          select max(slot_end(p.every, g.slot)) from watch_period p
          where p.target_id = g.target_id and p.ended_at is null
            and slot_of(p.every, (select storerank_now())) = g.slot)),
        g.priority, coalesce((select t.captured_at from target t where t.id = g.target_id), '-infinity'),
        cardinality(g.payers), l.cut, case when l.cut is not null then g.estimate_micros end, l.problem
      from gone g join leaving l using (id)
      on conflict (target_id, slot) do update set ends_at = greatest(due_slot.ends_at, excluded.ends_at),
        cut = excluded.cut, price_micros = excluded.price_micros, short_of = null, problem = excluded.problem
    ),
    ${insertSpendChanges(releasedReservations('failed'), releasedReservations('gone'))}`
}

/** `close`: some planned tasks whose slot is over leave the ledger, whose lock the caller holds. */
export async function closeUnsentTasks(tx: Transaction, limit: number): Promise<number> {
  // By the index of packed tasks, and by that of the others.
  const [packed, unpacked] = [sql`is not null`, sql`is null`].map(
    (isPacked) => sql`
      (select id from task where attempt > 0 and state = 'planned' and post_id ${isPacked}
        and slot_ends_at <= ${presentOfSlots()} order by slot_ends_at limit ${limit})`,
  ) as [Statement, Statement]
  const { tasks } = oneRow(
    await tx<{ tasks: number }[]>`
    with leaving as (
      select k.id, null::text as cut, u.problem, case when k.status_code is not null then u.problem end
        as failure
      from task k cross join lateral (
        select ${describeUnsent(sql`coalesce((select p.problem from post p where p.id = k.post_id),
          k.problem)`)} as problem
      ) u
      where k.id = any(array(${packed} union all ${unpacked}))
      order by k.id for update of k
    ),
    ${leaveUnsent()}
    select count(*) as tasks from leaving`,
  )
  return tasks
}
