/** `close`: unsent tasks whose slot is over leave the ledger, and their reservations end. */
import type { Transaction } from '../db/database.ts'
import { MAX_TASKS_PER_POST } from '../service/post-tasks.ts'
import { booked, type Fragment, freed } from './money.ts'

/** Whether `closeUnsentTasks` leaves some over: there are more than `limit` of a kind. */
export async function hasMoreUnsentTasks(tx: Transaction, limit: number): Promise<boolean> {
  const [row] = await tx<{ hasMore: boolean }[]>`
    select exists (
        select from post where state = 'ready' and slots_end_at <= storerank_now() order by slots_end_at offset ${postsOf(limit)})
      or exists (
        select from task where state = 'planned' and post_id is null and slot_ends_at <= storerank_now() order by slot_ends_at offset ${limit})
      or exists (select from task where state = 'dropped' and ended_at is null offset ${limit}) as "hasMore"`
  return row?.hasMore ?? false
}

/** Posts of so many tasks at most. */
function postsOf(tasks: number): number {
  return Math.ceil(tasks / MAX_TASKS_PER_POST)
}

/**
 * Common table expressions that end in `unsent` (id, target_id, slot, status_code, problem): planned tasks whose slot is over,
 * and tasks that a claim has dropped since, a bounded number at a time. They are found by `ending`, the posts that may have one, whose
 * `slots_end_at` moves to the next end of theirs. A task that was sent before stays as `dropped`, because the service may still name it; the
 * others are deleted. The caller holds the ledger's lock.
 */
export function closeUnsentTasks(tx: Transaction, limit: number): Fragment {
  // A join without nested loops would read all tasks.
  const ids = tx`any(array(select id from over))`
  return tx`
    ending as materialized (
      select id from post where state = 'ready' and slots_end_at <= storerank_now() order by slots_end_at limit ${postsOf(limit)}
    ),
    over as materialized (
      select k.id, k.post_id, k.state from task k
      where k.id = any(array(
        select k.id from ending e
        cross join lateral (
          select k.id from task k
          where k.post_id = e.id and k.state = (select 'planned') and k.slot_ends_at <= storerank_now() offset 0) k
        union all
        (select id from task where state = 'planned' and post_id is null and slot_ends_at <= storerank_now()
          order by slot_ends_at limit ${limit})
        union all
        (select id from task where state = 'dropped' and ended_at is null limit ${limit})
      ))
      order by k.id for update
    ),
    looked_at as (
      update post p set slots_end_at = coalesce((
        select min(k.slot_ends_at) from task k
        where k.post_id = p.id and k.state = (select 'planned') and k.slot_ends_at > storerank_now()), 'infinity')
      -- The tasks are locked before the posts: counting them waits for their locks.
      where p.id = any(array(select id from ending)) and p.state = 'ready' and (select count(*) from over) >= 0
    ),
    kept as (
      update task k set state = 'dropped', ended_at = clock_timestamp(), post_id = null
      from over o
      where k.id = o.id and k.id = ${ids} and k.attempt > 1
        and ((k.state = (select 'planned') and k.slot_ends_at <= storerank_now()) or (k.state = 'dropped' and k.ended_at is null))
      returning k.id, k.target_id, k.slot, k.status_code, k.problem, k.estimate_micros, k.payers, k.reserved_at, o.state
    ),
    deleted as (
      delete from task k using over o
      where k.id = o.id and k.id = ${ids} and k.attempt = 1
        and ((k.state = (select 'planned') and k.slot_ends_at <= storerank_now()) or (k.state = 'dropped' and k.ended_at is null))
      returning k.id, k.target_id, k.slot, k.status_code, k.problem, k.estimate_micros, k.payers, k.reserved_at, k.state
    ),
    unsent as materialized (
      select u.id, u.target_id, u.slot, u.status_code, coalesce(p.problem, u.problem) as problem
      from (
        select id, target_id, slot, status_code, problem from kept
        union all
        select id, target_id, slot, status_code, problem from deleted
      ) u
      join over o using (id) left join post p on p.id = o.post_id and p.id = any(array(select post_id from over))
    ),
    reserving as (
      select estimate_micros, payers, reserved_at from deleted where state = 'planned'
      union all
      select estimate_micros, payers, reserved_at from kept where state = 'planned'
    ),
    moved as (${freed(tx, 'reserving')}),
    ${booked(tx)}`
}
