/**
 * `adopt`: records that the service created a task. That is a fact: any source may bring it, in any order and
 * more than once, and it moves no state backwards. Facts need no token; decisions do.
 */
import type { SqlRunner, Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { sql } from '../db/sql.ts'
import { TIMINGS } from '../timings.ts'
import { insertSpendChanges, newCharges, releasedReservations } from './money.ts'
import { learnedPrices } from './prices.ts'
import type { TaskTag } from './tag.ts'

export interface CreatedTask extends TaskTag {
  readonly serviceId: string
  /** Null when the source does not say: then the estimate stands in. */
  readonly costMicros: number | null
}

export interface Evidence {
  /** Tasks that got their service id. */
  readonly adopted: number
  /** Second service ids of a task: paid twice, and shown in `task_problem`. */
  readonly duplicates: number
}

/**
 * Sets the service ids, charges each payer, and ends the reservation, on whose day the charge counts. A
 * dropped task becomes `posted`, unless its slot has another task.
 * @param overdueAfterMs when the result of a task at priority 1 is late, and asked for by id
 */
export async function adoptTasks(
  tx: Transaction,
  created: readonly CreatedTask[],
  overdueAfterMs: number,
): Promise<Evidence> {
  if (created.length === 0) return { adopted: 0, duplicates: 0 }
  // In the order of their ids, as everywhere in the ledger, so that two transactions cannot deadlock.
  await tx`select id from task where id = any(${created.map((task) => task.taskId)}::uuid[]) order by id
    for update`
  const rows = await tx<Evidence[]>`
    with ${known(created)},
    payer as (
      select f.*, y.project_id, y.place, case when f.is_own and f.is_reserved and (
          select f.reserved_at < max(d.begins_at) from money_days(y.project_id, storerank_now()) d)
        then f.reserved_at else storerank_now() end as at
      from known f cross join lateral unnest(f.payers) with ordinality as y (project_id, place)
    ),
    charged as (
      insert into charge (kind, at, project_id, amount_micros, target_id, slot, service_id)
      select case when is_own and not has_successor then 'charge' else 'duplicate' end, at, project_id,
        share_of(cost_micros, cardinality(payers), place), target_id, slot, service_id
      from payer
      returning kind, at, project_id, amount_micros
    ),
    adopted as (
      update task k set service_id = f.service_id, posted_at = clock_timestamp(),
        charged_posts = k.charged_posts + 1, endpoint = f.endpoint, overdue_at = late.at, ask_at = late.at,
        state = case when f.endpoint is null then 'collected' when f.is_reserved or f.comes_back then 'posted'
          else k.state end,
        ended_at = case when f.endpoint is null then clock_timestamp() when not f.comes_back
          then k.ended_at end,
        -- Why it was refused before.
        problem = case
          when f.endpoint is null
            and not exists (select from post p where p.id = k.post_id and p.state = 'sending')
            then 'It was charged, and its answer was lost.'
          when not (f.is_reserved and k.status_code is null) then k.problem end
      from known f cross join lateral (
        select clock_timestamp() + make_interval(secs => case f.priority
          when 2 then ${Math.min(overdueAfterMs, TIMINGS.highPriorityOverdueMs) / 1000}::float8
          else ${overdueAfterMs / 1000}::float8 end) as at
      ) late
      where f.is_own and k.id = f.task_id
    ),
    settled as (select payers, estimate_micros, reserved_at from known where is_own and is_reserved),
    ${insertSpendChanges(releasedReservations('settled'), newCharges('charged'))},
    ${learnedPrices()}
    select count(*) filter (where is_own) as adopted, count(*) filter (where not is_own) as duplicates
      from known`
  return oneRow(rows)
}

/** `known`: the new facts of our tasks; `is_own` says whether the fact is the first of its task. */
function known(created: readonly CreatedTask[]) {
  const facts = created.map((task, place) => ({ ...task, place }))
  const types = 'taskId uuid, serviceId text, costMicros bigint, place int'
  return sql`
    -- Materialized: the ids are few, where the planner would begin with all tasks.
    fact as materialized (
      select distinct on (f.service_id) f.* from ${sql.rows('f', facts, types)}
      where not exists (select from charge c where c.service_id = f.service_id)
      order by f.service_id, f.place
    ),
    known as (
      select f.*, f.state = 'dropped' and not f.has_successor as comes_back
      from (
        select f.task_id, f.service_id, f.cost_micros as told_micros, k.target_id, k.slot, k.priority,
          k.depth, k.payers, k.estimate_micros, k.reserved_at, k.state,
          k.state in ('planned', 'posting') as is_reserved,
          -- Null for a call that is answered at once (planCall): its answer came, or it is lost.
          (select endpoint_of(t.store, t.function) from target t where t.id = k.target_id) as endpoint,
          coalesce(f.cost_micros, k.estimate_micros) as cost_micros,
          f.service_id = coalesce(k.service_id, first_value(f.service_id)
            over (partition by f.task_id order by f.place)) as is_own,
          k.state = 'dropped' and exists (
            select from task o where o.target_id = k.target_id and o.slot = k.slot
              and o.state <> 'dropped') as has_successor
        from fact f join task k on k.id = f.task_id
      ) f
    )`
}

/** Those of some tasks whose service id has no charge yet. What has one need not be locked. */
export async function keepUncharged<Task>(
  db: SqlRunner,
  tasks: readonly Task[],
  idOf: (task: Task) => string,
): Promise<Task[]> {
  const rows = await db<{ id: string }[]>`
    select distinct c.service_id as id from charge c where c.service_id = any(${tasks.map(idOf)}::text[])`
  const charged = new Set(rows.map(({ id }) => id))
  return tasks.filter((task) => !charged.has(idOf(task)))
}

/** What a complete list of the service says: the id of our task by the service's id. */
export type ListedIds = ReadonlyMap<string, string>

export function toListedIds(listed: readonly CreatedTask[]): ListedIds {
  return new Map(listed.map(({ serviceId, taskId }) => [serviceId, taskId]))
}

/**
 * Adopts those of the created tasks that are ours and have no charge yet, and settles their posts. A second
 * id of an attempt is a second payment only where a complete list has both ids; elsewhere the first one,
 * which a late answer may have told, is doubted.
 * @param listed the complete list that has the tasks; null: they are of no such list
 */
export async function adoptOrphans(
  tx: Transaction,
  created: readonly CreatedTask[],
  overdueAfterMs: number,
  listed: ListedIds | null,
): Promise<Evidence> {
  if (created.length === 0) return { adopted: 0, duplicates: 0 }
  const orphans = await tx<
    { taskId: string; serviceId: string; postId: string | null; knownId: string | null }[]
  >`
    select k.id as "taskId", f.service_id as "serviceId", k.post_id as "postId",
      case when k.attempt = f.attempt then k.service_id end as "knownId"
    from ${sql.rows('f', created, 'taskId uuid, attempt int, serviceId text')}
    join task k on k.id = f.task_id
    where not exists (select from charge c where c.service_id = f.service_id)`
  const { proven = [], doubted = [] } = Object.groupBy(orphans, ({ taskId, knownId }) =>
    knownId === null || listed?.get(knownId) === taskId ? 'proven' : 'doubted',
  )
  const provenIds = new Set(proven.map((orphan) => orphan.serviceId))
  const provenTasks = created.filter((task) => provenIds.has(task.serviceId))
  const evidence = await adoptTasks(tx, provenTasks, overdueAfterMs)
  const postIds = proven.flatMap((orphan) => orphan.postId ?? [])
  await settleKnownPosts(tx, postIds)
  const doubtedIds = doubted.flatMap((orphan) => orphan.knownId ?? [])
  await doubtIds(tx, doubtedIds)
  return evidence
}

/** Has the service's own list searched for tasks whose ids may be wrong: their posts are `unknown` again. */
export async function doubtIds(tx: Transaction, serviceIds: readonly string[]): Promise<void> {
  if (serviceIds.length === 0) return
  await tx`
    with doubted as (
      select id from post where state = 'settled' and id in (
        select post_id from task where service_id = any(${serviceIds}::text[]) and state = 'posted')
      order by id for update
    )
    update post p set state = 'unknown', micros = 0,
      problem = 'The service does not know the id of a task, or gives another one''s answer under it.'
    from doubted d where p.id = d.id and p.state = 'settled'`
}

/** Settles the posts that have no `posting` task any more. */
export async function settleKnownPosts(db: SqlRunner, postIds: readonly string[]): Promise<void> {
  if (postIds.length === 0) return
  await db`
    with open as (
      select id from post where id = any(${postIds}::uuid[]) and state in ('sending', 'unknown') order by id
        for update
    )
    update post p set state = 'settled', settled_at = clock_timestamp(), problem = null
    from open where p.id = open.id and p.state in ('sending', 'unknown')
      and not exists (select from task k where k.post_id = p.id and k.state = 'posting')`
}
