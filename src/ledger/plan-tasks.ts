/** `plan`: inserts the tasks that admission decided to buy, packed into posts and with their money reserved, and records what it cut. */
import type { SqlRunner, Transaction } from '../db/database.ts'
import { MAX_TASKS_PER_POST } from '../service/post-tasks.ts'
import { booked, type Fragment } from './money.ts'

/** What is due, and how far the budget reaches. */
export interface PlanTotals {
  /** Due (target, slot) without task or history, before the budget. */
  readonly due: number
  readonly planned: number
  readonly plannedMicros: number
  /** Due, but not bought: the budget does not reach them. */
  readonly cut: number
  readonly cutMicros: number
}

export interface Planned extends PlanTotals {
  /** The new posts, the most urgent first. */
  readonly postIds: readonly string[]
  /** Money that was passed over, as `admission` says: by `project.id`, and 0 for all together. */
  readonly passed: readonly { readonly projectId: number; readonly micros: number }[]
}

/**
 * Inserts the tasks that `decided` buys, with their posts: packing them later would write each task twice. The caller holds the
 * ledger's lock.
 * @param admission common table expressions that end in `price`, `decided`, `alike`, `cuts` and `passed` (see `admission`)
 * @param besides one column more of the answer, of the same common table expressions
 */
export async function planTasks<Besides extends object>(
  tx: Transaction,
  admission: Fragment,
  besides: Fragment,
): Promise<Planned & Besides> {
  const [row] = await tx<(PlanTotals & { postIds: string[] | null; passed: Planned['passed'] } & Besides)[]>`
    with ${admission},
    new_id as materialized (select ${idPrefix(tx)} as of_task, ${idPrefix(tx)} as of_post),
    new_post as materialized (${newPostIds(tx)}),
    bought as not materialized (select * from decided where cut is null),
    pack as materialized (
      select b.place, ${packId(tx)} as id, p.store, p.function
      from bought b join price p using (endpoint) where b.number % ${MAX_TASKS_PER_POST}::int = 0
    ),
    made as (
      insert into post (id, store, function, slots_end_at)
      select id, store, function, (select min(slot_ends_at) from bought) from pack
    ),
    inserted as (
      insert into task (id, target_id, slot, slot_ends_at, depth, priority, html, estimate_micros, payers, reserved_at, post_id, planned_at)
      select ${taskId(tx)}, target_id, slot, slot_ends_at, depth, priority, html, price_micros, payers,
        (select storerank_now()), ${packId(tx)}, (select clock_timestamp())
      from bought
    ),
    moved as (
      select y.project_id, (select storerank_now()) as at, 'reserved' as kind,
        a.slots * share_of(a.price_micros, cardinality(a.payers), y.place) as micros
      from alike a cross join lateral unnest(a.payers) with ordinality as y (project_id, place)
      where a.is_bought
    ),
    ${booked(tx)},
    recorded as (
      insert into budget_cut (target_id, slot, slot_ends_at, reason, price_micros)
      select target_id, slot, slot_ends_at, cut, price_micros from cuts
      on conflict (target_id, slot) do update
        set reason = excluded.reason, price_micros = excluded.price_micros, slot_ends_at = excluded.slot_ends_at
      where (budget_cut.reason, budget_cut.price_micros, budget_cut.slot_ends_at)
        <> (excluded.reason, excluded.price_micros, excluded.slot_ends_at)
    ),
    lifted as (
      delete from budget_cut c using bought b
      where c.target_id = b.target_id and c.slot = b.slot
        -- Else it would read all that is cut, or all that is bought where nothing is.
        and c.target_id = any(array(select target_id from bought where exists (select from budget_cut)))
    )
    select t.*, (select array_agg(id order by place) from pack) as "postIds", coalesce((
        select jsonb_agg(jsonb_build_object('projectId', project_id, 'micros', micros)) from passed where micros > 0
      ), '[]') as passed, ${besides}
    from (${totals(tx)}) t`
  if (row === undefined) throw new Error('An aggregate returned no row.')
  return { ...row, postIds: row.postIds ?? [] }
}

/** A select over `alike`: what a plan buys and what it cuts. */
export function totals(sql: SqlRunner): Fragment {
  return sql`
    select coalesce(sum(slots), 0)::bigint as due,
      coalesce(sum(slots) filter (where is_bought), 0)::bigint as planned,
      coalesce(sum(slots * price_micros) filter (where is_bought), 0)::bigint as "plannedMicros",
      coalesce(sum(slots) filter (where not is_bought), 0)::bigint as cut,
      coalesce(sum(slots * price_micros) filter (where not is_bought), 0)::bigint as "cutMicros"
    from alike`
}

/**
 * Packs `planned` tasks without a post into new posts, the highest priority first: they were released, left
 * their post, or have waited for another attempt. The caller holds the ledger's lock, so that two
 * transactions never pack the same task.
 * @returns the ids of the new posts, the most urgent first
 */
export async function packTasks(tx: Transaction): Promise<string[]> {
  await tx`
    select from task
    where state = 'planned' and post_id is null and slot_ends_at > storerank_now()
      and (not_before <= storerank_now()) is not false
    order by id for update`
  const rows = await tx<{ id: string }[]>`
    with unpacked as materialized (
      select k.id, k.priority, k.planned_at, k.target_id, k.slot_ends_at from task k
      where k.state = 'planned' and k.post_id is null and k.slot_ends_at > storerank_now()
        and (k.not_before <= storerank_now()) is not false
    ),
    waiting as (
      select k.id, k.priority, k.planned_at, k.slot_ends_at, t.store, t.function,
        row_number() over (partition by t.store, t.function order by k.priority desc, k.planned_at, k.id) - 1 as number
      from unpacked k join target t on t.id = k.target_id
      -- Else a plan without nested loops reads all targets.
      where t.id = any(array(select target_id from unpacked))
    ),
    numbered as materialized (select *, ${newPost(tx)} as new_post_id from waiting),
    packed as materialized (select *, ${postOf(tx)} as post_id from numbered),
    pack as materialized (
      select post_id, store, function, min(number) as number, min(slot_ends_at) as slots_end_at from packed group by post_id, store, function
    ),
    made as (
      insert into post (id, store, function, slots_end_at) select post_id, store, function, slots_end_at from pack
    ),
    moved as (
      update task k set post_id = p.post_id from packed p where k.id = p.id and k.id = any(array(select id from unpacked))
    )
    select post_id as id from pack order by number, store, function`
  return rows.map((row) => row.id)
}

/**
 * The id of a new task or post: one random UUID of version 7 for all of the piece, whose last five digits are the endpoint and the number
 * within it, up to 65,535. A random UUID for each was a tenth of a plan. Ascending ids are the order in which a claim drops tasks.
 */
function numberedId(sql: SqlRunner, prefix: Fragment, number: Fragment): Fragment {
  return sql`((select ${prefix} from new_id) || to_hex(65536 * endpoint + ${number}))::uuid`
}

/** The digits that all new ids of a piece have in common. */
function idPrefix(sql: SqlRunner): Fragment {
  return sql`substr(uuid_v7()::text, 1, 31)`
}

/** The id of a task of `decided`. */
function taskId(sql: SqlRunner): Fragment {
  return numberedId(sql, sql`of_task`, sql`number`)
}

/**
 * `new_post`: the ids of as many posts of each endpoint as a piece needs if all of it is of that one. To make the id of its post anew for each
 * task took as long as its own.
 */
function newPostIds(sql: SqlRunner): Fragment {
  return sql`
    select array_agg(${numberedId(sql, sql`of_post`, sql`number`)} order by endpoint, number) as ids, max(number) + 1 as of_endpoint
    from price cross join generate_series(0, (select sum(slots) from alike)::int / ${MAX_TASKS_PER_POST}::int) number`
}

/** The id of the post that a task of `decided` is packed into. */
function packId(sql: SqlRunner): Fragment {
  return sql`
    (select ids from new_post)[(endpoint - 1) * (select of_endpoint from new_post) + number / ${MAX_TASKS_PER_POST}::int + 1]`
}

/** The id of a new post at each hundredth task, by its number within its endpoint. */
function newPost(sql: SqlRunner): Fragment {
  return sql`case when number % ${MAX_TASKS_PER_POST}::int = 0 then uuid_v7() end`
}

/**
 * The post of a task: that of the first of its hundred. A join of tasks with posts took 10^10 comparisons at a million tasks. The ids
 * are made in a step before, because a window function evaluates its arguments anew for each row.
 */
function postOf(sql: SqlRunner): Fragment {
  return sql`first_value(new_post_id) over (partition by store, function, number / ${MAX_TASKS_PER_POST}::int order by number)`
}
