/**
 * The first step of the protocol (docs/protocol.md: The way of a post): a runner claims a post in one
 * transaction behind the ledger's lock, and learns until when it may send it. When the commit is in doubt
 * nothing is sent. The cheap questions come first: whether the post is still `ready`, whether the call window
 * is open, whether the service can be posted to.
 */
import pLimit, { type LimitFunction } from 'p-limit'
import { describeOutage, readPostingOutage } from '../account/service-status.ts'
import type { CallWindowOptions } from '../db/call-window.ts'
import { askForPermit, readCallWait } from '../db/call-window.ts'
import type { Database, Transaction } from '../db/database.ts'
import { permitValidMs } from '../db/round-trip.ts'
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
import { splitCategory } from '../service/chart-category.ts'
import { NEWEST_FIRST, type Priority, type ServiceFunction, type Store } from '../service/functions.ts'
import type { TaskToPost } from '../service/post-tasks.ts'
import type { SendWindow } from '../service/transport.ts'
import { TIMINGS } from '../timings.ts'

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
  /**
   * The post stays ready: posting is in major outage, the database is older than what was bought, or a price
   * is not known.
   */
  | { readonly kind: 'held' }
  /**
   * A task was charged much more than is known: the account's price list is read again before the next one is
   * bought.
   */
  | { readonly kind: 'price_doubted' }

export interface ClaimOptions {
  readonly budget: DayAndMonthBudget
  readonly window: CallWindowOptions
  /** Where the service delivers results; null: they are fetched. */
  readonly postbackUrl: Secret | null
}

/** How soon a post that the account's spending limit per minute holds back is looked at again. */
const MINUTE_BUDGET_WAIT_MS = 2_000
/**
 * How soon a post that waits for the first answer at a price is looked at again: about the time of an answer.
 */
const FIRST_PRICE_WAIT_MS = 250

/**
 * A runner makes one claim at a time: more of them would wait for each other at the ledger's lock, each on a
 * connection that settling and storing need.
 */
const turns = new WeakMap<Database, LimitFunction>()

function claimInTurn<T>(db: Database, claim: () => Promise<T>): Promise<T> {
  const turn = turns.get(db) ?? pLimit(1)
  turns.set(db, turn)
  return turn(claim)
}

/**
 * Claims one post. Money counts on the day of sending, so the reservations move to today and are tested
 * against the budget again. Tasks whose slot is over and tasks that no watch asks for any more are dropped.
 * @param token new for each attempt: every later decision on the post carries it
 */
export function claimPost(
  db: Database,
  postId: string,
  token: string,
  options: ClaimOptions,
): Promise<Claim> {
  return claimInTurn(db, async () => {
    const waitMs = await readCallWait(db.sql, 'task_post', options.window)
    if (waitMs > 0) return { kind: 'wait', waitMs }
    return withLedgerLock(db, 'The claim of a post', (tx) =>
      claimLocked(tx, postId, token, { ...options, validMs: permitValidMs(db) }),
    )
  })
}

async function claimLocked(
  tx: Transaction,
  postId: string,
  token: string,
  options: ClaimOptions & { readonly validMs: number },
): Promise<Claim> {
  const { validMs } = options
  const payers = await lockPlannedTasks(tx, postId)
  const [post] = await tx<{ store: Store; function: ServiceFunction }[]>`
    select store, function from post where id = ${postId} and state = 'ready' for update`
  if (post === undefined) return { kind: 'taken' }
  const hold = await readRestoreHold(tx)
  if (hold !== null) {
    await holdPost(tx, postId, hold)
    return { kind: 'held' }
  }
  const outage = await readPostingOutage(tx)
  if (outage !== null) {
    await holdPost(tx, postId, describeOutage(outage))
    return { kind: 'held' }
  }
  const held = await awaitPrice(tx, { ...post, id: postId })
  if (held !== null) return held
  const verdict = await fitTasks(tx, { ...post, id: postId, payers }, options.budget)
  if (verdict !== null) return verdict

  // Both clocks are read before the permit is stamped. The monotonic clock stands still while a laptop
  // sleeps.
  const send = {
    deadlineMs: performance.now() + validMs,
    wallDeadlineMs: Date.now() + validMs,
  }
  const path = `/v3/app_data/${post.store}/${post.function}/task_post`
  const permit = await askForPermit(tx, 'task_post', path, options.window, validMs)
  if ('waitMs' in permit) return { kind: 'wait', waitMs: permit.waitMs }
  const claimed = await startSending(tx, postId, {
    token,
    runner: options.window.runner,
    sendWithinMs: validMs,
    answerWithinMs: validMs + TIMINGS.callTimeoutMs,
  })
  const tasks = claimed.map((task) => toPost(task, post, options.postbackUrl))
  return { kind: 'claimed', post: { postId, token, callId: permit.callId, ...post, tasks, send } }
}

/**
 * Drops the tasks that are not to be sent and those that the budget does not pay for; null when the post may
 * be sent now.
 */
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

/**
 * While it is not known what a function of a store costs, one post of it is in flight: the price list may say
 * less than what is charged. One whose answer was lost is in flight until it is found, or proved to be
 * missing. While its price is doubted, that post has one task.
 * @returns why the post is not sent now; null when it may be
 */
async function awaitPrice(
  tx: Transaction,
  post: Pick<PostToClaim, 'id' | 'store' | 'function'>,
): Promise<Claim | null> {
  const price = await readPriceKnowledge(tx, post)
  if (price.isKnown) return null
  const { sending, unknown } = await readPostsInFlight(tx, post)
  if (unknown > 0) {
    await holdPost(
      tx,
      post.id,
      `What the service takes for ${post.function} of the ${post.store} is not known yet, and the ` +
        'answer that would say so was lost: ' +
        'nothing more of it is bought until the service lists those tasks, or lacks them for sure.',
    )
    return { kind: 'held' }
  }
  if (sending > 0) return { kind: 'wait', waitMs: FIRST_PRICE_WAIT_MS }
  if (price.isListOld) return { kind: 'price_doubted' }
  if (price.isDoubted) await keepOneTask(tx, post.id)
  return null
}

function toPost(
  claimed: ClaimedTask,
  post: Pick<ClaimedPost, 'store' | 'function'>,
  postbackUrl: Secret | null,
): TaskToPost {
  const { id, attempt, category, depth, html, priority, slot, slotEndsAt, installation, ...task } = claimed
  return {
    ...task,
    priority: priority as Priority,
    tag: formatTag({ taskId: id, attempt, installation, slot, slotEndsAt }),
    ...splitCategory(category),
    // A diary of reviews wants those that it has not seen.
    ...(post.function === 'app_reviews' && { sortBy: NEWEST_FIRST[post.store] }),
    ...(depth === null ? {} : { depth }),
    ...webhookOf(postbackUrl, html),
  }
}

/**
 * A postback brings one form of a result. A task that wants raw pages as well asks for a pingback, and both
 * forms are fetched.
 */
function webhookOf(url: Secret | null, html: boolean): Partial<TaskToPost> {
  if (url === null) return {}
  const filledIn = `${url.reveal()}?id=$id&tag=$tag`
  return html ? { pingbackUrl: filledIn } : { postbackUrl: filledIn, postbackData: 'advanced' }
}
