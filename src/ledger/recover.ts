/**
 * `recover`: tasks that the service lists and this ledger has forgotten, because the database was restored
 * from an older copy, come back as paid tasks whose results are awaited. Nothing here sends anything.
 */
import type { Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { sql } from '../db/sql.ts'
import type { PostedTask } from '../service/task-ids.ts'
import { adoptTasks } from './adopt.ts'
import { leaveUnsent } from './leave-unsent.ts'
import { insertSpendChanges, newCharges, newReservations, RESERVATION } from './money.ts'
import type { TagOrigin, TaskTag } from './tag.ts'

export interface ListedTask extends TaskTag {
  readonly serviceId: string
  readonly origin: TagOrigin
  /** What it measures; null when the list does not say. Then it comes back only when its task is known. */
  readonly posted: PostedTask | null
  /** By the clock of the database. */
  readonly postedAt: Date
  /** Net of refunds when it is done; null when the list does not say. */
  readonly costMicros: number | null
  readonly isDone: boolean
}

/** It pays for a target that no watch of this copy asks for: the watch was made after the copy. */
const PROJECT_OF_UNWATCHED = 'recovered'

/**
 * Adopts the tasks of one slice of the list that have no charge yet, on the day of posting, with the refund
 * that the list implies. Attempts come back in their order. Idempotent by the service's id. The caller holds
 * the ledger's lock.
 * @returns also what these tasks cost, net of refunds
 */
export async function recoverTasks(tx: Transaction, listed: readonly ListedTask[], overdueAfterMs: number) {
  const total = { adopted: 0, duplicates: 0, netMicros: 0 }
  const attempts = [...Map.groupBy(listed, ({ attempt }) => attempt)].sort(([left], [right]) => left - right)
  for (const [, tasks] of attempts) {
    await fillListed(tx, tasks)
    await dropTasksBoughtUnderAnotherId(tx)
    await repeatTasks(tx)
    await insertForgottenTasks(tx)
    const created = tasks.map((task) => ({ ...task, costMicros: task.isDone ? null : task.costMicros }))
    const { adopted, duplicates } = await adoptTasks(tx, created, overdueAfterMs)
    total.netMicros += await bookKnownRefunds(tx)
    await dropDueSlots(tx)
    total.adopted += adopted
    total.duplicates += duplicates
  }
  return total
}

const LISTED = `
  taskId uuid, attempt int, serviceId text, slot timestamptz, slotEndsAt timestamptz, postedAt timestamptz,
  costMicros bigint, isDone boolean, store text, function text, subject text, category text,
  locationCode int, languageCode text, priority int, depth int`

/**
 * Fills the temporary table `listed`: the tasks without a charge, with target, payers and price, which the
 * list has only net. The projects that asked for the slot pay; else all that ever watched the target; else
 * the project `recovered`.
 */
async function fillListed(tx: Transaction, tasks: readonly ListedTask[]): Promise<void> {
  const rows: (Omit<ListedTask, 'origin'> & TagOrigin & Partial<PostedTask>)[] = tasks.map(
    ({ origin, ...task }) => ({ priority: 1, ...task, ...origin, ...task.posted }),
  )
  await tx`drop table if exists listed`
  await tx`
    create temporary table listed on commit drop as
    with told as (
      select f.*, coalesce(k.target_id, case when f.subject is not null then
        target_of(f.store, f.function, f.subject, f.location_code, f.language_code,
          f.category) end) as target_id
      from ${sql.rows('f', rows, LISTED)} left join task k on k.id = f.task_id
      where not exists (select from charge c where c.service_id = f.service_id)
    )
    select t.*, coalesce(y.asking, y.watching) as payers, coalesce(y.html, false) as html,
      greatest(t.cost_micros, task_price(t.depth::smallint, p.unit_results, p.unit_micros)) as price_micros
    from told t
    left join unit_price p on (p.store, p.function, p.priority) = (t.store, t.function, t.priority)
    cross join lateral (
      select array_agg(distinct j.id order by j.id) as watching,
        array_agg(distinct j.id order by j.id) filter (where a.asks) as asking,
        bool_or(w.html) filter (where a.asks) as html
      from watch_period w join project j on j.name = w.project
      cross join lateral (
        select slot_of(w.every, t.slot) = t.slot and t.slot >= w.first_slot
          and (w.last_slot is null or t.slot <= w.last_slot) as asks
      ) a
      where w.target_id = t.target_id
    ) y`
  const unwatched = await tx`select from listed where payers is null and target_id is not null limit 1`
  if (unwatched.length === 0) return
  await tx`insert into project (name) values (${PROJECT_OF_UNWATCHED}) on conflict (name) do nothing`
  await tx`
    update listed set payers = array(select id from project where name = ${PROJECT_OF_UNWATCHED})
    where payers is null and target_id is not null`
}

/** Takes out planned tasks whose slot was bought under another id, before the copy or after the restore. */
export async function dropTasksBoughtUnderAnotherId(tx: Transaction): Promise<void> {
  await tx`
    with leaving as (
      select k.id, null::text as cut, null::text as problem, null::text as failure
      from task k
      where k.state = 'planned' and exists (
        select from listed l where l.target_id = k.target_id and l.slot = k.slot and l.task_id <> k.id)
      order by k.id for update
    ),
    ${leaveUnsent()}
    select`
}

/**
 * Raises the attempt of known tasks to the listed one, so that no tag is sent twice. One that is `posted` or
 * `failed` here was posted again after the copy: it is `planned`, to be adopted with its new id.
 */
export async function repeatTasks(tx: Transaction): Promise<void> {
  await tx`
    with again as (
      update task k set state = 'planned', attempt = l.attempt, post_id = null, service_id = null,
        posted_at = null, overdue_at = null, ask_at = null, fetching_until = null, unusable_answers = 0,
        ended_at = null, reserved_at = l.posted_at
      from listed l where k.id = l.task_id and k.attempt < l.attempt and k.state in ('posted', 'failed')
      returning ${RESERVATION}
    ),
    ${insertSpendChanges(newReservations('again'))}
    select`
  await tx`update task k set attempt = l.attempt from listed l where k.id = l.task_id
    and k.attempt < l.attempt`
}

/**
 * Inserts the tasks that are not known, with their price reserved on the day of posting: `adoptTasks` charges
 * it. Where another task has the slot, both were paid for: it is `dropped`, and its charge a `duplicate`.
 */
export async function insertForgottenTasks(tx: Transaction): Promise<void> {
  await tx`
    with forgotten as (
      select distinct on (l.task_id) l.* from listed l
      where l.target_id is not null and not exists (select from task k where k.id = l.task_id)
      order by l.task_id, l.posted_at
    ),
    placed as (
      select f.*, row_number() over (partition by f.target_id, f.slot order by f.posted_at desc, f.task_id)
        > 1 or exists (
        select from task o where o.target_id = f.target_id and o.slot = f.slot
          and o.state <> 'dropped') as is_beside
      from forgotten f
    ),
    inserted as (
      insert into task (id, target_id, slot, slot_ends_at, state, attempt, depth, priority, html,
        estimate_micros, payers, reserved_at, ended_at)
      select task_id, target_id, slot, slot_ends_at, case when is_beside then 'dropped' else 'planned' end,
        attempt, depth, priority, html, price_micros, payers, posted_at,
        case when is_beside then clock_timestamp() end
      from placed
      returning state, payers, estimate_micros, reserved_at
    ),
    reserving as (select * from inserted where state = 'planned'),
    ${insertSpendChanges(newReservations('reserving'))}
    select`
}

/** A slot that was bought is not due any more, whatever the plan of the copy has said of it. */
async function dropDueSlots(tx: Transaction): Promise<void> {
  await tx`
    delete from due_slot d using listed l join charge c using (service_id)
    where d.target_id = l.target_id and d.slot = l.slot`
}

/**
 * Books the refunds that the list implies: its cost of a finished task is net. A refund of 0 is a row too:
 * storing the result books no second one.
 * @returns what the tasks cost, net
 */
async function bookKnownRefunds(tx: Transaction): Promise<number> {
  const rows = await tx<{ netMicros: number }[]>`
    with paid as (
      select c.*, (sum(c.amount_micros) over same_task)::bigint - l.cost_micros as back_micros,
        row_number() over (same_task order by c.project_id) as place, (count(*) over same_task)::int as payers
      from listed l join charge c on c.service_id = l.service_id and c.kind in ('charge', 'duplicate')
      where l.is_done and l.cost_micros is not null
      window same_task as (partition by c.service_id)
    ),
    refunded as (
      insert into charge (kind, at, project_id, amount_micros, target_id, slot, service_id)
      select 'refund', at, project_id, -share_of(back_micros, payers, place), target_id, slot, service_id
      from paid where back_micros >= 0
      on conflict do nothing
      returning project_id, at, kind, amount_micros
    ),
    asked as (
      update task k set ask_at = k.posted_at from listed l
      where k.service_id = l.service_id and k.state = 'posted' and l.is_done
    ),
    ${insertSpendChanges(newCharges('refunded'))}
    select coalesce((select sum(amount_micros) from refunded), 0)::bigint + coalesce((
      select sum(c.amount_micros) from listed l join charge c on c.service_id = l.service_id
        and c.kind in ('charge', 'duplicate')), 0)::bigint as "netMicros"`
  return oneRow(rows).netMicros
}
