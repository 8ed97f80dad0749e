/**
 * What the service says it created is a fact: whoever brings it, in whatever order, it is recorded, once per service id,
 * and moves no state backwards. Facts carry no token; decisions do.
 */
import type { SqlRunner, Transaction } from '../db/database.ts'
import type { TaskTag } from './tag.ts'

export interface CreatedTask extends TaskTag {
  readonly serviceId: string
  /** Null when the source does not say: the estimate stands in, for the service bills what the parameters say. */
  readonly costMicros: number | null
}

export interface Evidence {
  /** Tasks that got their service id by this. */
  readonly adopted: number
  /** Second service ids of a task: paid twice, and shown. */
  readonly duplicates: number
}

/** Asking by id begins when the ready list should long have named the task (SERVICE-NOTES: pace of completion). */
const HIGH_PRIORITY_OVERDUE_MS = 5 * 60_000

/**
 * Records created tasks: service id, charge by project, the end of the reservation. Whose they are is read from what was
 * reserved for them, which outlives a task that was dropped after it had been released. The money day is that of sending, on
 * which the reservation stands: an answer after midnight must not take from a day whose money is given away already.
 * @param overdueAfterMs when a task at priority 1 is asked for by id
 */
export async function recordCreated(
  tx: Transaction,
  created: readonly CreatedTask[],
  overdueAfterMs: number,
): Promise<Evidence> {
  if (created.length === 0) return { adopted: 0, duplicates: 0 }
  // In one order, so that two recorders of the same tasks wait for each other and never in a circle.
  await tx`select id from task where id = any(${created.map((one) => one.taskId)}::uuid[]) order by id for update`
  const [row] = await tx<Evidence[]>`
    with fact as materialized (
      select distinct on (f.service_id) f.* from unnest(
        ${created.map((one) => one.taskId)}::uuid[], ${created.map((one) => one.attempt)}::int[],
        ${created.map((one) => one.serviceId)}::text[], ${created.map((one) => one.costMicros)}::bigint[]
      ) with ordinality as f (task_id, attempt, service_id, cost_micros, place)
      where not exists (select from charge c where c.service_id = f.service_id and c.kind <> 'estimate')
      order by f.service_id, f.place
    ),
    known as materialized (
      select f.task_id, f.attempt, f.service_id, e.target_id, e.slot, k.post_id, k.priority,
        coalesce(f.cost_micros, e.micros) as cost_micros,
        f.service_id = coalesce(k.service_id, first_value(f.service_id) over (partition by f.task_id order by f.place)) as is_own
      from fact f
      cross join lateral (
        select target_id, slot, sum(amount_micros)::bigint as micros from charge
        where task_id = f.task_id and kind = 'estimate'
        group by attempt, target_id, slot order by attempt desc limit 1) e
      left join task k on k.id = f.task_id
    ),
    payer as (
      select o.service_id, c.project, case when o.is_own then c.sent_at end as sent_at,
        row_number() over (partition by o.service_id order by c.project) as place,
        count(*) over (partition by o.service_id) as payers
      from known o
      cross join lateral (
        select e.project, max(e.at) filter (where e.open
          and (date_trunc('day', e.at at time zone p.timezone) <> date_trunc('day', storerank_now() at time zone p.timezone)
            or date_trunc('day', e.at, 'UTC') <> date_trunc('day', storerank_now(), 'UTC'))) as sent_at
        from charge e join project p on p.name = e.project
        where e.task_id = o.task_id and e.kind = 'estimate'
        group by e.project
      ) c
    ),
    charged as (
      insert into charge (kind, at, project, amount_micros, task_id, attempt, target_id, slot, post_id, service_id)
      select case when o.is_own then 'charge' else 'duplicate' end, coalesce(y.sent_at, storerank_now()), y.project,
        o.cost_micros / y.payers + case when y.place = 1 then o.cost_micros % y.payers else 0 end,
        o.task_id, o.attempt, o.target_id, o.slot, o.post_id, o.service_id
      from known o join payer y using (service_id)
    ),
    adopted as (
      update task k set service_id = o.service_id, posted_at = clock_timestamp(),
        state = case when k.state in ('planned', 'posting') then 'posted' else k.state end,
        ask_at = clock_timestamp() + make_interval(secs =>
          case o.priority when 2 then ${Math.min(overdueAfterMs, HIGH_PRIORITY_OVERDUE_MS) / 1000}::float8
            else ${overdueAfterMs / 1000}::float8 end)
      from known o where o.is_own and k.id = o.task_id
    ),
    settled as (
      update charge c set open = false from known o where o.is_own and c.task_id = o.task_id and c.open
    )
    select count(*) filter (where is_own) as adopted, count(*) filter (where not is_own) as duplicates from known`
  return row ?? { adopted: 0, duplicates: 0 }
}

/**
 * Records those of the created tasks that are ours and have no charge yet, whoever was to record them, and settles the posts
 * that waited for them.
 */
export async function adoptOrphans(
  tx: Transaction,
  created: readonly CreatedTask[],
  overdueAfterMs: number,
): Promise<Evidence> {
  const orphans = await tx<{ serviceId: string; postId: string | null }[]>`
    select f.service_id as "serviceId", k.post_id as "postId"
    from unnest(${created.map((one) => one.taskId)}::uuid[], ${created.map((one) => one.serviceId)}::text[])
      as f (task_id, service_id)
    left join task k on k.id = f.task_id
    where exists (select from charge e where e.task_id = f.task_id and e.kind = 'estimate')
      and not exists (select from charge c where c.service_id = f.service_id and c.kind <> 'estimate')`
  if (orphans.length === 0) return { adopted: 0, duplicates: 0 }
  const orphanIds = new Set(orphans.map((orphan) => orphan.serviceId))
  const evidence = await recordCreated(
    tx,
    created.filter((one) => orphanIds.has(one.serviceId)),
    overdueAfterMs,
  )
  await settleKnownPosts(
    tx,
    orphans.flatMap((orphan) => orphan.postId ?? []),
  )
  return evidence
}

/** Posts whose last unknown task was found are settled: nothing is left to decide. */
export async function settleKnownPosts(sql: SqlRunner, postIds: readonly string[]): Promise<void> {
  await sql`
    update post p set state = 'settled', settled_at = clock_timestamp(), problem = null
    where p.id = any(${postIds}::uuid[]) and p.state in ('sending', 'unknown')
      and not exists (select from task k where k.post_id = p.id and k.state = 'posting')`
}
