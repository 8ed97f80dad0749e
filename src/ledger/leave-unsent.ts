/** Planned tasks that leave the ledger unsent: their reservations end, and their slots are due again. */
import type { Transaction } from '../db/database.ts'
import { type Statement, sql } from '../db/sql.ts'
import { presentOfSlots } from './clock.ts'
import { insertSpendChanges, releasedReservations } from './money.ts'

/** Why a slot is a gap whose task was never sent. */
const UNSENT = 'It was planned, but its slot ended before it could be sent.'

/** What a person reads of an unsent task: that, and what the service or a claim said of it. */
export function describeUnsent(problem: Statement): Statement {
  return sql`concat_ws(' ', ${UNSENT}::text, ${problem})`
}

/**
 * Common table expressions over `leaving (id, cut, problem)`, planned tasks that are locked. They end in
 * `gone`, with the columns that `releasedReservations` takes. A task that was sent before stays as `dropped`,
 * because the service may still name its tag; the others are deleted. The slot goes on for as long as a watch
 * asks for it, also one that began after the task was planned.
 */
export function leaveUnsent(): Statement {
  const leaves = sql`k.id = any(array(select id from leaving)) and k.state = 'planned'`
  return sql`
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
          cardinality(g.payers),
        l.cut, case when l.cut is not null then g.estimate_micros end, l.problem
      from gone g join leaving l using (id)
      on conflict (target_id, slot) do update set ends_at = greatest(due_slot.ends_at, excluded.ends_at),
        cut = excluded.cut,
        price_micros = excluded.price_micros, short_of = null, problem = excluded.problem
    )`
}

/**
 * `close`: planned tasks whose slot is over leave the ledger, a bounded number at a time. One that was
 * charged before fails, which writes its gap. The caller holds the ledger's lock.
 * @returns how many; zero when none is left
 */
export async function closeUnsentTasks(tx: Transaction, limit: number): Promise<number> {
  const [row] = await tx<{ tasks: number }[]>`
    with over as (
      select k.id, k.status_code, coalesce((select p.problem from post p where p.id = k.post_id),
        k.problem) as problem from task k
      where k.id = any(array(
        (select id from task where attempt > 0 and state = 'planned' and post_id is not null
          and slot_ends_at <= ${presentOfSlots()}
          order by slot_ends_at limit ${limit})
        union all
        (select id from task where attempt > 0 and state = 'planned' and post_id is null
          and slot_ends_at <= ${presentOfSlots()}
          order by slot_ends_at limit ${limit})))
      order by k.id for update
    ),
    failed as (
      update task k set state = 'failed', ended_at = clock_timestamp(),
        problem = ${describeUnsent(sql`o.problem`)}
      from over o
      where k.id = o.id and o.status_code is not null and k.state = 'planned'
        and k.id = any(array(select id from over))
      returning k.payers, k.estimate_micros, k.reserved_at
    ),
    leaving as (
      select id, null::text as cut, ${describeUnsent(sql`problem`)} as problem from over
        where status_code is null
    ),
    ${leaveUnsent()},
    moved as (${releasedReservations('failed')} union all ${releasedReservations('gone')}),
    ${insertSpendChanges}
    select count(*) as tasks from over`
  return row?.tasks ?? 0
}
