/**
 * `fail`, `reject`, `post again`, `defer`: how a task goes on or ends without a capture. The gap in the
 * history is written by the trigger `close_failed`.
 */
import type { SqlRunner, Transaction } from '../db/database.ts'
import { TIMINGS } from '../timings.ts'
import { insertSpendChanges, newReservations, releasedReservations } from './money.ts'
import type { TaskTag } from './tag.ts'

/** A task that the POST itself refused. */
export interface Refusal extends TaskTag {
  readonly statusCode: number
  readonly message: string
}

export interface FailedResult {
  readonly serviceId: string
  readonly statusCode: number
  readonly message: string
}

export interface UnreadableResult {
  readonly serviceId: string
  /** The field that breaks the contract. */
  readonly path: string
  readonly problem: string
  readonly bodyGzip: Buffer
}

export interface LaterResult {
  readonly serviceId: string
  /** Null while it is only not ready. */
  readonly problem: string | null
  readonly pauseMs: number
}

export interface UnusableAnswer {
  readonly serviceId: string
  readonly problem: string
}

/**
 * So many answers without a usable result only defer a task; the pauses after them are 1, 2, 4, 8 and 16
 * minutes.
 */
const UNUSABLE_ANSWERS = 5

/**
 * Defers paid tasks whose answer holds no usable result: they are asked for again by id, which is free, a
 * bounded number of times.
 * @returns service ids of the deferred tasks; for the others their answer decides
 */
export async function askAgain(tx: Transaction, answers: readonly UnusableAnswer[]): Promise<Set<string>> {
  if (answers.length === 0) return new Set()
  const rows = await tx<{ serviceId: string }[]>`
    with open as (
      select id from task
      where service_id = any(${answers.map((answer) => answer.serviceId)}::text[])
        and state = 'posted'
        and unusable_answers < ${UNUSABLE_ANSWERS}
      order by id for update
    ),
    paused as (
      select k.id, clock_timestamp() + make_interval(secs => ${TIMINGS.unusablePauseMs / 1000})
        * 2 ^ k.unusable_answers as until from open join task k using (id)
    )
    update task k set unusable_answers = k.unusable_answers + 1, problem = a.problem,
      fetching_until = p.until, ask_at = p.until
    from paused p, unnest(${answers.map((answer) => answer.serviceId)}::text[],
      ${answers.map((answer) => answer.problem)}::text[])
      as a (service_id, problem)
    where k.id = p.id and k.service_id = a.service_id
    returning k.service_id as "serviceId"`
  return new Set(rows.map((row) => row.serviceId))
}

/** Fails tasks of a post that the service refused for good; they cost nothing. The caller holds the claim. */
export async function failRefusedTasks(
  tx: Transaction,
  postId: string,
  refusals: readonly Refusal[],
): Promise<number> {
  if (refusals.length === 0) return 0
  const rows = await tx`
    with refusal as (
      select * from unnest(${refusals.map((refusal) => refusal.taskId)}::uuid[],
        ${refusals.map((refusal) => refusal.attempt)}::int[],
        ${refusals.map((refusal) => refusal.statusCode)}::int[],
          ${refusals.map((refusal) => refusal.message)}::text[])
        as r (task_id, attempt, status_code, message)
    ),
    ended as (
      update task k set state = 'failed', status_code = r.status_code,
        problem = explain_status(r.status_code, r.message), ended_at = clock_timestamp()
      from refusal r
      where k.id = r.task_id and k.attempt = r.attempt and k.post_id = ${postId}
        and k.state = 'posting'
      returning k.payers, k.estimate_micros, k.reserved_at
    ),
    moved as (${releasedReservations('ended')}),
    ${insertSpendChanges}
    select 1 from ended`
  return rows.length
}

/** Fails tasks that the service failed for good (4xxxx). Their charges stay. */
export async function failResults(tx: Transaction, failed: readonly FailedResult[]): Promise<void> {
  if (failed.length === 0) return
  await tx`
    update task k set state = 'failed', ended_at = clock_timestamp(), status_code = f.status_code,
      problem = explain_status(f.status_code, f.message), fetching_until = null
    from unnest(${failed.map((result) => result.serviceId)}::text[],
      ${failed.map((result) => result.statusCode)}::int[],
      ${failed.map((result) => result.message)}::text[]) as f (service_id, status_code, message)
    where k.service_id = f.service_id and k.state = 'posted'`
}

/**
 * Plans tasks again that the store failed to process (40101, 40103) and that were charged all the same: under
 * a new tag, with a new reservation of what they cost, while their slot lasts and fewer than `maxAttempts`
 * posts of them were charged. Otherwise they fail. A task with another service id by now was posted again
 * already, and is left alone.
 * @returns how many will be posted again
 */
export async function postAgain(
  tx: Transaction,
  failed: readonly FailedResult[],
  maxAttempts: number,
): Promise<number> {
  if (failed.length === 0) return 0
  const rows = await tx<{ serviceId: string }[]>`
    with again as (
      update task k set state = 'planned', attempt = k.attempt + 1, post_id = null, service_id = null,
        posted_at = null,
        overdue_at = null, ask_at = null, fetching_until = null, unusable_answers = 0,
          status_code = f.status_code,
        reserved_at = storerank_now(), problem = explain_status(f.status_code, f.message),
        not_before = storerank_now() + least((k.slot_ends_at - storerank_now()) / 2, case k.charged_posts
          when 1 then make_interval(secs => ${TIMINGS.firstAttemptPauseMs / 1000}::float8)
          when 2 then make_interval(secs => ${TIMINGS.secondAttemptPauseMs / 1000}::float8) end),
        estimate_micros = coalesce((
          select sum(c.amount_micros) from charge c where c.service_id = o.old_id and c.kind = 'charge'),
            k.estimate_micros)
      from (select id, service_id as old_id from task where service_id
        = any(${failed.map((result) => result.serviceId)})) o,
        unnest(${failed.map((result) => result.serviceId)}::text[],
          ${failed.map((result) => result.statusCode)}::int[],
          ${failed.map((result) => result.message)}::text[]) as f (service_id, status_code, message)
      where k.id = o.id and k.service_id = o.old_id and f.service_id = o.old_id
        and k.state = 'posted'
        and k.slot_ends_at > storerank_now() and k.charged_posts < ${maxAttempts}
      returning o.old_id, k.payers, k.estimate_micros, k.reserved_at
    ),
    moved as (${newReservations('again')}),
    ${insertSpendChanges}
    select old_id as "serviceId" from again`
  const reposted = new Set(rows.map((row) => row.serviceId))
  await failResults(
    tx,
    failed.filter((result) => !reposted.has(result.serviceId)),
  )
  return reposted.size
}

export interface WaitingAttempts {
  /** Tasks that the store failed, and that are posted again later. */
  readonly waiting: number
  /** When the first of them is; null without any. */
  readonly nextAttemptAt: Date | null
}

/** What waits for another attempt. Counted among the planned tasks of `open_work` too. */
export async function readWaitingAttempts(db: SqlRunner): Promise<WaitingAttempts> {
  const [row] = await db<WaitingAttempts[]>`
    select count(*) as waiting, min(not_before) as "nextAttemptAt" from task
    where attempt > 0 and state = 'planned' and post_id is null and not_before > storerank_now()`
  return row ?? { waiting: 0, nextAttemptAt: null }
}

/**
 * Fails tasks whose paid result breaks the contract, and keeps its body in `rejected_result`. Tasks are
 * locked before their state is read, so that a transaction that stores the same result at the same moment
 * either comes first or finds them failed.
 */
export async function rejectResults(tx: Transaction, unreadable: readonly UnreadableResult[]): Promise<void> {
  if (unreadable.length === 0) return
  await tx`
    with open as (
      select k.id, k.service_id, k.target_id, k.slot from task k
      where k.service_id = any(${unreadable.map((result) => result.serviceId)}::text[])
        and k.state = 'posted'
      order by k.id for update
    ),
    kept as (
      insert into rejected_result (task_id, service_id, target_id, slot, path, problem, body_gzip)
      select k.id, k.service_id, k.target_id, k.slot, u.path, u.problem, u.body
      from open k join unnest(
        ${unreadable.map((result) => result.serviceId)}::text[],
          ${unreadable.map((result) => result.path)}::text[],
        ${unreadable.map((result) => result.problem)}::text[],
        ${unreadable.map((result) => `\\x${result.bodyGzip.toString('hex')}`)}::text[]::bytea[]
      ) as u (service_id, path, problem, body) using (service_id)
      on conflict (task_id) do nothing
      returning task_id, path, problem
    )
    update task k set state = 'failed', ended_at = clock_timestamp(), fetching_until = null,
      problem = kept.problem
    from kept where k.id = kept.task_id`
}

/**
 * Defers tasks whose result is not ready or cannot be had now: they may be leased again after the pause. A
 * result that the service sent and that was lost on the way is on no ready list any more, so after trouble a
 * task is asked for by id, each time twice as late.
 */
export async function deferResults(tx: Transaction, later: readonly LaterResult[]): Promise<void> {
  if (later.length === 0) return
  await tx`
    update task k set problem = l.problem, fetching_until = clock_timestamp() + l.pause,
      ask_at = case when l.problem is null then k.ask_at
        else least(k.ask_at, clock_timestamp() + greatest(l.pause, clock_timestamp() - k.posted_at)) end
    from (
      select service_id, problem, make_interval(secs => pause_ms / 1000) as pause
      from unnest(${later.map((result) => result.serviceId)}::text[],
        ${later.map((result) => result.problem)}::text[],
        ${later.map((result) => result.pauseMs)}::float8[]) as l (service_id, problem, pause_ms)
    ) l
    where k.service_id = l.service_id and k.state = 'posted'`
}

/**
 * Fails tasks whose result cannot come any more, because the service keeps no result for so long.
 * @returns how many ended
 */
export async function giveUpResults(db: SqlRunner, afterDays: number): Promise<number> {
  const rows = await db`
    update task set state = 'failed', ended_at = clock_timestamp(), fetching_until = null,
      problem = concat_ws(' ', 'Its result did not come while the service keeps results.',
        'The last answer was: ' || problem)
    where id in (
        select id from task where attempt > 0 and state = 'posted' and posted_at < clock_timestamp()
          - make_interval(days => ${afterDays})
        order by id for update)
      and state = 'posted'
    returning id`
  return rows.length
}
