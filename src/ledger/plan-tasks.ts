/** `plan`: makes tasks of the due slots that admission buys, packed into posts, with their money reserved. */
import type { Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { sql } from '../db/sql.ts'
import { LISTING_SEARCH, type Store } from '../service/functions.ts'
import { MAX_TASKS_PER_POST } from '../service/post-tasks.ts'
import type { PostToClaim } from './claim-post.ts'
import { insertSpendChanges, newReservations, RESERVATION, releasedReservations } from './money.ts'

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

/**
 * Plans a call that is paid for and answered at once: the search in listings. It is a task of a post of its
 * own, with the budgets, charge, lost answer, audit and recovery of every task. No watch asks for it, so that
 * it is never posted again (`dropStaleTasks`), and it is `collected` once it is charged. The caller holds the
 * ledger's lock.
 * @param call what it asks for, in words; who pays, also a new project; the most that it may cost
 */
export async function planCall(
  tx: Transaction,
  call: { store: Store; subject: string; project: string; estimateMicros: number },
): Promise<PostToClaim> {
  const { store, subject, project, estimateMicros } = call
  await tx`insert into project (name) values (${project}) on conflict (name) do nothing`
  const rows = await tx<{ id: string; payers: number[] }[]>`
    -- No place and no language: a listing is of the whole store.
    with target as (select target_of(${store}, ${LISTING_SEARCH}, ${subject}, 0, '') as id),
    slot as (
      -- The tag has it in whole seconds, and no two searches for the same have one.
      select greatest(date_trunc('second', storerank_now()), max(k.slot) + interval '1 second') as at
      from target t left join task k on k.target_id = t.id
    ),
    made as (insert into post (store, function) values (${store}, ${LISTING_SEARCH}) returning id),
    inserted as (
      insert into task (target_id, slot, slot_ends_at, priority, estimate_micros, payers, reserved_at,
        post_id)
      select t.id, s.at, s.at + interval '1 hour', 1, ${estimateMicros}::bigint, array[p.id], storerank_now(),
        m.id
      from target t, slot s, made m, project p where p.name = ${project}
      returning payers, estimate_micros, reserved_at
    ),
    ${insertSpendChanges(newReservations('inserted'))}
    select m.id, i.payers from made m, inserted i`
  return { ...oneRow(rows), store, function: LISTING_SEARCH }
}

/** Takes a call out that was not sent: no byte of its tag has left. */
export async function dropCall(tx: Transaction, postId: string): Promise<void> {
  await tx`
    with deleted as (
      delete from task k where k.post_id = ${postId} and k.state = 'posting'
      returning ${RESERVATION}
    ),
    ${insertSpendChanges(releasedReservations('deleted'))}
    select`
}
