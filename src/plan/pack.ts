/** Packing: planned tasks of one endpoint become posts of up to 100 (spec: Limits). */
import type { Transaction } from '../db/database.ts'

const TASKS_PER_POST = 100

/**
 * Gives every planned task without a post one, dearest priority first, and returns the ids of the new posts, the most
 * urgent first. The caller holds the budget lock, so that two packers never take the same task. A task whose slot is over
 * stays where it is: closing the slots ends it.
 */
export async function packPosts(tx: Transaction): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    with waiting as (
      select k.id, t.store, t.function,
        (row_number() over (partition by t.store, t.function order by k.priority desc, k.planned_at, k.id) - 1)
          / ${TASKS_PER_POST}::int as pack
      from task k join target t on t.id = k.target_id
      where k.state = 'planned' and k.post_id is null and k.slot_ends_at > storerank_now()
    ),
    pack as materialized (
      select store, function, pack, uuid_v7() as post_id from waiting group by store, function, pack
    ),
    made as (
      insert into post (id, store, function) select post_id, store, function from pack
    ),
    packed as (
      update task k set post_id = p.post_id
      from waiting w join pack p using (store, function, pack) where k.id = w.id
    )
    select post_id as id from pack order by pack, store, function`
  return rows.map((row) => row.id)
}
