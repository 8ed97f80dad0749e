/** `plan`: makes tasks of the due slots that admission buys, packed into posts, with their money reserved. */
import type { Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { sql } from '../db/sql.ts'
import { MAX_TASKS_PER_POST } from '../service/post-tasks.ts'
import { insertSpendChanges } from './money.ts'

/**
 * Makes tasks of what the temporary table `decided` buys (see `admission`), with their posts. A task is
 * planned a microsecond after the one before it: by that a claim drops what is over the budget. The caller
 * holds the ledger's lock.
 * @returns the ids of the new posts, the most urgent first
 */
export async function planTasks(tx: Transaction): Promise<string[]> {
  const { ids } = oneRow(
    await tx<{ ids: string[] }[]>`
    with bought as (
      select *, (row_number() over (partition by store, function order by place) - 1)
        / ${MAX_TASKS_PER_POST}::int as pack
      from decided where cut is null
    ),
    pack as (
      select store, function, pack, min(place) as place, row_number() over (order by min(place)) as number
      from bought group by store, function, pack
    ),
    -- Their ids ascend, so that the most urgent ones are swept first.
    new_post as (
      select p.*, i.id
      from pack p
      join (select id, row_number() over (order by id) as number from (select uuid_v7() as id from pack) i) i
        using (number)
    ),
    made as (insert into post (id, store, function) select id, store, function from new_post),
    planned as (
      insert into task (target_id, slot, slot_ends_at, depth, priority, html, estimate_micros, payers,
        reserved_at, post_id, planned_at)
      select b.target_id, b.slot, b.slot_ends_at, b.depth, b.priority, b.html, b.price_micros, b.payers,
        (select storerank_now()), p.id, (select clock_timestamp()) + b.place * interval '1 microsecond'
      from bought b join new_post p using (store, function, pack)
      -- The tasks of a post stand together.
      order by store, function, b.place
    ),
    taken as (delete from due_slot where ctid = any(array(select row_id from bought))),
    ${insertSpendChanges(sql`
      select y.project_id, (select storerank_now()) as at, 'reserved' as kind,
        a.tasks * share_of(a.price_micros, cardinality(a.payers), y.place) as micros
      from (select payers, price_micros, count(*) as tasks from bought group by 1, 2) a
      cross join lateral unnest(a.payers) with ordinality as y (project_id, place)`)}
    select coalesce(array_agg(id order by place), '{}') as ids from new_post`,
  )
  return ids
}

/**
 * Packs `planned` tasks without a post, which were released or left theirs, into new ones, the most urgent
 * first. The caller holds the ledger's lock.
 * @returns the ids of the new posts, the most urgent first
 */
export async function packTasks(tx: Transaction): Promise<string[]> {
  const isUnpacked = sql`attempt > 0 and state = 'planned' and post_id is null
    and slot_ends_at > storerank_now() and (not_before <= storerank_now()) is not false`
  await tx`select from task where ${isUnpacked} order by id for update`
  const rows = await tx<{ id: string }[]>`
    with unpacked as (select id, priority, planned_at, target_id from task where ${isUnpacked}),
    waiting as (
      select k.id, t.store, t.function, (row_number() over (
          partition by t.store, t.function order by k.priority desc, k.planned_at, k.id) - 1)
        / ${MAX_TASKS_PER_POST}::int as pack
      from unpacked k join target t on t.id = k.target_id
      -- Else a plan without nested loops reads all targets.
      where t.id = any(array(select target_id from unpacked))
    ),
    new_post as (
      select uuid_v7() as id, store, function, pack from waiting group by store, function, pack
    ),
    made as (insert into post (id, store, function) select id, store, function from new_post),
    packed as (
      update task k set post_id = p.id from waiting w join new_post p using (store, function, pack)
      where k.id = w.id and k.id = any(array(select id from unpacked))
    )
    select id from new_post order by pack, store, function`
  return rows.map((row) => row.id)
}
