/**
 * A runner claims a post in one transaction behind the ledger's lock, and learns until when it may send it
 * (docs/protocol.md: The way of a post). When the commit is in doubt nothing is sent.
 */
import pLimit, { type LimitFunction } from 'p-limit'
import { describeOutage, readPostingOutage } from '../account/service-status.ts'
import { askForPermit, type CallWindowOptions, permitValidMs, readCallWait } from '../db/call-window.ts'
import type { Database, Transaction } from '../db/database.ts'
import {
  applyMinuteSpendLimit,
  type ClaimedTask,
  type DayAndMonthBudget,
  dropStaleTasks,
  dropTasksOverBudget,
  holdPost,
  keepOneTask,
  lockPlannedTasks,
  type PostToClaim,
  readPostsInFlight,
  renewReservations,
  reviewPost,
  settleEmptyPost,
  startSending,
} from '../ledger/claim-post.ts'
import { withLedgerLock } from '../ledger/lock.ts'
import { readPriceKnowledge } from '../ledger/prices.ts'
import { readRestoreHold } from '../ledger/restored.ts'
import { formatTag } from '../ledger/tag.ts'
import type { Secret } from '../secret.ts'
import { NEWEST_FIRST, type Priority, type ServiceFunction, type Store } from '../service/functions.ts'
import { splitCategory } from '../service/subject.ts'
import type { TaskToPost } from '../service/task-rules.ts'
import type { SendWindow } from '../service/transport.ts'

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
  /** The call window is full, the account's minute is spent, or the first answer at a price is awaited. */
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** Another runner has it, or it is settled. */
  | { readonly kind: 'taken' }
  /** Every task of it was dropped: too late, unwatched, or no money left. */
  | { readonly kind: 'empty' }
  /** The post stays ready: a major outage, an older database than what was bought, or a price not known. */
  | { readonly kind: 'held' }
  /** A task was charged much more than is known: the price list is read again before the next is bought. */
  | { readonly kind: 'price_doubted' }

export interface ClaimOptions {
  readonly budget: DayAndMonthBudget
  readonly window: CallWindowOptions
  /** Where the service delivers results; null: they are fetched. */
  readonly postbackUrl: Secret | null
}

/** How soon a post that the account's spending limit per minute holds back is looked at again. */
const MINUTE_BUDGET_WAIT_MS = 2_000
/** As above, of one that waits for the first answer at a price: about the time of an answer. */
const FIRST_PRICE_WAIT_MS = 250

/** One claim at a time: more would wait for the ledger's lock, each on a connection that others need. */
const turns = new WeakMap<Database, LimitFunction>()

/**
 * Claims one post. Money counts on the day of sending: the reservations move to it, and are tested again.
 * @param token new for each attempt: every later decision on the post carries it
 */
export function claimPost(
  db: Database,
  postId: string,
  token: string,
  options: ClaimOptions,
): Promise<Claim> {
  const turn = turns.get(db) ?? pLimit(1)
  turns.set(db, turn)
  return turn(async () => {
    const waitMs = await readCallWait(db.sql, 'task_post', options.window)
    if (waitMs > 0) return { kind: 'wait', waitMs }
    return withLedgerLock(db, 'The claim of a post', (tx) => claimLocked(tx, db, postId, token, options))
  })
}

async function claimLocked(
  tx: Transaction,
  db: Database,
  postId: string,
  token: string,
  { budget, window, postbackUrl }: ClaimOptions,
): Promise<Claim> {
  const payers = await lockPlannedTasks(tx, postId)
  const [post] = await tx<{ store: Store; function: ServiceFunction }[]>`
    select store, function from post where id = ${postId} and state = 'ready' for update`
  if (post === undefined) return { kind: 'taken' }
  const outage = await readPostingOutage(tx)
  const hold = (await readRestoreHold(tx)) ?? (outage && describeOutage(outage))
  if (hold !== null) {
    await holdPost(tx, postId, hold)
    return { kind: 'held' }
  }
  const refusal =
    (await awaitPrice(tx, { ...post, id: postId })) ??
    (await fitTasks(tx, { ...post, id: postId, payers }, budget))
  if (refusal !== null) return refusal
  const path = `/v3/app_data/${post.store}/${post.function}/task_post`
  const sending = await beginSending(tx, db, postId, { token, path, window })
  if ('waitMs' in sending) return { kind: 'wait', waitMs: sending.waitMs }
  const { callId, send } = sending
  const tasks = sending.tasks.map((task) => toPost(task, post, postbackUrl))
  return { kind: 'claimed', post: { postId, token, callId, ...post, tasks, send } }
}

/** What a call that is paid for needs to be sent. */
export interface Sending {
  readonly callId: number
  readonly send: SendWindow
  readonly tasks: readonly (ClaimedTask & { readonly tag: string })[]
}

/** Takes a permit, and decides to send (`startSending`); or says how long to wait for a permit. */
export async function beginSending(
  tx: Transaction,
  db: Database,
  postId: string,
  { token, path, window }: { token: string; path: string; window: CallWindowOptions },
): Promise<Sending | { readonly waitMs: number }> {
  const validMs = permitValidMs(db)
  // Both clocks are read before the permit is stamped.
  const send = { deadlineMs: performance.now() + validMs, wallDeadlineMs: Date.now() + validMs }
  const permit = await askForPermit(tx, 'task_post', path, window, validMs)
  if ('waitMs' in permit) return permit
  const claimed = await startSending(tx, postId, token, window.runner, validMs)
  const tasks = claimed.map((task) => ({ ...task, tag: formatTag({ ...task, taskId: task.id }) }))
  return { callId: permit.callId, send, tasks }
}

/** Drops what is not to be sent and what the budget does not pay for; null when the post may be sent now. */
async function fitTasks(
  tx: Transaction,
  post: PostToClaim,
  budget: DayAndMonthBudget,
): Promise<Claim | null> {
  const review = await reviewPost(tx, post, budget)
  if (review.hasStaleTasks) await dropStaleTasks(tx, post.id)
  if (review.hasOutdatedReservations) await renewReservations(tx, post)
  if (review.hasOutdatedReservations || review.isOverBudget) await dropTasksOverBudget(tx, post, budget)
  if (await settleEmptyPost(tx, post.id)) return { kind: 'empty' }
  return (await applyMinuteSpendLimit(tx, post.id)) ? null : { kind: 'wait', waitMs: MINUTE_BUDGET_WAIT_MS }
}

/** While the price is not known, one post of its kind is in flight, with one task where it is doubted. */
async function awaitPrice(
  tx: Transaction,
  post: Pick<PostToClaim, 'id' | 'store' | 'function'>,
): Promise<Claim | null> {
  const price = await readPriceKnowledge(tx, post)
  if (price.isKnown) return null
  const { sending, unknown } = await readPostsInFlight(tx, post)
  if (unknown > 0) {
    const problem =
      `What the service takes for ${post.function} of the ${post.store} is not known yet, and the answer ` +
      'that would say so was lost: nothing more of it is bought until the service lists those tasks, or ' +
      'lacks them for sure.'
    await holdPost(tx, post.id, problem)
    return { kind: 'held' }
  }
  if (sending > 0) return { kind: 'wait', waitMs: FIRST_PRICE_WAIT_MS }
  if (price.isListOld) return { kind: 'price_doubted' }
  if (price.isDoubted) await keepOneTask(tx, post.id)
  return null
}

/** A postback brings one form: a task that wants raw pages as well asks for a pingback, and is fetched. */
function toPost(
  claimed: Sending['tasks'][number],
  post: Pick<ClaimedPost, 'store' | 'function'>,
  postbackUrl: Secret | null,
): TaskToPost {
  const { subject, locationCode, languageCode, category, depth, html, priority, tag } = claimed
  const url = postbackUrl && `${postbackUrl.reveal()}?id=$id&tag=$tag`
  return {
    ...{ subject, locationCode, languageCode, tag },
    priority: priority as Priority,
    ...splitCategory(category),
    // A diary of reviews wants those that it has not seen.
    ...(post.function === 'app_reviews' && { sortBy: NEWEST_FIRST[post.store] }),
    ...(depth !== null && { depth }),
    ...(url !== null && (html ? { pingbackUrl: url } : { postbackUrl: url, postbackData: 'advanced' })),
  }
}
