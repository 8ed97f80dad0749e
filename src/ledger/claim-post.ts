/**
 * `claim`: the transitions of a `ready` post before it is sent, and of the tasks that leave it. All of them run in one transaction that
 * holds the ledger's lock; src/post/claim.ts calls them in order.
 */
import type { Price } from '../account/prices.ts'
import type { Transaction } from '../db/database.ts'
import { booked, type Fragment, freed, reserved } from './money.ts'
import type { TagOrigin } from './tag.ts'

/** Budgets that hold for all projects together, in micro-dollars; null is no limit of our own. */
export interface DayAndMonthBudget {
  readonly maxDayMicros: number
  readonly maxMonthMicros: number | null
}

/** Records why a post stays `ready`. When the slot of a task ends meanwhile, it becomes the reason of the gap. */
export async function holdPost(tx: Transaction, postId: string, problem: string): Promise<void> {
  await tx`update post set problem = ${problem} where id = ${postId} and problem is distinct from ${problem}`
}

/** Which transitions a post needs before it may be sent. */
export interface PostReview {
  readonly hasStaleTasks: boolean
  readonly hasOutdatedReservations: boolean
  readonly isOverBudget: boolean
}

/**
 * Asks in one cheap statement which of the transitions below a post needs: most need none.
 * @param prices what a billing unit costs now
 */
export async function reviewPost(
  tx: Transaction,
  postId: string,
  prices: readonly Price[],
  budget: DayAndMonthBudget,
): Promise<PostReview> {
  const [row] = await tx<PostReview[]>`
    with ${staleTasks(tx, postId)},
    ${outdatedTasks(tx, postId, prices)},
    mine as materialized (
      select k.estimate_micros, k.payers from task k where k.post_id = ${postId} and k.state = 'planned'
    )
    select exists (select from stale) as "hasStaleTasks", exists (select from outdated) as "hasOutdatedReservations",
      exists (
        select from project_money(storerank_now(), array(select distinct unnest(payers) from mine))
        where greatest(day_micros - daily_micros, month_micros - monthly_micros) > 0
      ) or exists (
        select from overall_money(storerank_now(), ${budget.maxDayMicros}::bigint, ${budget.maxMonthMicros}::bigint)
        where used_micros > limit_micros
      ) or (select max(estimate_micros) from mine)
        > (select minute_limit_micros from account_usage order by fetched_at desc limit 1) is true as "isOverBudget"`
  if (row === undefined) throw new Error('A select without a table returned no row.')
  return row
}

/** `stale`: tasks of a post whose slot is over, or that no watch asks for any more. */
function staleTasks(tx: Transaction, postId: string): Fragment {
  return tx`
    stale as materialized (
      select k.id, k.status_code, k.slot_ends_at <= storerank_now() as is_over from task k
      where k.post_id = ${postId} and k.state = 'planned' and (k.slot_ends_at <= storerank_now() or not exists (
        select from watch_period p
        where p.target_id = k.target_id and p.ended_at is null and slot_of(p.every, k.slot) = k.slot))
    )`
}

/**
 * `outdated`: tasks of a post whose reservation stands in another day, by UTC or by a payer's time zone, or is less than they
 * would cost now. The latest day of all payers comes first: it is computed once, and most reservations stand in it.
 */
function outdatedTasks(tx: Transaction, postId: string, prices: readonly Price[]): Fragment {
  return tx`
    price as (
      select p.* from unnest(
        ${prices.map((price) => price.store)}::text[], ${prices.map((price) => price.function)}::text[],
        ${prices.map((price) => price.billingUnitResults)}::int[],
        ${prices.map((price) => price.normalMicros)}::bigint[], ${prices.map((price) => price.highMicros)}::bigint[]
      ) as p (store, function, unit_results, normal_micros, high_micros)
      join post on post.id = ${postId} and (post.store, post.function) = (p.store, p.function)
    ),
    today as materialized (
      select payer as project_id, max(d.begins_at) as begins_at
      from (select distinct unnest(payers) as payer from task where post_id = ${postId} and state = 'planned') y
      cross join lateral money_days(y.payer, storerank_now()) d group by payer
    ),
    outdated as materialized (
      select k.id, k.payers, k.estimate_micros, k.reserved_at,
        greatest(k.estimate_micros, task_price(k.depth, p.unit_results,
          case k.priority when 2 then p.high_micros else p.normal_micros end)) as price_micros
      from task k cross join price p
      where k.post_id = ${postId} and k.state = 'planned' and (
        k.estimate_micros < task_price(k.depth, p.unit_results,
          case k.priority when 2 then p.high_micros else p.normal_micros end)
        or (k.reserved_at < (select max(begins_at) from today)
          and k.reserved_at < (select max(begins_at) from today where project_id = any (k.payers))))
    )`
}

/**
 * Drops tasks whose slot is over and tasks that no watch asks for any more. They leave the post, and `closeEndedSlots` turns them into
 * gaps. A task with a status code was charged before. While its slot goes on such a task ends as `failed`, because the next plan would
 * buy the slot of a `dropped` task again from the first attempt. A task that was adopted meanwhile is `posted`, and is left alone.
 */
export async function dropStaleTasks(tx: Transaction, postId: string): Promise<void> {
  await tx`
    with ${staleTasks(tx, postId)},
    ended as (
      update task k set
        state = case when s.is_over or s.status_code is null then 'dropped' else 'failed' end,
        post_id = case when s.is_over or s.status_code is null then null else k.post_id end,
        ended_at = case when s.is_over or s.status_code is null then null else clock_timestamp() end,
        problem = case when s.is_over or s.status_code is null then coalesce(k.problem, p.problem)
          else 'No watch asks for it any more, and it was not posted again after: ' || k.problem end
      from stale s, post p where k.id = s.id and k.state = 'planned' and p.id = ${postId}
      returning k.payers, k.estimate_micros, k.reserved_at
    ),
    moved as (${freed(tx, 'ended')}),
    ${booked(tx)}
    select`
}

/** Moves the reservations of the post's tasks to the day of sending, and raises them to the present price. */
export async function renewReservations(
  tx: Transaction,
  postId: string,
  prices: readonly Price[],
): Promise<void> {
  await tx`
    with ${outdatedTasks(tx, postId, prices)},
    renewed as (
      update task k set estimate_micros = o.price_micros, reserved_at = storerank_now()
      from outdated o where k.id = o.id and k.state = 'planned'
      returning k.payers, k.estimate_micros, k.reserved_at
    ),
    moved as (${freed(tx, 'outdated')} union all ${reserved(tx, 'renewed')}),
    ${booked(tx)}
    select`
}

/**
 * Drops tasks, the least urgent first, until the reservations fit the budgets again. The budget of each payer comes first. What these
 * drops free counts for the budgets of all projects together, which come second. Tasks dearer than the account's limit per minute are
 * dropped too. Each cut is a row of `budget_cut`, and its slot a row of `due_slot`, so that the next plan buys it when a project can pay.
 * A task that was charged before ends as `failed`. A task that was sent before stays as `dropped`, because the service may still name
 * it. Other tasks are deleted.
 */
export async function dropTasksOverBudget(
  tx: Transaction,
  postId: string,
  budget: DayAndMonthBudget,
): Promise<void> {
  await tx`
    with mine as materialized (
      select k.*, row_number() over (order by k.priority, k.planned_at desc, k.id desc) as place
      from task k where k.post_id = ${postId} and k.state = 'planned'
    ),
    share as materialized (
      select m.id, m.place, y.project_id, share_of(m.estimate_micros, cardinality(m.payers), y.place) as micros
      from mine m cross join lateral unnest(m.payers) with ordinality as y (project_id, place)
    ),
    over_project as materialized (
      select project_id, greatest(day_micros - daily_micros, month_micros - monthly_micros) as micros
      from project_money(storerank_now(), array(select distinct project_id from share))
      where greatest(day_micros - daily_micros, month_micros - monthly_micros) > 0
    ),
    over_all as materialized (
      select max(used_micros - limit_micros) as micros
      from overall_money(storerank_now(), ${budget.maxDayMicros}::bigint, ${budget.maxMonthMicros}::bigint)
    ),
    too_dear as materialized (
      select id from mine where estimate_micros > (select minute_limit_micros from account_usage order by fetched_at desc limit 1)
    ),
    by_project as materialized (
      select distinct id from (
        select s.id, o.micros, sum(s.micros) over (partition by s.project_id order by s.place) - s.micros as before
        from share s join over_project o using (project_id)
      ) as queue
      where before < micros
    ),
    gone_before as materialized (select id from by_project union select id from too_dear),
    left_over as (
      select m.id, sum(m.estimate_micros) over (order by m.place) - m.estimate_micros as before
      from mine m where m.id not in (select id from gone_before)
    ),
    freed_before as (
      select coalesce(sum(m.estimate_micros), 0) as micros from mine m where m.id in (select id from gone_before)
    ),
    verdict as materialized (
      select id, 'dearer_than_overall_budget' as reason from too_dear
      union all
      select id, 'project_budget' from by_project where id not in (select id from too_dear)
      union all
      select l.id, 'overall_budget' from left_over l, over_all o, freed_before f where l.before < o.micros - f.micros
    ),
    ended as (
      update task k set ended_at = clock_timestamp(),
        state = case when k.status_code is null then 'dropped' else 'failed' end,
        post_id = case when k.status_code is null then null else k.post_id end,
        problem = case when k.status_code is null then k.problem
          else 'No budget was left to post it again after: ' || k.problem end
      from verdict v where k.id = v.id and k.state = 'planned' and (k.status_code is not null or k.attempt > 1)
      returning k.id, k.target_id, k.slot, k.slot_ends_at, k.priority, k.status_code, k.estimate_micros, k.payers, k.reserved_at,
        v.reason
    ),
    deleted as (
      delete from task k using verdict v
      where k.id = v.id and k.state = 'planned' and k.status_code is null and k.attempt = 1
      returning k.id, k.target_id, k.slot, k.slot_ends_at, k.priority, k.status_code, k.estimate_micros, k.payers, k.reserved_at,
        v.reason
    ),
    cut as (select * from ended union all select * from deleted),
    moved as (${freed(tx, 'cut')}),
    ${booked(tx)},
    due_again as (
      insert into due_slot (target_id, slot, priority_order, captured_at)
      select c.target_id, c.slot, -c.priority, coalesce(t.captured_at, '-infinity')
      from cut c join target t on t.id = c.target_id where c.status_code is null order by 1, 2
      on conflict (target_id, slot) do nothing
    )
    insert into budget_cut (target_id, slot, slot_ends_at, reason, price_micros)
    select target_id, slot, slot_ends_at, reason, estimate_micros from cut where status_code is null
    on conflict (target_id, slot) do nothing`
}

/**
 * Keeps the account's spending limit per minute: tasks beyond it leave the post, and the next sweep packs them again. The money of a
 * post counts while it is `sending` or `unknown`, and for 60.5 seconds after it was settled.
 * @returns false when not even the first task fits now
 */
export async function applyMinuteSpendLimit(tx: Transaction, postId: string): Promise<boolean> {
  const [row] = await tx<{ fits: boolean }[]>`
    with minute as (
      select u.minute_limit_micros - (
        select coalesce(sum(p.micros), 0) from post p where p.state in ('sending', 'unknown')
      ) - (
        select coalesce(sum(p.micros), 0) from post p
        where p.state = 'settled' and p.settled_at > clock_timestamp() - interval '60.5 seconds'
      ) as left_micros
      from (select minute_limit_micros from account_usage order by fetched_at desc limit 1) u
      where u.minute_limit_micros is not null
    ),
    mine as materialized (
      select k.id, sum(k.estimate_micros) over (order by k.priority desc, k.planned_at, k.id) > m.left_micros as is_beyond
      from task k, minute m where k.post_id = ${postId} and k.state = 'planned'
    ),
    parted as (
      update task k set post_id = null from mine
      where k.id = mine.id and k.state = 'planned' and mine.is_beyond and exists (select from mine where not is_beyond)
    )
    select not coalesce(bool_and(is_beyond), false) as fits from mine`
  return row?.fits ?? true
}

/** Settles the post if it has no `planned` task. Returns whether it had none. */
export async function settleEmptyPost(tx: Transaction, postId: string): Promise<boolean> {
  const rows = await tx`
    update post set state = 'settled', settled_at = clock_timestamp(), micros = 0
    where id = ${postId} and not exists (select from task k where k.post_id = ${postId} and k.state = 'planned')
    returning id`
  return rows.length > 0
}

export interface ClaimStamp {
  /** New for each attempt: every later decision on the post carries it. */
  readonly token: string
  readonly runner: string
  /** From now on: until when it may be sent, and until when its answer is awaited. */
  readonly sendWithinMs: number
  readonly answerWithinMs: number
}

/** A task as the claim hands it to the sender. */
export interface ClaimedTask extends TagOrigin {
  readonly id: string
  readonly attempt: number
  readonly subject: string
  readonly category: string | null
  readonly locationCode: number
  readonly languageCode: string
  readonly priority: number
  readonly depth: number | null
  readonly html: boolean
}

/** The decision to send: from its commit on only this runner may send the post, and only until `send_before`. */
export async function startSending(
  tx: Transaction,
  postId: string,
  { token, runner, sendWithinMs, answerWithinMs }: ClaimStamp,
): Promise<ClaimedTask[]> {
  return tx<ClaimedTask[]>`
    with sent as (
      update task k set state = 'posting' where k.post_id = ${postId} and k.state = 'planned'
      returning k.id, k.attempt, k.target_id, k.slot, k.slot_ends_at, k.priority, k.depth, k.html, k.estimate_micros
    ),
    sending as (
      update post set state = 'sending', token = ${token}, runner = ${runner}, problem = null,
        micros = (select sum(estimate_micros) from sent),
        send_before = clock_timestamp() + make_interval(secs => ${sendWithinMs / 1000}),
        answer_before = clock_timestamp() + make_interval(secs => ${answerWithinMs / 1000})
      where id = ${postId}
    )
    select s.id, s.attempt, t.subject, t.category, t.location_code as "locationCode", t.language_code as "languageCode",
      s.priority, s.depth, s.html, s.slot, s.slot_ends_at as "slotEndsAt", l.installation
    from sent s join target t on t.id = s.target_id cross join ledger l`
}
