/**
 * The end of a post: every answer is matched by its tag. What was created is recorded whoever holds the post; failing,
 * releasing and re-posting are decisions, and carry the claim's token.
 */
import type { Database } from '../db/database.ts'
import { adoptTasks, type CreatedTask, settleKnownPosts } from '../ledger/adopt.ts'
import { markUnknown } from '../ledger/posts.ts'
import { releaseTasks, wantPages } from '../ledger/release.ts'
import { parseTag } from '../ledger/tag.ts'
import { failRefusedTasks, type Refusal } from '../ledger/task-failures.ts'
import type { TaskAnswer } from '../service/post-tasks.ts'
import { classifyStatus } from '../service/status-codes.ts'

export interface Settled {
  readonly created: number
  readonly failed: number
  /** Refused for money, account or pace: planned again. */
  readonly released: number
  /** Without a readable answer: the post is unknown until these are reconciled. */
  readonly unknown: number
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
    await adoptTasks(tx, created, overdueAfterMs)
    const holdsClaim = await tx`
      select from post where id = ${claim.postId} and token = ${claim.token} and state = 'sending' for update`
    let failedCount = 0
    let releasedCount = 0
    if (holdsClaim.length > 0) {
      const fetchable = await wantPages(tx, claim.postId, undelivered)
      releasedCount = await releaseTasks(tx, claim.postId, [...refused, ...fetchable])
      failedCount = await failRefusedTasks(tx, claim.postId, [...failed, ...undelivered])
      await markUnknown(tx, claim.postId, problem ?? 'The answer was incomplete.')
    }
    await settleKnownPosts(tx, [claim.postId])
    const unknown = await tx`select id from task where post_id = ${claim.postId} and state = 'posting'`
    return { created: created.length, failed: failedCount, released: releasedCount, unknown: unknown.length }
  })
}
