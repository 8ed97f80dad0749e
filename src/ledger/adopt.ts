/**
 * `adopt`: records that the service created a task. That is a fact: any source may bring it, in any order and
 * more than once. It is recorded once per service id and moves no state backwards. Facts need no token;
 * decisions do.
 */
import type { SqlRunner, Transaction } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import { TIMINGS } from '../timings.ts'
import { insertSpendChanges, releasedReservations } from './money.ts'
import { learnedPrices } from './prices.ts'
import type { TaskTag } from './tag.ts'

export interface CreatedTask extends TaskTag {
  readonly serviceId: string
  /**
   * Null when the source does not say: then the estimate stands in, because the service bills by the
   * parameters.
   */
  readonly costMicros: number | null
}

export interface Evidence {
  /** Tasks that got their service id. */
  readonly adopted: number
  /** Second service ids of a task: paid twice, and shown in `task_problem`. */
  readonly duplicates: number
}

/**
 * Records created tasks: sets the service id, charges each payer, and ends the reservation. The charge counts
 * on the day of the reservation, which is the day of sending: an answer after midnight must not take money of
 * the next day. A task that was dropped meanwhile becomes `posted`, unless its slot has another task.
 * @param overdueAfterMs when the result of a task at priority 1 is late, and asked for by id
 */
export async function adoptTasks(
  tx: Transaction,
  created: readonly CreatedTask[],
  overdueAfterMs: number,
): Promise<Evidence> {
  if (created.length === 0) return { adopted: 0, duplicates: 0 }
  // Tasks are locked in the order of their ids, as everywhere in the ledger, so that two transactions cannot
  // deadlock.
  await tx`select id from task where id = any(${created.map((task) => task.taskId)}::uuid[]) order by id
    for update`
  const [row] = await tx<Evidence[]>`
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
        charged_posts = k.charged_posts + 1,
        endpoint = f.endpoint,
        state = case when f.endpoint is null then 'collected' when f.is_reserved
          or (k.state = 'dropped' and not f.has_successor) then 'posted'
          else k.state end,
        ended_at = case when f.endpoint is null then clock_timestamp() when k.state = 'dropped'
          and not f.has_successor then null else k.ended_at end,
        -- Why it was refused before.
        problem = case
          when f.endpoint is null and not exists (select from post p where p.id = k.post_id
            and p.state = 'sending')
            then 'It was charged, and its answer was lost.'
          when k.state in ('planned', 'posting') and k.status_code is null then null else k.problem end,
        overdue_at = late.at, ask_at = late.at
      from known f cross join lateral (
        select clock_timestamp() + make_interval(secs =>
          case f.priority
            when 2 then ${Math.min(overdueAfterMs, TIMINGS.highPriorityOverdueMs) / 1000}::float8
            else ${overdueAfterMs / 1000}::float8 end) as at
      ) late
      where f.is_own and k.id = f.task_id
    ),
    settled as (select payers, estimate_micros, reserved_at from known where is_own and is_reserved),
    moved as (
      ${releasedReservations('settled')}
      union all
      select project_id, at, kind, amount_micros from charged
    ),
    ${insertSpendChanges},
    ${learnedPrices()}
    select count(*) filter (where is_own) as adopted, count(*) filter (where not is_own) as duplicates
      from known`
  return row ?? { adopted: 0, duplicates: 0 }
}

/**
 * Which of the service ids have no charge yet. What has one is recorded, so that no transaction need lock its
 * task.
 */
export async function findUncharged(db: SqlRunner, serviceIds: readonly string[]): Promise<Set<string>> {
  const rows = await db<{ id: string }[]>`
    select id from unnest(${serviceIds}::text[]) as f (id)
    except
    select c.service_id from charge c where c.service_id = any(${serviceIds}::text[])`
  return new Set(rows.map((row) => row.id))
}

/** Those of the tasks that have no charge yet. */
export async function keepUncharged<Task extends { readonly serviceId: string }>(
  db: SqlRunner,
  tasks: readonly Task[],
): Promise<Task[]> {
  const uncharged = await findUncharged(
    db,
    tasks.map((task) => task.serviceId),
  )
  return tasks.filter((task) => uncharged.has(task.serviceId))
}

/** `known`: the new facts of our tasks; `is_own` says whether the fact is the first of its task. */
function known(created: readonly CreatedTask[]) {
  return sql`
    -- Materialized: the ids are few, where the planner would begin with all tasks.
    fact as materialized (
      select distinct on (f.service_id) f.* from unnest(
        ${created.map((task) => task.taskId)}::uuid[], ${created.map((task) => task.serviceId)}::text[],
        ${created.map((task) => task.costMicros)}::bigint[]
      ) with ordinality as f (task_id, service_id, told_micros, place)
      where not exists (select from charge c where c.service_id = f.service_id)
      order by f.service_id, f.place
    ),
    known as (
      select f.task_id, f.service_id, f.told_micros, k.target_id, k.slot, k.priority, k.depth, k.payers,
        k.estimate_micros,
        k.reserved_at, k.state in ('planned', 'posting') as is_reserved,
        -- Null for a call that is answered at once (src/ledger/live-call.ts): its answer came, or it is lost.
        (select endpoint_of(t.store, t.function) from target t where t.id = k.target_id) as endpoint,
        coalesce(f.told_micros, k.estimate_micros) as cost_micros,
        f.service_id = coalesce(k.service_id, first_value(f.service_id)
          over (partition by f.task_id order by f.place)) as is_own,
        k.state = 'dropped' and exists (
          select from task o where o.target_id = k.target_id and o.slot = k.slot
            and o.state <> 'dropped') as has_successor
      from fact f join task k on k.id = f.task_id
    )`
}

/** What a complete list of the service says: the id of our task by the service's id. */
export type ListedIds = ReadonlyMap<string, string>

export function toListedIds(listed: readonly CreatedTask[]): ListedIds {
  return new Map(listed.map(({ serviceId, taskId }) => [serviceId, taskId]))
}

/**
 * Adopts those of the created tasks that are ours and have no charge yet, and settles the posts that waited
 * for them. A second id of an attempt is a second payment only where a complete list has both ids. Elsewhere
 * the first one is doubted, until a list corrects it (`correctIds`): a task may get it from a late answer
 * after the list was compared.
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
    from unnest(${created.map((task) => task.taskId)}::uuid[], ${created.map((task) => task.attempt)}::int[],
      ${created.map((task) => task.serviceId)}::text[])
      as f (task_id, attempt, service_id)
    join task k on k.id = f.task_id
    where not exists (select from charge c where c.service_id = f.service_id)`
  const isProven = ({ taskId, knownId }: (typeof orphans)[number]) =>
    knownId === null || listed?.get(knownId) === taskId
  const proven = orphans.filter(isProven)
  const provenIds = new Set(proven.map((orphan) => orphan.serviceId))
  const evidence = await adoptTasks(
    tx,
    created.filter((task) => provenIds.has(task.serviceId)),
    overdueAfterMs,
  )
  await settleKnownPosts(
    tx,
    proven.flatMap((orphan) => orphan.postId ?? []),
  )
  await doubtIds(
    tx,
    orphans.flatMap((orphan) => (isProven(orphan) ? [] : (orphan.knownId ?? []))),
  )
  return evidence
}

/**
 * Has the service's own list searched for tasks whose ids it may have told wrongly: their posts are `unknown`
 * again, until a complete list has corrected the ids (`correctIds`).
 */
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
