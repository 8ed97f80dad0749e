/**
 * Compares the service's list with our charges, in one transaction: a difference in cost becomes an adjustment, and every
 * difference a row of `audit_difference`. What an adjustment says is computed from the facts alone, so that it is the same
 * however often and by however many it is written.
 */
import type { Database, Transaction } from '../db/database.ts'
import { parseTag } from '../post/tag.ts'
import type { Range } from '../post/task-history.ts'
import type { TaskIdRow } from '../service/history.ts'

/** What is held of a row of the list: a day may have 200,000 of them. */
export type ListedTask = Pick<
  TaskIdRow,
  'id' | 'datetimePosted' | 'datetimeDone' | 'costMicros' | 'tag' | 'url'
>

export interface Compared {
  /** Tasks whose adjustment is new or has changed. */
  readonly adjusted: number
  /** Charged by our books, and not listed. */
  readonly missing: number
  /** Listed, and of no charge of ours. */
  readonly unknown: number
}

/**
 * @param slices the complete list of the range, and of some time around it, which only proves that a task exists
 * @param range by the clock of the service
 * @param aheadMs how far that clock is before the database's
 */
export async function compareBooks(
  db: Database,
  slices: Iterable<readonly ListedTask[]>,
  range: Range,
  aheadMs: number,
): Promise<Compared> {
  return db.begin(async (tx) => {
    // Two audits write the same rows: one after the other, they never wait for each other in a circle.
    await tx`select pg_advisory_xact_lock(hashtext('storerank'), hashtext('audit'))`
    await fillListed(tx, slices)
    await findDifferences(tx, range, aheadMs)
    const adjusted = await adjustCharges(tx)
    return { adjusted, ...(await recordDifferences(tx, range)) }
  })
}

async function fillListed(tx: Transaction, slices: Iterable<readonly ListedTask[]>): Promise<void> {
  await tx`
    create temporary table audit_listed (
      service_id text primary key, posted_at timestamptz not null, is_done boolean not null, cost_micros bigint,
      tag text, task_id uuid, path text
    ) on commit drop`
  for (const slice of slices) {
    await tx`
      insert into audit_listed
      select * from unnest(${slice.map((one) => one.id)}::text[],
        ${slice.map((one) => one.datetimePosted.toISOString())}::timestamptz[],
        ${slice.map((one) => String(one.datetimeDone !== null))}::text[]::boolean[],
        ${slice.map((one) => one.costMicros)}::bigint[], ${slice.map((one) => one.tag)}::text[],
        ${slice.map((one) => parseTag(one.tag)?.taskId ?? null)}::uuid[], ${slice.map((one) => one.url)}::text[])`
  }
  await tx`analyze audit_listed`
}

/**
 * `cost` is compared where the list names one and both sides are final: done at the service, and stored or given up by us, for until then a refund may
 * be written. It is here as well where both agree again and an adjustment still says otherwise.
 *
 * `missing` goes by the time of sending: a charge is younger when its answer was lost, and its own time only leads the index. A
 * task that was sent again later is left out, because its post has forgotten when it was sent first.
 *
 * `unknown` is one row per task where the task is ours and nobody is left to charge, and else one per path and range: other
 * programs may post as many as they like.
 */
async function findDifferences(tx: Transaction, { from, to }: Range, aheadMs: number): Promise<void> {
  const ahead = tx`make_interval(secs => ${aheadMs / 1000}::float8)`
  await tx`
    create temporary table audit_found on commit drop as
    with listed as (
      select * from audit_listed where posted_at >= ${from} and posted_at < ${to}
    ),
    booked as (
      select l.service_id, min(c.task_id::text)::uuid as task_id,
        (sum(c.amount_micros) filter (where c.kind <> 'adjustment'))::bigint as micros,
        coalesce(sum(c.amount_micros) filter (where c.kind = 'adjustment'), 0)::bigint as adjusted_micros
      from listed l join charge c on c.service_id = l.service_id and c.kind <> 'estimate'
      where l.is_done and not exists (
        select from task k where k.service_id = l.service_id and k.state not in ('collected', 'failed'))
      group by l.service_id
    )
    select 'cost' as kind, l.service_id, l.posted_at, l.path, l.tag, b.task_id, 1 as tasks,
      l.cost_micros as service_micros, b.micros as our_micros
    from booked b join listed l using (service_id)
    where l.cost_micros <> b.micros or l.cost_micros is not null and b.adjusted_micros <> 0
    union all
    select 'missing', c.service_id, min(sent.at), null, null, c.task_id, 1, null,
      (sum(c.amount_micros) filter (where c.kind <> 'adjustment'))::bigint
    from charge c
    left join post p on p.id = c.post_id
    cross join lateral (select coalesce(p.send_before, c.at) + ${ahead} as at) sent
    where c.kind <> 'estimate' and sent.at >= ${from} and sent.at < ${to}
      and c.at >= ${from}::timestamptz - ${ahead} - interval '1 hour'
      and not exists (select from audit_listed l where l.service_id = c.service_id)
      and not exists (select from charge later where later.task_id = c.task_id and later.attempt > c.attempt)
    group by c.service_id, c.task_id
    union all
    select 'unknown', (array_agg(l.service_id order by l.posted_at, l.service_id))[1], min(l.posted_at), l.path,
      (array_agg(l.tag order by l.posted_at, l.service_id))[1],
      (array_agg(l.task_id order by l.posted_at, l.service_id))[1], count(*), sum(l.cost_micros)::bigint, null
    from listed l left join task k on k.id = l.task_id
    where not exists (select from charge c where c.service_id = l.service_id and c.kind <> 'estimate')
    group by l.path, l.task_id is null, k.id, case when k.id is not null then l.service_id end`
}

/** Split like the charge, the remainder to the first, and dated like it: the day of sending is the day that was dearer. */
async function adjustCharges(tx: Transaction): Promise<number> {
  const [row] = await tx<{ adjusted: number }[]>`
    with payer as (
      select c.*, f.service_micros - f.our_micros as difference,
        row_number() over (partition by c.service_id order by c.project) as place,
        count(*) over (partition by c.service_id) as payers
      from audit_found f join charge c on c.service_id = f.service_id and c.kind in ('charge', 'duplicate')
      where f.kind = 'cost'
    ),
    adjusted as (
      insert into charge (kind, at, project, amount_micros, task_id, attempt, target_id, slot, post_id, service_id)
      select 'adjustment', at, project, difference / payers + case when place = 1 then difference % payers else 0 end,
        task_id, attempt, target_id, slot, post_id, service_id
      from payer
      on conflict (service_id, kind, project) where kind <> 'estimate' do update set amount_micros = excluded.amount_micros
      where charge.amount_micros <> excluded.amount_micros
      returning service_id
    )
    select count(distinct service_id) as adjusted from adjusted`
  return row?.adjusted ?? 0
}

/** What is not found any more goes away; of a cost, only when it was compared again and agrees without an adjustment. */
async function recordDifferences(tx: Transaction, { from, to }: Range): Promise<Omit<Compared, 'adjusted'>> {
  await tx`
    delete from audit_difference d
    where d.posted_at >= ${from} and d.posted_at < ${to} and case d.kind
      when 'cost' then exists (
        select from audit_found f where f.service_id = d.service_id and f.service_micros = f.our_micros)
      else not exists (select from audit_found f where f.service_id = d.service_id) end`
  await tx`
    insert into audit_difference (kind, service_id, posted_at, path, tag, task_id, tasks, service_micros, our_micros)
    select * from audit_found where service_micros is distinct from our_micros
    on conflict (service_id) do update set kind = excluded.kind, posted_at = excluded.posted_at, path = excluded.path,
      tag = excluded.tag, task_id = excluded.task_id, tasks = excluded.tasks, service_micros = excluded.service_micros,
      our_micros = excluded.our_micros, found_at = excluded.found_at
    where (audit_difference.kind, audit_difference.tasks, audit_difference.service_micros, audit_difference.our_micros)
      is distinct from (excluded.kind, excluded.tasks, excluded.service_micros, excluded.our_micros)`
  const [row] = await tx<Omit<Compared, 'adjusted'>[]>`
    select count(*) filter (where kind = 'missing') as missing,
      coalesce(sum(tasks) filter (where kind = 'unknown'), 0)::bigint as unknown
    from audit_found`
  return row ?? { missing: 0, unknown: 0 }
}
