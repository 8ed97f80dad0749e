/**
 * Compares the service's list with our charges. All is computed from the facts, so that it can be done again.
 */
import type { Database, Transaction } from '../db/database.ts'
import { withoutNestedLoops } from '../db/joins.ts'
import { sql } from '../db/sql.ts'
import { adjustCharges, learnFromList } from '../ledger/prices.ts'
import { parseTag } from '../ledger/tag.ts'
import type { Range } from '../post/task-history.ts'
import type { TaskIdRow } from '../service/task-ids.ts'

export type ListedTask = ReturnType<typeof keepListed>

/** What is kept of a row in memory: a day may have 200,000. */
export function keepListed({ id, datetimePosted, datetimeDone, costMicros, tag, url }: TaskIdRow) {
  return { id, datetimePosted, datetimeDone, costMicros, tag, url }
}

export interface Compared {
  /** Tasks whose adjustment is new or has changed. */
  readonly adjusted: number
  /** Charged by our books, and not listed. */
  readonly missing: number
  /** Listed, and of no charge of ours. */
  readonly unknown: number
}

/**
 * @param slices the complete list of the range, and of some time around it, which only proves a task's being
 * @param range by the clock of the service, which is `aheadMs` before the database's
 */
export async function compareBooks(
  db: Database,
  slices: Iterable<readonly ListedTask[]>,
  range: Range,
  aheadMs: number,
): Promise<Compared> {
  return db.begin(async (tx) => {
    // Two audits write the same rows. One after the other, they cannot deadlock.
    await tx`select wait_for_lock('audit')`
    await fillListed(tx, slices)
    // Nothing says beforehand how many rows the relations in it have: a nested loop over two of them would
    // compare a day with a day.
    await withoutNestedLoops(tx, () => findDifferences(tx, range, aheadMs))
    await learnFromList(tx)
    const adjusted = await adjustCharges(tx)
    return { adjusted, ...(await recordDifferences(tx, range)) }
  })
}

async function fillListed(tx: Transaction, slices: Iterable<readonly ListedTask[]>): Promise<void> {
  await tx`
    create temporary table audit_listed (service_id text primary key, posted_at timestamptz not null,
      is_done boolean not null, cost_micros bigint, tag text, task_id uuid, path text) on commit drop`
  const columns =
    'id text, postedAt timestamptz, isDone boolean, costMicros bigint, tag text, taskId uuid, url text'
  for (const slice of slices) {
    const rows = slice.map(({ datetimePosted: postedAt, datetimeDone, ...task }) => ({
      ...task,
      postedAt,
      isDone: datetimeDone !== null,
      taskId: parseTag(task.tag)?.taskId,
    }))
    await tx`insert into audit_listed select * from ${sql.rows('l', rows, columns)}`
  }
  await tx`analyze audit_listed`
}

/**
 * `cost`: tasks that are done at the service and collected or failed here, so that no refund is outstanding,
 * whose costs differ; and tasks whose costs agree again while an adjustment still stands.
 *
 * `missing`: charges that the list does not have. They are selected by the time of sending, because a charge
 * is younger than its task when the answer was lost; `c.at` only narrows the index. A second service id of a
 * task was sent with that task (`o`). Left out are service ids whose task was posted again since, and tasks
 * that have left their post: their time of sending is not known.
 *
 * `unknown`: tasks of the list without a charge, one row per path and range, because other programs may post
 * any number. No task of ours is among them: the audit has adopted those before.
 *
 * `charged` is looked up by an array of the keys, however much the ledger holds: a join would read all of it
 * from some size on, and a look-up for each row goes down the index once more.
 */
async function findDifferences(tx: Transaction, { from, to }: Range, aheadMs: number): Promise<void> {
  const ahead = sql`make_interval(secs => ${aheadMs / 1000}::float8)`
  await tx`
    create temporary table audit_found on commit drop as
    with listed as (select * from audit_listed where posted_at >= ${from} and posted_at < ${to}),
    charged as materialized (
      select c.service_id, c.target_id, c.slot,
        (sum(c.amount_micros) filter (where c.kind <> 'adjustment'))::bigint as micros,
        coalesce(sum(c.amount_micros) filter (where c.kind = 'adjustment'), 0)::bigint as adjusted_micros
      from charge c where c.service_id = any(array(select service_id from listed)) group by 1, 2, 3
    ),
    booked as (
      select l.*, c.target_id, c.slot, c.micros, c.adjusted_micros
      from listed l join charged c using (service_id)
    ),
    unlisted as (
      select * from charge c
      where c.at >= ${from}::timestamptz - ${ahead} - interval '1 hour'
        and not exists (select from audit_listed l where l.service_id = c.service_id)
    ),
    unlisted_task as (
      select k.id, k.service_id, k.post_id from task k
      where k.service_id = any(array(select service_id from unlisted))
    ),
    their_post as materialized (
      select p.id, p.send_before from post p
      where p.id = any(array(select distinct post_id from unlisted_task))
    )
    select 'cost' as kind, b.service_id, b.posted_at, b.path, b.tag, coalesce(
        (select k.id from task k where k.service_id = b.service_id),
        (select k.id from task k where k.target_id = b.target_id and k.slot = b.slot
          and k.state <> 'dropped')) as task_id,
      1 as tasks, b.cost_micros as service_micros, b.micros as our_micros
    from booked b
    where b.is_done and (b.cost_micros <> b.micros or b.cost_micros is not null and b.adjusted_micros <> 0)
      and (select k.id from task k where k.service_id = b.service_id
        and k.state not in ('collected', 'failed')) is null
    union all
    select 'missing', c.service_id, min(sent.at), null, null, coalesce(k.id, o.id), 1, null,
      (sum(c.amount_micros) filter (where c.kind <> 'adjustment'))::bigint
    from unlisted c
    left join unlisted_task k using (service_id)
    left join lateral (
      select o.id, o.post_id, o.attempt from task o
      where k.id is null and o.target_id = c.target_id and o.slot = c.slot and o.state <> 'dropped' offset 0
    ) o on true
    left join their_post p on p.id = k.post_id
    cross join lateral (
      select coalesce(p.send_before, (select f.send_before from post f where f.id = o.post_id), c.at)
        + ${ahead} as at
    ) sent
    where sent.at >= ${from} and sent.at < ${to} and (k.id is null or k.post_id is not null)
      and (o.id is null or o.attempt = 1)
    group by c.service_id, k.id, o.id
    union all
    select 'unknown', (array_agg(l.service_id order by l.posted_at, l.service_id))[1], min(l.posted_at),
      l.path, (array_agg(l.tag order by l.posted_at, l.service_id))[1],
      (array_agg(l.task_id order by l.posted_at, l.service_id))[1], count(*), sum(l.cost_micros)::bigint, null
    from listed l
    where not exists (select from booked b where b.service_id = l.service_id)
    group by l.path, l.task_id is null`
}

/** A difference in cost is gone only when it was compared again and agrees without an adjustment. */
async function recordDifferences(tx: Transaction, { from, to }: Range): Promise<Omit<Compared, 'adjusted'>> {
  await tx`
    delete from audit_difference d
    where d.posted_at >= ${from} and d.posted_at < ${to} and case d.kind
      when 'cost' then exists (
        select from audit_found f where f.service_id = d.service_id and f.service_micros = f.our_micros)
      else not exists (select from audit_found f where f.service_id = d.service_id) end`
  await tx`
    insert into audit_difference as d (kind, service_id, posted_at, path, tag, task_id, tasks, service_micros,
      our_micros)
    select * from audit_found where service_micros is distinct from our_micros
    on conflict (service_id) do update set kind = excluded.kind, posted_at = excluded.posted_at,
      path = excluded.path, tag = excluded.tag, task_id = excluded.task_id, tasks = excluded.tasks,
      service_micros = excluded.service_micros, our_micros = excluded.our_micros,
      found_at = excluded.found_at
    where (d.kind, d.tasks, d.service_micros, d.our_micros)
      is distinct from (excluded.kind, excluded.tasks, excluded.service_micros, excluded.our_micros)`
  const [row] = await tx<Omit<Compared, 'adjusted'>[]>`
    select count(*) filter (where kind = 'missing') as missing,
      coalesce(sum(tasks) filter (where kind = 'unknown'), 0)::bigint as unknown
    from audit_found`
  return row ?? { missing: 0, unknown: 0 }
}
