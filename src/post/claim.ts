/**
 * The first step of paying once: a runner makes a post its own, in one transaction behind the budget lock, and
 * learns until when it may send. Nothing is sent when the commit is in doubt.
 */
import type { Secret } from '../config.ts'
import type { CallWindowOptions } from '../db/call-window.ts'
import { askForPermit, CALL_TIMEOUT_MS, PERMIT_VALID_MS } from '../db/call-window.ts'
import type { Database, Transaction } from '../db/database.ts'
import type { OverallBudget } from '../plan/admission.ts'
import { lockBudget } from '../plan/budget.ts'
import { describeOutage, type Outage, readPostingOutage } from '../plan/service-status.ts'
import type { ServiceFunction, Store } from '../service/functions.ts'
import type { TaskToPost } from '../service/post-tasks.ts'
import type { SendWindow } from '../service/transport.ts'
import { formatTag } from './tag.ts'

export interface ClaimedPost {
  readonly postId: string
  readonly token: string
  readonly callId: number
  readonly store: Store
  readonly function: ServiceFunction
  readonly tasks: readonly TaskToPost[]
  readonly send: SendWindow
}

export type Claim =
  | { readonly kind: 'claimed'; readonly post: ClaimedPost }
  /** The call window is full. */
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** Another runner has it, or it is settled. */
  | { readonly kind: 'taken' }
  /** Every task of it was dropped: too late, unwatched, or no money left. */
  | { readonly kind: 'empty' }
  /** The service says that posting is in major outage: the post stays ready. */
  | { readonly kind: 'held' }

export interface ClaimOptions {
  readonly budget: OverallBudget
  readonly window: CallWindowOptions
  /** Where the service delivers results; null: they are fetched. */
  readonly postbackUrl: Secret | null
}

/** The minute of the account's spending limit passes by itself. */
const MINUTE_BUDGET_WAIT_MS = 2_000

/**
 * Claims one post. The money day is the day of sending, so the reservation moves to today and is checked again; tasks
 * whose slot is over or that nobody watches any more are dropped.
 * @param token new for each attempt: every later decision on the post carries it
 */
export function claimPost(
  db: Database,
  postId: string,
  token: string,
  options: ClaimOptions,
): Promise<Claim> {
  return db.begin(async (tx): Promise<Claim> => {
    await lockBudget(tx)
    const [post] = await tx<{ store: Store; function: ServiceFunction }[]>`
      select store, function from post where id = ${postId} and state = 'ready' for update`
    if (post === undefined) return { kind: 'taken' }
    const outage = await readPostingOutage(tx)
    if (outage !== null) return holdPost(tx, postId, outage)
    await dropStaleTasks(tx, postId)
    await moveReservation(tx, postId)
    await cutOverBudget(tx, postId, options.budget)
    if (await closeIfEmpty(tx, postId)) return { kind: 'empty' }
    if (!(await fitIntoMinute(tx, postId))) return { kind: 'wait', waitMs: MINUTE_BUDGET_WAIT_MS }

    // Both clocks, from before the permit is stamped: the monotonic one stands still while a laptop sleeps.
    const send = {
      deadlineMs: performance.now() + PERMIT_VALID_MS,
      wallDeadlineMs: Date.now() + PERMIT_VALID_MS,
    }
    const path = `/v3/app_data/${post.store}/${post.function}/task_post`
    const permit = await askForPermit(tx, 'task_post', path, options.window)
    if ('waitMs' in permit) return { kind: 'wait', waitMs: permit.waitMs }
    const tasks = await startSending(tx, postId, token, options)
    return { kind: 'claimed', post: { postId, token, callId: permit.callId, ...post, tasks, send } }
  })
}

/** Says why on the post: should a slot end meanwhile, it is the reason of its gap. */
async function holdPost(tx: Transaction, postId: string, outage: Outage): Promise<Claim> {
  const problem = describeOutage(outage)
  await tx`update post set problem = ${problem} where id = ${postId} and problem is distinct from ${problem}`
  return { kind: 'held' }
}

/**
 * For what nobody watches any more its slot is over, and its money free. It leaves the post like what came too late, and
 * closing says whether somebody is owed a reason. What was charged before, as its status code says, ends as failed, or a new watch would buy it
 * from the first attempt on. The state is the guard, here and in the cut: what is adopted meanwhile is no longer `planned`,
 * and its result will be fetched.
 */
async function dropStaleTasks(tx: Transaction, postId: string): Promise<void> {
  await tx`
    with stale as materialized (
      select k.id, k.status_code from task k
      where k.post_id = ${postId} and k.state = 'planned' and not exists (
        select from watch_period p
        where p.target_id = k.target_id and p.ended_at is null and slot_of(p.every, k.slot) = k.slot)
    ),
    ended as (
      update task k set state = 'failed', ended_at = clock_timestamp(),
        problem = 'Nobody watches it any more, and it was not posted again after: ' || k.problem
      from stale s where k.id = s.id and k.state = 'planned' and s.status_code is not null
    ),
    over as (
      update task k set slot_ends_at = least(k.slot_ends_at, storerank_now())
      from stale s where k.id = s.id and k.state = 'planned' and s.status_code is null
    )
    update charge c set open = false from stale s where c.task_id = s.id and c.open`
  await tx`
    update task set post_id = null
    where post_id = ${postId} and state = 'planned' and slot_ends_at <= storerank_now()`
}

/** Only what would otherwise count in another day, by UTC or by its project's time zone. */
async function moveReservation(tx: Transaction, postId: string): Promise<void> {
  await tx`
    update charge c set at = storerank_now()
    from task k, project p
    where k.post_id = ${postId} and k.state = 'planned' and c.task_id = k.id and c.open and p.name = c.project
      and (date_trunc('day', c.at at time zone p.timezone) <> date_trunc('day', storerank_now() at time zone p.timezone)
        or date_trunc('day', c.at, 'UTC') <> date_trunc('day', storerank_now(), 'UTC'))`
}

/**
 * From the least urgent task on, until what is reserved fits again: first each project, then, less what that frees, all
 * together. What is cut is recorded like a cut of the plan; the next plan lifts it where another project can pay. What was
 * charged before ends as failed.
 */
async function cutOverBudget(tx: Transaction, postId: string, budget: OverallBudget): Promise<void> {
  await tx`
    with mine as materialized (
      select k.*, row_number() over (order by k.priority, k.planned_at desc, k.id desc) as place
      from task k where k.post_id = ${postId} and k.state = 'planned'
    ),
    over_project as materialized (
      select project, greatest(day_micros - daily_micros, month_micros - monthly_micros) as micros
      from project_money(storerank_now())
      where greatest(day_micros - daily_micros, month_micros - monthly_micros) > 0
    ),
    over_all as (
      select max(used_micros - limit_micros) as micros
      from overall_money(storerank_now(), ${budget.maxDayMicros}::bigint, ${budget.maxMonthMicros}::bigint)
    ),
    by_project as materialized (
      select distinct id from (
        select m.id, o.micros, sum(c.amount_micros) over (partition by c.project order by m.place) - c.amount_micros as before
        from mine m join charge c on c.task_id = m.id and c.open join over_project o using (project)
      ) as queue
      where before < micros
    ),
    left_over as (
      select m.*, sum(m.estimate_micros) over (order by m.place) - m.estimate_micros as before
      from mine m where m.id not in (select id from by_project)
    ),
    freed_by_project as (
      select coalesce(sum(m.estimate_micros), 0) as micros from mine m where m.id in (select id from by_project)
    ),
    verdict as (
      select id, 'project_budget' as reason from by_project
      union all
      select l.id, 'overall_budget' from left_over l, over_all o, freed_by_project f
      where l.before < o.micros - f.micros
    ),
    ended as (
      update task k set state = 'failed', ended_at = clock_timestamp(),
        problem = 'No budget was left to post it again after: ' || k.problem
      from verdict v where k.id = v.id and k.state = 'planned' and k.status_code is not null
    ),
    cut as (
      delete from task k using verdict v where k.id = v.id and k.state = 'planned' and k.status_code is null
      returning k.id, k.target_id, k.slot, k.slot_ends_at, k.estimate_micros, v.reason
    ),
    freed as (
      update charge c set open = false from verdict v where c.task_id = v.id and c.open
    )
    insert into budget_cut (target_id, slot, slot_ends_at, reason, price_micros)
    select target_id, slot, slot_ends_at, reason, estimate_micros from cut
    on conflict (target_id, slot) do nothing`
}

/**
 * The account's spending limit per minute: what is beyond it leaves the post, and is packed again by the next sweep. False
 * when not even the first task fits now.
 */
async function fitIntoMinute(tx: Transaction, postId: string): Promise<boolean> {
  const [row] = await tx<{ fits: boolean }[]>`
    with minute as (
      select u.minute_limit_micros - spent.micros - sending.micros as left_micros
      from (select minute_limit_micros from account_usage order by fetched_at desc limit 1) u
      cross join lateral (
        select coalesce(sum(amount_micros), 0) as micros from charge
        where kind = 'charge' and at > storerank_now() - interval '60.5 seconds') spent
      cross join lateral (
        select coalesce(sum(estimate_micros), 0) as micros from task where state = 'posting') sending
    ),
    mine as (
      select k.id, sum(k.estimate_micros) over (order by k.priority desc, k.planned_at, k.id) > m.left_micros as is_beyond
      from task k, minute m where k.post_id = ${postId} and k.state = 'planned'
    ),
    parted as (
      update task k set post_id = null from mine
      where k.id = mine.id and mine.is_beyond and exists (select from mine where not is_beyond)
    )
    select not coalesce(bool_and(is_beyond), false) as fits from mine`
  return row?.fits ?? true
}

async function closeIfEmpty(tx: Transaction, postId: string): Promise<boolean> {
  const rows = await tx`
    update post set state = 'settled', settled_at = clock_timestamp()
    where id = ${postId} and not exists (select from task k where k.post_id = ${postId} and k.state = 'planned')
    returning id`
  return rows.length > 0
}

/** The decision itself: from its commit on, this runner and no other may send the post, and only until `send_before`. */
async function startSending(
  tx: Transaction,
  postId: string,
  token: string,
  { window: { runner }, postbackUrl }: ClaimOptions,
): Promise<TaskToPost[]> {
  await tx`
    update post set state = 'sending', token = ${token}, runner = ${runner}, problem = null,
      send_before = clock_timestamp() + make_interval(secs => ${PERMIT_VALID_MS / 1000}),
      answer_before = clock_timestamp() + make_interval(secs => ${(PERMIT_VALID_MS + CALL_TIMEOUT_MS) / 1000})
    where id = ${postId}`
  const rows = await tx<
    (Omit<TaskToPost, 'tag' | 'category' | 'depth'> & {
      id: string
      attempt: number
      category: string | null
      depth: number | null
      html: boolean
    })[]
  >`
    update task k set state = 'posting' from target t
    where k.post_id = ${postId} and k.state = 'planned' and t.id = k.target_id
    returning k.id, k.attempt, t.subject, t.category, t.location_code as "locationCode", t.language_code as "languageCode",
      k.priority, k.depth, k.html`
  return rows.map(({ id, attempt, category, depth, html, ...task }) => ({
    ...task,
    tag: formatTag({ taskId: id, attempt }),
    ...(category === null ? {} : { category }),
    ...(depth === null ? {} : { depth }),
    ...webhookOf(postbackUrl, html),
  }))
}

/** A postback brings one form of a result; who wants the pages as well is told, and fetches both. */
function webhookOf(url: Secret | null, html: boolean): Partial<TaskToPost> {
  if (url === null) return {}
  const filledIn = `${url.reveal()}?id=$id&tag=$tag`
  return html ? { pingbackUrl: filledIn } : { postbackUrl: filledIn, postbackData: 'advanced' }
}
