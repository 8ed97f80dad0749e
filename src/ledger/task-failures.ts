/**
 * `fail`, `reject`, `post again`, `defer`: how a task goes on or ends without a capture. The gap in the
 * history is written by the trigger `close_failed`.
 */
import type { SqlRunner, Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { sql } from '../db/sql.ts'
import type { Logger } from '../log.ts'
import { TIMINGS } from '../timings.ts'
import { insertSpendChanges, newReservations, RESERVATION, releasedReservations } from './money.ts'
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

export interface UnusableAnswer {
  readonly serviceId: string
  readonly problem: string
}

export interface UnreadableResult extends UnusableAnswer {
  /** The field that breaks the contract. */
  readonly path: string
  readonly bodyGzip: Buffer
}

export interface LaterResult {
  readonly serviceId: string
  /** Null while it is only not ready. */
  readonly problem: string | null
  readonly pauseMs: number
}

/** So many unusable answers only defer a task; the pauses after them are 1, 2, 4, 8 and 16 minutes. */
const UNUSABLE_ANSWERS = 5

/**
 * Defers paid tasks without a usable answer: they are asked for again by id, which is free. The caller has
 * locked the tasks.
 * @returns service ids of the deferred tasks; for the others their answer decides
 */
export async function askAgain(tx: Transaction, answers: readonly UnusableAnswer[]): Promise<Set<string>> {
  if (answers.length === 0) return new Set()
  const rows = await tx<{ serviceId: string }[]>`
    update task k set unusable_answers = k.unusable_answers + 1, problem = a.problem,
      (fetching_until, ask_at) = (
        select at, at from (
          select clock_timestamp() + make_interval(secs => ${TIMINGS.unusablePauseMs / 1000})
            * 2 ^ k.unusable_answers as at
        ) pause
      )
    from ${sql.rows('a', answers, 'serviceId text, problem text')}
    where k.service_id = a.service_id and k.state = 'posted' and k.unusable_answers < ${UNUSABLE_ANSWERS}
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
  const types = 'taskId uuid, attempt int, statusCode int, message text'
  const { count } = await tx`
    with ended as (
      update task k set state = 'failed', status_code = r.status_code,
        problem = explain_status(r.status_code, r.message), ended_at = clock_timestamp()
      from ${sql.rows('r', refusals, types)}
      where k.id = r.task_id and k.attempt = r.attempt and k.post_id = ${postId} and k.state = 'posting'
      returning ${RESERVATION}
    ),
    ${insertSpendChanges(releasedReservations('ended'))}
    select 1 from ended`
  return count
}

const FAILED_TYPES = 'serviceId text, statusCode int, message text'

/** Fails tasks that the service failed for good (4xxxx). Their charges stay. */
export async function failResults(tx: Transaction, failed: readonly FailedResult[]): Promise<void> {
  if (failed.length === 0) return
  await tx`
    update task k set state = 'failed', ended_at = clock_timestamp(), status_code = f.status_code,
      problem = explain_status(f.status_code, f.message), fetching_until = null
    from ${sql.rows('f', failed, FAILED_TYPES)}
    where k.service_id = f.service_id and k.state = 'posted'`
}

/**
 * Plans tasks again that the store failed to process (40101, 40103) and that were charged all the same, under
 * a new tag with a new reservation, while their slot lasts and fewer than `maxAttempts` posts of them were
 * charged; else they fail.
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
        posted_at = null, overdue_at = null, ask_at = null, fetching_until = null, unusable_answers = 0,
        status_code = f.status_code, problem = explain_status(f.status_code, f.message),
        reserved_at = storerank_now(),
        not_before = storerank_now() + least((k.slot_ends_at - storerank_now()) / 2, case k.charged_posts
          when 1 then make_interval(secs => ${TIMINGS.firstAttemptPauseMs / 1000}::float8)
          when 2 then make_interval(secs => ${TIMINGS.secondAttemptPauseMs / 1000}::float8) end),
        estimate_micros = coalesce((select sum(c.amount_micros) from charge c
          where c.service_id = f.service_id and c.kind = 'charge'), k.estimate_micros)
      from ${sql.rows('f', failed, FAILED_TYPES)}
      where k.service_id = f.service_id and k.state = 'posted'
        and k.slot_ends_at > storerank_now() and k.charged_posts < ${maxAttempts}
      returning f.service_id, ${RESERVATION}
    ),
    ${insertSpendChanges(newReservations('again'))}
    select service_id as "serviceId" from again`
  const reposted = new Set(rows.map((row) => row.serviceId))
  const ended = failed.filter((result) => !reposted.has(result.serviceId))
  await failResults(tx, ended)
  return reposted.size
}

/** Tasks that the store failed, and that are posted again later: planned ones, in `open_work` too. */
export async function readWaitingAttempts(db: SqlRunner) {
  const rows = await db<{ waiting: number; nextAttemptAt: Date | null }[]>`
    select count(*) as waiting, min(not_before) as "nextAttemptAt" from task
    where attempt > 0 and state = 'planned' and post_id is null and not_before > storerank_now()`
  return oneRow(rows)
}

export type WaitingAttempts = Awaited<ReturnType<typeof readWaitingAttempts>>

/** Fails tasks whose paid result breaks the contract, and keeps its body. The caller has locked the tasks. */
export async function rejectResults(tx: Transaction, unreadable: readonly UnreadableResult[]): Promise<void> {
  if (unreadable.length === 0) return
  const types = 'serviceId text, path text, problem text, bodyGzip bytea'
  await tx`
    with rejected as (
      update task k set state = 'failed', ended_at = clock_timestamp(), fetching_until = null,
        problem = u.problem
      from ${sql.rows('u', unreadable, types)}
      where k.service_id = u.service_id and k.state = 'posted'
      returning k.id, k.service_id, k.target_id, k.slot, u.path, u.problem, u.body_gzip
    )
    insert into rejected_result (task_id, service_id, target_id, slot, path, problem, body_gzip)
    select * from rejected on conflict (task_id) do nothing`
}

/**
 * Defers tasks whose result is not ready or cannot be had now. One that was lost on the way is on no ready
 * list any more: after trouble a task is asked for by id, each time twice as late.
 */
export async function deferResults(tx: Transaction, later: readonly LaterResult[]): Promise<void> {
  if (later.length === 0) return
  const types = 'serviceId text, problem text, pauseMs float8'
  await tx`
    update task k set problem = l.problem, fetching_until = clock_timestamp() + p.pause,
      ask_at = case when l.problem is null then k.ask_at
        else least(k.ask_at, clock_timestamp() + greatest(p.pause, clock_timestamp() - k.posted_at)) end
    from ${sql.rows('l', later, types)}
    cross join lateral (select make_interval(secs => l.pause_ms / 1000) as pause) p
    where k.service_id = l.service_id and k.state = 'posted'`
}

/** The service keeps results for 30 days at most (spec: Limits), from when the task was done. */
const RESULTS_KEPT_DAYS = 32

/** Fails tasks that the service never finished, or does not know (40401), once it has no result of them. */
export async function giveUpResults(db: SqlRunner): Promise<number> {
  const { count } = await db`
    update task set state = 'failed', ended_at = clock_timestamp(), fetching_until = null,
      problem = concat_ws(' ', 'Its result did not come while the service keeps results.',
        'The last answer was: ' || problem)
    where state = 'posted' and id in (
      select id from task where attempt > 0 and state = 'posted' and posted_at < clock_timestamp()
        - make_interval(days => ${RESULTS_KEPT_DAYS})
      order by id for update)`
  return count
}

/** Of the log, after the commit: how many more there are is a line too. */
const LINES_AT_ONCE = 20

/** Logs those tasks of a post, or with these ids at the service, that have failed. */
export function logFailedTasks(
  db: SqlRunner,
  log: Logger,
  of: { readonly postId: string } | { readonly serviceIds: readonly string[] },
): Promise<void> {
  const which =
    'postId' in of ? sql`k.post_id = ${of.postId}` : sql`k.service_id = any(${of.serviceIds}::text[])`
  const read = () => db<(Counted & { path: string | null })[]>`
    select k.id as "taskId", k.service_id as "serviceId", k.post_id as "postId",
      k.status_code as "statusCode", k.problem, r.path, count(*) over () as total
    from task k left join rejected_result r on r.task_id = k.id
    where ${which} and k.state = (select 'failed')
    order by k.id limit ${LINES_AT_ONCE}`
  return logRows(log, read, 'further tasks failed', ({ path, ...task }) => {
    if (path === null) log.info(task, 'task failed')
    else log.warn({ ...task, path }, 'result rejected')
  })
}

/** Logs those of the tasks at the service that were charged though their task was paid for. */
export async function logDuplicates(
  db: SqlRunner,
  log: Logger | undefined,
  created: readonly { readonly serviceId: string | null }[],
): Promise<void> {
  if (log === undefined) return
  const serviceIds = created.flatMap(({ serviceId }) => serviceId ?? [])
  const read = () => db<Counted[]>`
    select k.id as "taskId", c.service_id as "serviceId", k.post_id as "postId",
      c.amount_micros as "amountMicros", count(*) over () as total
    from (
      select service_id, target_id, slot, sum(amount_micros)::bigint as amount_micros from charge
      where service_id = any(${serviceIds}::text[]) and kind = 'duplicate' group by 1, 2, 3
    ) c
    left join task k on k.target_id = c.target_id and k.slot = c.slot and k.state <> 'dropped'
    order by c.service_id limit ${LINES_AT_ONCE}`
  await logRows(log, read, 'further tasks were charged twice', (charged) => {
    log.warn(charged, 'task charged twice')
  })
}

interface Counted {
  readonly total: number
}

/** What cannot be read is left out: the views have it. */
async function logRows<Row extends Counted>(
  log: Logger,
  read: () => Promise<readonly Row[]>,
  further: string,
  logRow: (row: Omit<Row, 'total'>) => void,
): Promise<void> {
  try {
    const rows = await read()
    for (const { total: _, ...row } of rows) logRow(row)
    const tasks = (rows[0]?.total ?? 0) - rows.length
    if (tasks > 0) log.warn({ tasks }, further)
  } catch (error) {
    log.debug({ err: error }, 'tasks could not be read for the log')
  }
}
