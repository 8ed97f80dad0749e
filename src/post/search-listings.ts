/**
 * The search in listings, through budgets, ledger and call window like all that is bought; sent at most once.
 */
import { randomUUID } from 'node:crypto'
import { recordAccountUsage } from '../account/usage.ts'
import { endCall } from '../db/call-window.ts'
import type { Transaction } from '../db/database.ts'
import { AccountError, RateLimitedError, RejectedError, UnavailableError } from '../errors.ts'
import { adoptTasks, settleKnownPosts } from '../ledger/adopt.ts'
import { applyMinuteSpendLimit, reviewPost } from '../ledger/claim-post.ts'
import { lockTasksOfPosts, withLedgerLock } from '../ledger/lock.ts'
import { dropCall, planCall } from '../ledger/plan-tasks.ts'
import { markUnknown } from '../ledger/release.ts'
import { failRefusedTasks } from '../ledger/task-failures.ts'
import type { PriceEntry } from '../service/account.ts'
import type { Store } from '../service/functions.ts'
import {
  DEFAULT_LISTINGS,
  LISTING_PRICES,
  type ListingOutcome,
  type ListingQuery,
  parseListingResult,
} from '../service/listings.ts'
import { adviseOnRefusal } from '../service/status-codes.ts'
import { describeQuery } from '../service/task-ids.ts'
import { beginSending } from './claim.ts'
import { refuseRestored } from './restored.ts'
import { describeEnd, type PostDeps } from './work-post.ts'

export type SearchDeps = Pick<PostDeps, 'db' | 'client' | 'budget' | 'window'>

export interface Search {
  readonly store: Store
  readonly query: Omit<ListingQuery, 'tag'>
  /** The one that pays. */
  readonly project: string
}

/**
 * @returns also its cost; the most that it may cost, where the answer does not say
 * @throws AccountError when no budget has room for it, or the account has no money; RateLimitedError when the
 *   call window or the account's minute is full; RejectedError when the service refuses the search;
 *   UnavailableError when its answer was lost; UnreadableError
 */
export async function searchListings(deps: SearchDeps, search: Search, signal?: AbortSignal) {
  const { db, client } = deps
  await refuseRestored(db, client, signal)
  await recordAccountUsage(db, client)
  const { prices } = await client.getUserData()
  const estimateMicros = estimate(prices, search.query.limit ?? DEFAULT_LISTINGS)
  const call = await withLedgerLock(db, 'A search in listings', (tx) =>
    begin(tx, deps, search, estimateMicros),
  )
  const outcome = await client.searchListings(search.store, { ...search.query, tag: call.tag }, call.send)
  await endCall(db, call.callId, describeEnd(outcome))
  await db.begin((tx) => settle(tx, call, outcome))
  if (outcome.kind !== 'done') throw failureOf(outcome, estimateMicros)
  return { ...parseListingResult(outcome.result), costMicros: outcome.costMicros ?? estimateMicros }
}

export type SearchAnswer = Awaited<ReturnType<typeof searchListings>>

/** Pure: the most that a search costs, by the price list and what is known. */
export function estimate(prices: readonly PriceEntry[], limit: number): number {
  const listed = (costType: string, known: number) =>
    prices
      .filter((entry) => entry.call === 'app_listings.search.live' && entry.costType === costType)
      .reduce((most, entry) => Math.max(most, entry.costMicros), known)
  return (
    listed('per_request', LISTING_PRICES.callMicros) +
    limit * listed('per_result', LISTING_PRICES.resultMicros)
  )
}

/** Plans it, tests the budgets and claims it: nothing of it stays when one of these refuses. */
async function begin(
  tx: Transaction,
  { db, budget, window }: SearchDeps,
  { store, query, project }: Search,
  estimateMicros: number,
) {
  const subject = describeQuery({ ...query })
  const post = await planCall(tx, { store, subject, project, estimateMicros })
  if ((await reviewPost(tx, post, budget)).isOverBudget) {
    throw new AccountError(
      `The search may cost $${estimateMicros / 1_000_000}, which is more than is left: of ` +
        `MAX_USD_PER_DAY or MAX_USD_PER_MONTH, of the budget of ${JSON.stringify(project)}, or of the ` +
        'account. Nothing was sent. Raise the budget, or ask for fewer listings with limit=….',
      'account_money',
    )
  }
  if (!(await applyMinuteSpendLimit(tx, post.id)))
    throw wait('what the account may spend in a minute is used up', 60_000)
  const path = `/v3/app_data/${store}/app_listings/search/live`
  const sending = await beginSending(tx, db, post.id, { token: randomUUID(), path, window })
  if ('waitMs' in sending) throw wait('the calls of this minute are used up', sending.waitMs)
  const { callId, send, tasks } = sending
  const [task] = tasks
  if (task === undefined) throw new Error('A task that was just made is gone.')
  const { id: taskId, attempt, tag } = task
  return { postId: post.id, task: { taskId, attempt }, tag, callId, send }
}

function wait(reason: string, retryAfterMs: number): RateLimitedError {
  return new RateLimitedError(`The search was not sent: ${reason}. Try again in a minute.`, retryAfterMs)
}

/** The answer is a fact, whoever records it; that nothing was made is proven by the outcome. */
async function settle(
  tx: Transaction,
  { postId, task }: Awaited<ReturnType<typeof begin>>,
  outcome: ListingOutcome,
): Promise<void> {
  await lockTasksOfPosts(tx, [postId], [task.taskId])
  switch (outcome.kind) {
    case 'done':
      await adoptTasks(tx, [{ ...task, ...outcome }], 0)
      break
    case 'not_sent':
      await dropCall(tx, postId)
      break
    case 'failed':
    case 'refused':
      await failRefusedTasks(tx, postId, [{ ...task, ...outcome }])
      break
    case 'unknown':
      await markUnknown(tx, postId, `The answer was lost: ${outcome.reason}.`)
  }
  await settleKnownPosts(tx, [postId])
}

function failureOf(outcome: Exclude<ListingOutcome, { kind: 'done' }>, estimateMicros: number): Error {
  switch (outcome.kind) {
    case 'not_sent':
      return new UnavailableError(`The search was not sent: ${outcome.reason}.`)
    case 'unknown':
      return new UnavailableError(
        `The answer to the search was lost (${outcome.reason}). Whether it was charged is not known: ` +
          `$${estimateMicros / 1_000_000} stays reserved until \`storerank start\` or \`storerank run\` ` +
          `has found it in the service's list, or proven that it is not there.`,
      )
    case 'failed':
    case 'refused': {
      const { statusCode, message } = outcome
      const said = `The service refused the search: ${message} (${statusCode}).`
      if (outcome.kind === 'failed') return new RejectedError(said, statusCode)
      const { cause, retryAfterMs = 60_000 } = outcome
      if (cause === 'rate_limit') return new RateLimitedError(said, retryAfterMs)
      const path = 'It does not offer it, or APP_DATA_URL or APP_DATA_STORES is wrong.'
      if (cause === 'not_found') return new RejectedError(`${said} ${path}`, statusCode)
      const code = cause === 'money' ? 'account_money' : 'account'
      return new AccountError(`${said} ${adviseOnRefusal(statusCode)}`, code)
    }
  }
}
