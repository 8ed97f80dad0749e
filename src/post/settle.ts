/**
 * The end of a post: every answer is matched by its tag. What was created is recorded whoever holds the post; failing,
 * releasing and re-posting are decisions, and carry the claim's token.
 */
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import type { TaskAnswer } from '../service/post-tasks.ts'
import { classifyStatus } from '../service/status-codes.ts'
import { type CreatedTask, recordCreated, settleKnownPosts } from './evidence.ts'
import { parseTag, type TaskTag } from './tag.ts'

export interface Settled {
  readonly created: number
  readonly failed: number
  /** Refused for money, account or pace: planned again. */
  readonly released: number
  /** Without a readable answer: the post is unknown until these are reconciled. */
  readonly unknown: number
}

interface Refusal extends TaskTag {
  readonly statusCode: number
  readonly message: string
}

export interface SortedAnswers {
  readonly created: readonly CreatedTask[]
  /** The service refuses the task for good. */
  readonly failed: readonly Refusal[]
  /** The service refuses the task as long as the account is as it is: no money, login, pace. */
  readonly refused: readonly Refusal[]
  /** The service delivers no such result: posted again they are fetched, in the form that there is. */
  readonly undelivered: readonly Refusal[]
}

/** A form that the service does not post back, such as where it has raw pages only (spec: Html result). */
const UNDELIVERED_FIELD = 'postback_data'

/** Pure: what each answer of a POST says of its task. An answer that proves nothing leaves its task unknown. */
export function sortAnswers(answers: readonly TaskAnswer[]): SortedAnswers {
  const created: CreatedTask[] = []
  const failed: Refusal[] = []
  const refused: Refusal[] = []
  const undelivered: Refusal[] = []
  for (const { tag, serviceId, statusCode, message, costMicros } of answers) {
    const parsed = parseTag(tag)
    if (parsed === null) continue
    switch (classifyStatus(statusCode)) {
      case 'created':
      case 'ok':
        if (serviceId !== null) created.push({ ...parsed, serviceId, costMicros })
        break
      case 'rejected': {
        const pile = message.includes(UNDELIVERED_FIELD) ? undelivered : failed
        pile.push({ ...parsed, statusCode, message })
        break
      }
      case 'money':
      case 'account':
      case 'rate_limited':
      case 'too_many_at_once':
        refused.push({ ...parsed, statusCode, message })
        break
      default:
        break
    }
  }
  return { created, failed, refused, undelivered }
}

/** Records what a POST was answered with. With no answers at all, its tasks are unknown. */
export async function settlePost(
  db: Database,
  claim: { readonly postId: string; readonly token: string },
  answers: readonly TaskAnswer[],
  overdueAfterMs: number,
  problem: string | null,
): Promise<Settled> {
  const { created, failed, refused, undelivered } = sortAnswers(answers)
  return db.begin(async (tx) => {
    await recordCreated(tx, created, overdueAfterMs)
    const holdsClaim = await tx`
      select from post where id = ${claim.postId} and token = ${claim.token} and state = 'sending' for update`
    let failedCount = 0
    let releasedCount = 0
    if (holdsClaim.length > 0) {
      const fetchable = await wantPages(tx, claim.postId, undelivered)
      releasedCount = await releaseTasks(tx, claim.postId, [...refused, ...fetchable])
      failedCount = await failTasks(tx, claim.postId, [...failed, ...undelivered])
      await tx`
        update post set state = 'unknown', problem = ${problem ?? 'The answer was incomplete.'}
        where id = ${claim.postId}`
    }
    await settleKnownPosts(tx, [claim.postId])
    const unknown = await tx`select id from task where post_id = ${claim.postId} and state = 'posting'`
    return { created: created.length, failed: failedCount, released: releasedCount, unknown: unknown.length }
  })
}

async function failTasks(tx: Transaction, postId: string, failed: readonly Refusal[]): Promise<number> {
  const rows = await tx`
    with refusal as (
      select * from unnest(${failed.map((one) => one.taskId)}::uuid[], ${failed.map((one) => one.attempt)}::int[],
        ${failed.map((one) => one.statusCode)}::int[], ${failed.map((one) => one.message)}::text[])
        as r (task_id, attempt, status_code, message)
    ),
    ended as (
      update task k set state = 'failed', status_code = r.status_code,
        problem = explain_status(r.status_code, r.message), ended_at = clock_timestamp()
      from refusal r
      where k.id = r.task_id and k.attempt = r.attempt and k.post_id = ${postId} and k.state = 'posting'
      returning k.id
    ),
    freed as (update charge c set open = false from ended e where c.task_id = e.id and c.open)
    select id from ended`
  return rows.length
}

/** Who wants the pages is told when they are ready, and fetches what there is. Once: those that did already are not returned. */
async function wantPages(tx: SqlRunner, postId: string, refused: readonly TaskTag[]): Promise<TaskTag[]> {
  return tx<TaskTag[]>`
    update task k set html = true
    from unnest(${refused.map((one) => one.taskId)}::uuid[], ${refused.map((one) => one.attempt)}::int[])
      as r (task_id, attempt)
    where k.id = r.task_id and k.attempt = r.attempt and k.post_id = ${postId} and k.state = 'posting' and not k.html
    returning k.id as "taskId", k.attempt`
}

/** A released task gets a new attempt, and with it a new tag: a tag is never used twice. */
async function releaseTasks(tx: SqlRunner, postId: string, refused: readonly TaskTag[]): Promise<number> {
  const rows = await tx`
    with released as (
      update task k set state = 'planned', attempt = k.attempt + 1, post_id = null
      from unnest(${refused.map((one) => one.taskId)}::uuid[], ${refused.map((one) => one.attempt)}::int[])
        as r (task_id, attempt)
      where k.id = r.task_id and k.attempt = r.attempt and k.post_id = ${postId} and k.state = 'posting'
      returning k.id, k.attempt
    ),
    moved as (update charge c set attempt = r.attempt from released r where c.task_id = r.id and c.open)
    select id from released`
  return rows.length
}

/**
 * Gives a whole post back, on proof that the service created nothing of it. Only the holder of the token can.
 * @returns false when the post was no longer this runner's to decide on
 */
export async function releasePost(
  db: Database,
  postId: string,
  token: string,
  problem: string,
): Promise<boolean> {
  const [row] = await db.sql<{ released: boolean }[]>`
    with held as (
      update post set state = 'ready', token = null, problem = ${problem}
      where id = ${postId} and token = ${token} and state = 'sending'
      returning id
    ),
    released as (
      update task k set state = 'planned', attempt = k.attempt + 1
      from held where k.post_id = held.id and k.state = 'posting'
      returning k.id, k.attempt
    ),
    moved as (update charge c set attempt = r.attempt from released r where c.task_id = r.id and c.open)
    select exists (select from held) as released`
  return row?.released ?? false
}
