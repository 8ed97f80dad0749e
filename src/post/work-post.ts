/**
 * Works one post from claim to settlement (docs/protocol.md: The way of a post). A POST of tasks is never
 * repeated here or below.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { recordAccountUsage } from '../account/usage.ts'
import { endCall, waitForPermit } from '../db/call-window.ts'
import type { Database } from '../db/database.ts'
import { measureRoundTrip } from '../db/round-trip.ts'
import { AccountError, RejectedError, StorerankError, UnavailableError } from '../errors.ts'
import { holdPost } from '../ledger/claim-post.ts'
import { tellPrices } from '../ledger/prices.ts'
import { releasePost } from '../ledger/release.ts'
import { logDuplicates, logFailedTasks } from '../ledger/task-log.ts'
import { adviseOnRefusal } from '../service/account-advice.ts'
import type { AppDataClient } from '../service/client.ts'
import type { PostOutcome, TaskAnswer } from '../service/post-tasks.ts'
import { classifyStatus } from '../service/status-codes.ts'
import { type Claim, type ClaimedPost, type ClaimOptions, claimPost } from './claim.ts'
import { readNotOffered } from './not-offered.ts'
import { checkForRestore } from './restored.ts'
import { type Settled, settlePost } from './settle.ts'

export interface PostDeps extends ClaimOptions {
  readonly db: Database
  readonly client: AppDataClient
  readonly log: Logger
  /** When a posted task is asked for by id. */
  readonly overdueAfterMs: number
}

export type PostResult =
  | ({ readonly kind: 'settled' } & Settled)
  /** Another runner has it, nothing of it was left to post, or the service is in outage. */
  | { readonly kind: 'nothing' }

/** When the database connection is lost the answer is still in memory: settling is tried so many times. */
const SETTLE_ATTEMPTS = 5

/**
 * Works one post.
 * @param signal aborts the waiting for a permit; what was sent is always settled
 * @throws UnavailableError when it was not sent, or the service's list could not be read before, and can be
 *   tried again; AccountError when the service refuses the account; RejectedError when it does not know the
 *   endpoint
 */
export async function workPost(deps: PostDeps, postId: string, signal: AbortSignal): Promise<PostResult> {
  for (;;) {
    signal.throwIfAborted()
    await holdOnTrouble(deps, postId, () => checkForRestore(deps.db, deps.client, signal))
    const claim = await claimOrRelease(deps, postId)
    if (claim.kind === 'wait') {
      await waitForPermit(deps.db, claim.waitMs, signal)
      continue
    }
    if (claim.kind === 'price_doubted') {
      await holdOnTrouble(deps, postId, () => recordAccountUsage(deps.db, deps.client))
      continue
    }
    if (claim.kind !== 'claimed') return { kind: 'nothing' }
    const outcome = await sendPost(deps, claim.post)
    const pauseMs = await handleRefusal(deps, claim.post, outcome)
    if (pauseMs === null) return settleOutcome(deps, claim.post, outcome)
    await sleep(pauseMs, undefined, { signal })
  }
}

/**
 * While the service cannot be asked the post stays ready, and says why: nothing else tells that the service
 * is away.
 */
async function holdOnTrouble({ db }: PostDeps, postId: string, ask: () => Promise<unknown>): Promise<void> {
  try {
    await ask()
  } catch (error) {
    if (error instanceof StorerankError) await holdPost(db.sql, postId, error.message)
    throw error
  }
}

/**
 * A post whose claim may not have been committed is not sent. If the claim was committed after all, its token
 * releases the post.
 */
async function claimOrRelease(deps: PostDeps, postId: string): Promise<Claim> {
  const token = randomUUID()
  try {
    return await claimPost(deps.db, postId, token, deps)
  } catch (cause) {
    await releasePost(
      deps.db.sql,
      postId,
      token,
      'The claim could not be confirmed; nothing was sent.',
    ).catch(() => {})
    throw new UnavailableError(`The post ${postId} could not be claimed; nothing was sent.`, { cause })
  }
}

async function sendPost(deps: PostDeps, post: ClaimedPost): Promise<PostOutcome> {
  const sent = await deps.client.postTasks(post.store, post.function, post.tasks, post.send)
  const outcome = await readNotOffered(deps.db.sql, post, sent)
  await endCall(deps.db, post.callId, {
    ...('httpStatus' in outcome && outcome.httpStatus !== undefined
      ? { httpStatus: outcome.httpStatus }
      : {}),
    ...('statusCode' in outcome ? { statusCode: outcome.statusCode } : {}),
    ...('reason' in outcome ? { error: outcome.reason } : {}),
  })
  return outcome
}

/**
 * Releases the post on proof that nothing was created. Returns the pause before the next claim; null when the
 * answer is to be settled.
 */
async function handleRefusal(
  deps: PostDeps,
  post: ClaimedPost,
  outcome: PostOutcome,
): Promise<number | null> {
  if (outcome.kind === 'not_sent') {
    await releasePost(deps.db.sql, post.postId, post.token, `Not sent: ${outcome.reason}.`)
    // The database may be farther away than it was: the next permit counts its round trips anew.
    await measureRoundTrip(deps.db)
    throw new UnavailableError(`The post ${post.postId} was not sent: ${outcome.reason}.`)
  }
  if (outcome.kind !== 'refused') return null
  const said = `The service refused the post (${outcome.statusCode}: ${outcome.message})`
  await releasePost(deps.db.sql, post.postId, post.token, `${said}.`)
  switch (outcome.cause) {
    case 'rate_limit':
      deps.log.warn(
        { postId: post.postId, statusCode: outcome.statusCode },
        'the service asks for a slower pace',
      )
      return Math.min(outcome.retryAfterMs ?? 60_000, 60_000)
    case 'money':
    case 'account':
      throw refuseAccount(said, outcome.statusCode, outcome.cause)
    case 'not_found':
      throw new RejectedError(
        `${said}. Check APP_DATA_URL and APP_DATA_STORES; the tasks stay planned.`,
        outcome.statusCode,
      )
  }
}

async function settleOutcome(deps: PostDeps, post: ClaimedPost, outcome: PostOutcome): Promise<PostResult> {
  const answers = outcome.kind === 'answered' ? outcome.answers : []
  const problem = outcome.kind === 'unknown' ? `The answer was lost: ${outcome.reason}.` : null
  for (let attempt = 1; ; attempt += 1) {
    try {
      const settled = await settlePost(deps.db, post, answers, deps.overdueAfterMs, problem)
      if (settled.unknown > 0) {
        deps.log.warn(
          { postId: post.postId, unknown: settled.unknown, problem },
          'post is unknown, to be reconciled',
        )
      }
      await logTasks(deps, post.postId, answers, settled)
      if (settled.created > 0) await tellPrices(deps.db.sql, deps.log)
      if (settled.released > 0) throwForRefusedTasks(answers)
      return { kind: 'settled', ...settled }
    } catch (error) {
      if (error instanceof AccountError || attempt === SETTLE_ATTEMPTS) throw error
      await sleep(1000 * attempt)
    }
  }
}

async function logTasks(
  { db, log }: PostDeps,
  postId: string,
  answers: readonly TaskAnswer[],
  { failed, duplicates = 0 }: Settled,
): Promise<void> {
  if (failed > 0) await logFailedTasks(db.sql, log, { postId })
  if (duplicates > 0) await logDuplicates(db.sql, log, answers)
}

/**
 * When single tasks are refused for money or the account, the next posts would be refused too; those refused
 * for pace only wait.
 */
function throwForRefusedTasks(answers: readonly { statusCode: number; message: string }[]): void {
  for (const { statusCode, message } of answers) {
    const cause = classifyStatus(statusCode)
    if (cause !== 'money' && cause !== 'account') continue
    throw refuseAccount(`The service refused some tasks (${statusCode}: ${message})`, statusCode, cause)
  }
}

function refuseAccount(said: string, statusCode: number, cause: 'money' | 'account'): AccountError {
  const message = `${said}. ${adviseOnRefusal(statusCode)} What was not posted stays planned.`
  return new AccountError(message, cause === 'money' ? 'account_money' : 'account')
}
