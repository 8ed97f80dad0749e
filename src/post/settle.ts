/**
 * Settles a post: each answer is matched by its tag. Created tasks are facts, whoever holds the post now;
 * failing and releasing are decisions, and need the claim's token.
 */
import type { Database } from '../db/database.ts'
import { adoptOrphans, type CreatedTask, settleKnownPosts } from '../ledger/adopt.ts'
import { lockTasksOfPosts } from '../ledger/lock.ts'
import { markUnknown, type Released, releaseTasks } from '../ledger/release.ts'
import { parseTag } from '../ledger/tag.ts'
import { failRefusedTasks, type Refusal } from '../ledger/task-failures.ts'
import type { TaskAnswer } from '../service/post-tasks.ts'
import { adviseOnRefusal, classifyStatus, explainTaskRefusal } from '../service/status-codes.ts'

export interface Settled {
  readonly created: number
  readonly failed: number
  /** Refused for money, account or pace: planned again. */
  readonly released: number
  /** Without a readable answer: the post is unknown until these are reconciled. */
  readonly unknown: number
  /** Charged though their task was paid for; left out when there are none. */
  readonly duplicates?: number
}

/** A form that the service does not post back, such as where it has raw pages only (spec: Html result). */
const UNDELIVERED_FIELD = 'postback_data'

/** Pure: sorts the answers of a POST by what they prove. A task whose answer proves nothing stays unknown. */
export function sortAnswers(answers: readonly TaskAnswer[]) {
  const created: CreatedTask[] = []
  // For good.
  const failed: Refusal[] = []
  // For now: for money, the account or the pace.
  const refused: Refusal[] = []
  // Their form is not posted back: they are posted again without a postback, and fetched.
  const undelivered: Refusal[] = []
  const disputed = findDisputed(answers)
  for (const { tag, serviceId, statusCode, message, costMicros } of answers) {
    const parsed = parseTag(tag)
    if (parsed === null || disputed.has(tag)) continue
    const statusClass = classifyStatus(statusCode)
    // A refusal that costs something contradicts itself: the service's list decides.
    if (costMicros > 0 && statusClass !== 'created' && statusClass !== 'ok') continue
    switch (statusClass) {
      case 'created':
      case 'ok':
        if (serviceId !== null) created.push({ ...parsed, serviceId, costMicros })
        break
      case 'rejected': {
        const pile = message.includes(UNDELIVERED_FIELD) ? undelivered : failed
        pile.push({ ...parsed, statusCode, message: explainTaskRefusal(statusCode, message) })
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

/** Tags that several answers speak of otherwise: which of them is true, the service's list decides. */
function findDisputed(answers: readonly TaskAnswer[]): ReadonlySet<string> {
  const said = new Map<string, string>()
  const disputed = new Set<string>()
  for (const { tag, serviceId, statusCode } of answers) {
    const now = `${serviceId} ${statusCode}`
    if ((said.get(tag) ?? now) !== now) disputed.add(tag)
    said.set(tag, now)
  }
  return disputed
}

/** Records the answers of a POST in one transaction. Tasks without an answer leave the post `unknown`. */
export async function settlePost(
  db: Database,
  claim: { readonly postId: string; readonly token: string },
  answers: readonly TaskAnswer[],
  overdueAfterMs: number,
  problem: string | null,
): Promise<Settled> {
  const { created, failed, refused, undelivered } = sortAnswers(answers)
  return db.begin(async (tx) => {
    await lockTasksOfPosts(
      tx,
      [claim.postId],
      created.map((task) => task.taskId),
    )
    // Meanwhile the service's list may have named other ids for them: then the list decides again.
    const { duplicates } = await adoptOrphans(tx, created, overdueAfterMs, null)
    const holdsClaim = await tx`
      select from post where id = ${claim.postId} and token = ${claim.token} and state = 'sending' for update`
    const decided = { failed: 0, released: 0 }
    if (holdsClaim.length > 0) {
      // An undelivered task that had asked for pages before is not released, and refused for good.
      decided.released = await releaseTasks(tx, claim.postId, [
        ...refused.map(explainRefusal),
        ...undelivered.map((task) => ({ ...task, problem: null, forPages: true })),
      ])
      decided.failed = await failRefusedTasks(tx, claim.postId, [...failed, ...undelivered])
      await markUnknown(tx, claim.postId, problem ?? 'The answer was incomplete.')
      await settleKnownPosts(tx, [claim.postId])
    }
    const unknown = await tx`select id from task where post_id = ${claim.postId} and state = 'posting'`
    const twice = duplicates > 0 ? { duplicates } : {}
    return { created: created.length, ...decided, unknown: unknown.length, ...twice }
  })
}

/** What is refused for pace alone is taken a minute later. */
function explainRefusal({ taskId, attempt, statusCode, message }: Refusal): Released {
  const cause = classifyStatus(statusCode)
  const problem =
    cause === 'money' || cause === 'account'
      ? `The service refused the task (${statusCode}: ${message.replace(/\.$/, '')}). ` +
        `${adviseOnRefusal(statusCode)} It is tried again by itself.`
      : null
  return { taskId, attempt, problem, forPages: false }
}
