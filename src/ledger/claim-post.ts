/**
 * `claim`: the transitions of a `ready` post before it is sent, and of the tasks that leave it, in one
 * transaction that holds the ledger's lock (src/post/claim.ts).
 */
import type { SqlRunner, Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { type Statement, sql } from '../db/sql.ts'
import type { LISTING_SEARCH, ServiceFunction, Store } from '../service/functions.ts'
import { TIMINGS } from '../timings.ts'
import type { AskedTask } from './hand-out.ts'
import { describeUnsent, leaveUnsent } from './leave-unsent.ts'
import { insertSpendChanges, newReservations, RESERVATION, releasedReservations } from './money.ts'
import type { TagOrigin } from './tag.ts'

/** Budgets that hold for all projects together, in micro-dollars; null is no limit of our own. */
export interface DayAndMonthBudget {
  readonly maxDayMicros: number
  readonly maxMonthMicros: number | null
}

/** Records why a post stays `ready`, which becomes the reason of the gap if its slot ends. Needs no lock. */
export async function holdPost(db: SqlRunner, postId: string, problem: string): Promise<void> {
  await db`
    update post set problem = ${problem}
    where id = ${postId} and state = 'ready' and problem is distinct from ${problem}`
}

export interface PostToClaim {
  readonly id: string
  readonly store: Store
  readonly function: ServiceFunction | typeof LISTING_SEARCH
  /** The `project.id` of each project that pays for a task of it. */
  readonly payers: readonly number[]
}

/** Locks the tasks of a post that may be sent, before the post. @returns the ids of the projects that pay */
export async function lockPlannedTasks(tx: Transaction, postId: string): Promise<readonly number[]> {
  const { payers } = oneRow(
    await tx<{ payers: number[] }[]>`
    select coalesce(array_agg(distinct y.project_id), '{}') as payers
    from (
      select k.payers from task k where k.post_id = ${postId} and k.state = 'planned' order by k.id
        for update
    ) k cross join lateral unnest(k.payers) as y (project_id)`,
  )
  return payers
}

/** Asks in one cheap statement which of the transitions below a post needs: most need none. */
export async function reviewPost(
  tx: Transaction,
  post: PostToClaim,
  { maxDayMicros, maxMonthMicros }: DayAndMonthBudget,
) {
  const rows = await tx<
    { hasStaleTasks: boolean; hasOutdatedReservations: boolean; isOverBudget: boolean }[]
  >`
    with ${outdatedTasks(post)},
    ${staleTasks(post.id)}
    select exists (select from stale) as "hasStaleTasks",
      exists (select from outdated) as "hasOutdatedReservations",
      exists (select from payer where greatest(day_micros - daily_micros, month_micros - monthly_micros) > 0)
      or exists (
        select from overall_money(storerank_now(), ${maxDayMicros}::bigint, ${maxMonthMicros}::bigint)
        where used_micros > limit_micros
      ) or (select max(estimate_micros) from mine) > (${MINUTE_LIMIT}) is true as "isOverBudget"`
  return oneRow(rows)
}

/** The account's spending limit per minute, where it has one. */
const MINUTE_LIMIT = sql`select minute_limit_micros from account_usage order by fetched_at desc limit 1`

/** `stale`: tasks of a post whose slot is over, or that no watch asks for any more. */
function staleTasks(postId: string): Statement {
  return sql`
    stale as (
      select k.id, k.status_code, k.problem, k.slot_ends_at <= storerank_now() as is_over from task k
      where k.post_id = ${postId} and k.state = 'planned'
        and (k.slot_ends_at <= storerank_now() or not exists (
        select from watch_period p
        where p.target_id = k.target_id and p.ended_at is null and slot_of(p.every, k.slot) = k.slot))
    )`
}

/**
 * `mine`, the tasks of a post; `payer`, the budgets of its payers; and `outdated`, tasks whose reservation
 * stands in another day, by UTC or by a payer's time zone, or is less than they would cost now.
 */
function outdatedTasks(post: PostToClaim): Statement {
  return sql`
    mine as (
      select k.id, k.priority, k.depth, ${RESERVATION} from task k
      where k.post_id = ${post.id} and k.state = 'planned'
    ),
    -- Materialized: the view of prices is read once, and not for each task.
    price as materialized (
      select p.priority, p.unit_results, p.unit_micros from unit_price p where p.store = ${post.store}
        and p.function = ${post.function}
    ),
    payer as materialized (select * from project_money(storerank_now(), ${post.payers}::int[])),
    outdated as (
      select m.id, m.payers, m.estimate_micros, m.reserved_at, greatest(m.estimate_micros, n.micros)
        as price_micros
      from mine m join price p on p.priority = m.priority
      cross join lateral (select task_price(m.depth, p.unit_results, p.unit_micros) as micros) n
      where m.estimate_micros < n.micros
        or m.reserved_at < (select greatest(date_trunc('day', storerank_now(), 'UTC'), max(y.day_begins))
          from payer y where y.project_id = any(m.payers))
    )`
}

/** Takes out tasks whose slot is over, or that no watch asks for any more. What is owed becomes a gap. */
export async function dropStaleTasks(tx: Transaction, postId: string): Promise<void> {
  const ownProblem = sql`coalesce(s.problem, (select p.problem from post p where p.id = ${postId}))`
  await tx`
    with ${staleTasks(postId)},
    leaving as (
      select s.id, null::text as cut, ${describeUnsent(ownProblem)} as problem,
        case when s.status_code is null then null when s.is_over then ${describeUnsent(sql`s.problem`)}
          else concat('No watch asks for it any more, and it was not posted again after: ', s.problem)
        end as failure
      from stale s
    ),
    ${leaveUnsent()}
    select`
}

/** Moves the reservations of the post's tasks to the day of sending, and raises them to the present price. */
export async function renewReservations(tx: Transaction, post: PostToClaim): Promise<void> {
  await tx`
    with ${outdatedTasks(post)},
    renewed as (
      update task k set estimate_micros = o.price_micros, reserved_at = storerank_now()
      from outdated o where k.id = o.id and k.state = 'planned'
      returning ${RESERVATION}
    ),
    ${insertSpendChanges(releasedReservations('outdated'), newReservations('renewed'))}
    select`
}

/**
 * `mine`, the tasks of a post; and `verdict (id, reason)`, those that the budgets do not reach, the least
 * urgent first: by the budgets of the payers, then by those of all projects.
 */
function overBudget(post: PostToClaim, budget: DayAndMonthBudget): Statement {
  return sql`
    mine as (
      select k.*, row_number() over (order by k.priority, k.planned_at desc, k.id desc) as place
      from task k where k.post_id = ${post.id} and k.state = 'planned'
    ),
    -- Materialized, so that the money of projects and of all is read once, and not for each task.
    share as materialized (
      select m.id, m.place, y.project_id, share_of(m.estimate_micros, cardinality(m.payers),
        y.place) as micros
      from mine m cross join lateral unnest(m.payers) with ordinality as y (project_id, place)
    ),
    over_project as materialized (
      select project_id, greatest(day_micros - daily_micros, month_micros - monthly_micros) as micros
      from project_money(storerank_now(), ${post.payers}::int[])
      where greatest(day_micros - daily_micros, month_micros - monthly_micros) > 0
    ),
    over_all as materialized (
      select max(used_micros - limit_micros) as micros
      from overall_money(storerank_now(), ${budget.maxDayMicros}::bigint, ${budget.maxMonthMicros}::bigint)
    ),
    too_dear as (select id from mine where estimate_micros > (${MINUTE_LIMIT})),
    by_project as (
      select distinct id from (
        select s.id, o.micros, sum(s.micros) over (partition by s.project_id order by s.place)
          - s.micros as before
        from share s join over_project o using (project_id)
      ) as queue
      where before < micros
    ),
    gone_before as (select id from by_project union select id from too_dear),
    left_over as (
      select m.id, sum(m.estimate_micros) over (order by m.place) - m.estimate_micros as before
      from mine m where m.id not in (select id from gone_before)
    ),
    verdict as (
      select id, 'dearer_than_overall_budget' as reason from too_dear
      union all
      select id, 'project_budget' from by_project where id not in (select id from too_dear)
      union all
      select id, 'overall_budget' from left_over, over_all o where before < o.micros - (
        select coalesce(sum(estimate_micros), 0) from mine where id in (select id from gone_before))
    )`
}

/**
 * Drops tasks, the least urgent first, until the reservations fit the budgets and the account's limit per
 * minute again. Their slots are due again, with the reason.
 */
export async function dropTasksOverBudget(
  tx: Transaction,
  post: PostToClaim,
  budget: DayAndMonthBudget,
): Promise<void> {
  await tx`
    with ${overBudget(post, budget)},
    leaving as (
      select m.id, v.reason as cut, null::text as problem, case when m.status_code is not null
        then concat('No budget was left to post it again after: ', m.problem) end as failure
      from mine m join verdict v using (id)
    ),
    ${leaveUnsent()}
    select`
}

/**
 * Keeps the account's spending limit per minute: tasks beyond it leave the post, to be packed again. The
 * money of a post counts while it is `sending` or `unknown`, and 60.5 seconds longer.
 * @returns false when not even the first task fits now
 */
export async function applyMinuteSpendLimit(tx: Transaction, postId: string): Promise<boolean> {
  const rows = await tx<{ fits: boolean }[]>`
    with minute as (
      select u.minute_limit_micros - (
        select coalesce(sum(p.micros), 0) from post p where p.state in ('sending', 'unknown')
      ) - (
        select coalesce(sum(p.micros), 0) from post p
        where p.state = 'settled' and p.settled_at > (select clock_timestamp() - interval '60.5 seconds')
      ) as left_micros
      from (${MINUTE_LIMIT}) u
      where u.minute_limit_micros is not null
    ),
    mine as (
      select k.id, sum(k.estimate_micros) over (order by k.priority desc, k.planned_at, k.id)
        > m.left_micros as is_beyond
      from task k, minute m where k.post_id = ${postId} and k.state = 'planned'
    ),
    parted as (
      update task k set post_id = null from mine
      where k.id = mine.id and k.state = 'planned' and mine.is_beyond
        and exists (select from mine where not is_beyond)
    )
    select not coalesce(bool_and(is_beyond), false) as fits from mine`
  return oneRow(rows).fits
}

/** Leaves the most urgent task in the post, because its price is doubted: the others are packed again. */
export async function keepOneTask(tx: Transaction, postId: string): Promise<void> {
  await tx`
    update task k set post_id = null
    where k.post_id = ${postId} and k.state = 'planned' and k.id <> (
      select id from task where post_id = ${postId} and state = 'planned'
      order by priority desc, planned_at, id limit 1)`
}

/** How many posts of a store and function are being sent, or have lost their answer. */
export async function readPostsInFlight(
  tx: Transaction,
  { store, function: fn }: Pick<PostToClaim, 'store' | 'function'>,
) {
  const rows = await tx<{ sending: number; unknown: number }[]>`
    select count(*) filter (where state = 'sending') as sending, count(*)
      filter (where state = 'unknown') as unknown
    from post where state in ('sending', 'unknown') and store = ${store} and function = ${fn}`
  return oneRow(rows)
}

/** Settles the post if it has no `planned` task. Returns whether it had none. */
export async function settleEmptyPost(tx: Transaction, postId: string): Promise<boolean> {
  const { count } = await tx`
    update post set state = 'settled', settled_at = clock_timestamp(), micros = 0
    where id = ${postId} and not exists (select from task k where k.post_id = ${postId}
      and k.state = 'planned')`
  return count > 0
}

export interface ClaimedTask extends TagOrigin, Omit<AskedTask, 'taskId' | 'ageMs'> {
  readonly id: string
  readonly priority: number
  readonly depth: number | null
  readonly html: boolean
}

/**
 * The decision to send: from its commit on only this runner may send the post, until `send_before`.
 * @param token new for each attempt: every later decision on the post carries it
 */
export async function startSending(
  tx: Transaction,
  postId: string,
  token: string,
  runner: string,
  validMs: number,
): Promise<ClaimedTask[]> {
  return tx<ClaimedTask[]>`
    with sent as (
      update task k set state = 'posting' where k.post_id = ${postId} and k.state = 'planned'
      returning k.id, k.attempt, k.target_id, k.slot, k.slot_ends_at, k.priority, k.depth, k.html,
        k.estimate_micros
    ),
    sending as (
      update post set state = 'sending', token = ${token}, runner = ${runner}, problem = null,
        micros = (select sum(estimate_micros) from sent),
        send_before = clock_timestamp() + make_interval(secs => ${validMs / 1000}),
        answer_before = clock_timestamp() + make_interval(secs => ${(validMs + TIMINGS.callTimeoutMs) / 1000})
      where id = ${postId}
    )
    select s.id, s.attempt, t.subject, t.category, t.location_code as "locationCode",
      t.language_code as "languageCode",
      s.priority, s.depth, s.html, s.slot, s.slot_ends_at as "slotEndsAt", l.installation
    from sent s join target t on t.id = s.target_id cross join ledger l`
}
