/** Works a post from claim to settlement (docs/protocol.md: The way of a post). No POST is repeated. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { recordAccountUsage } from '../account/usage.ts'
import { endCall, measureRoundTrip, waitForPermit } from '../db/call-window.ts'
import type { Database, SqlRunner } from '../db/database.ts'
import { AccountError, RejectedError, StorerankError, UnavailableError } from '../errors.ts'
import { holdPost } from '../ledger/claim-post.ts'
import { tellPrices } from '../ledger/prices.ts'
import { releasePost } from '../ledger/release.ts'
import { logDuplicates, logFailedTasks } from '../ledger/task-failures.ts'
import type { AppDataClient } from '../service/client.ts'
import { FUNCTION_RULES, type ServiceFunction } from '../service/functions.ts'
import type { ListingOutcome } from '../service/listings.ts'
import type { PostOutcome, TaskAnswer } from '../service/post-tasks.ts'
import { adviseOnRefusal, classifyStatus } from '../service/status-codes.ts'
import type { CallOutcome } from '../service/transport.ts'
import { type Claim, type ClaimedPost, type ClaimOptions, claimPost } from './claim.ts'
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
const LONGEST_PAUSE_MS = 60_000

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
      await waitForPermit(claim.waitMs, signal)
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

/** While the service cannot be asked the post stays ready, and says why: nothing else tells. */
async function holdOnTrouble({ db }: PostDeps, postId: string, ask: () => Promise<unknown>): Promise<void> {
  try {
    await ask()
  } catch (error) {
    if (error instanceof StorerankError) await holdPost(db.sql, postId, error.message)
    throw error
  }
}

/** A post whose claim may not be committed is not sent; if it was, its token releases the post. */
async function claimOrRelease(deps: PostDeps, postId: string): Promise<Claim> {
  const token = randomUUID()
  try {
    return await claimPost(deps.db, postId, token, deps)
  } catch (cause) {
    const problem = 'The claim could not be confirmed; nothing was sent.'
    await releasePost(deps.db.sql, postId, token, problem).catch(() => {})
    throw new UnavailableError(`The post ${postId} could not be claimed; nothing was sent.`, { cause })
  }
}

async function sendPost(deps: PostDeps, post: ClaimedPost): Promise<PostOutcome> {
  const sent = await deps.client.postTasks(post.store, post.function, post.tasks, post.send)
  const outcome = await readNotOffered(deps.db.sql, post, sent)
  await endCall(deps.db, post.callId, describeEnd(outcome))
  return outcome
}

/** What the audit trail of calls has of a call that was paid for. */
export function describeEnd(outcome: PostOutcome | ListingOutcome): CallOutcome {
  return {
    ...('httpStatus' in outcome && outcome.httpStatus && { httpStatus: outcome.httpStatus }),
    ...('statusCode' in outcome && { statusCode: outcome.statusCode }),
    ...('reason' in outcome && { error: outcome.reason }),
  }
}

const NOUNS: Readonly<Record<ServiceFunction, string>> = {
  app_searches: 'searches',
  app_info: 'pages of apps',
  app_list: 'charts',
  app_reviews: 'reviews',
}

/**
 * Some functions are of the service as it is sold alone (docs/service.md: charts of the ios_store): else it
 * answers 404. Then each task is refused, once a slot. Of a store without known places the address may be
 * wrong, or the name of the store: there the tasks stay planned.
 */
async function readNotOffered(
  db: SqlRunner,
  { store, function: fn, tasks }: ClaimedPost,
  outcome: PostOutcome,
): Promise<PostOutcome> {
  if (outcome.kind !== 'refused' || outcome.cause !== 'not_found') return outcome
  if (FUNCTION_RULES[store][fn].source !== 'sold') return outcome
  const known = await db`select from location where store = ${store} limit 1`
  if (known.length === 0) return outcome
  const { statusCode, httpStatus } = outcome
  const message =
    `The service does not offer ${NOUNS[fn]} of the ${store}: it has no such path. Nothing was bought. ` +
    'Disable the watch, or ask the service for them'
  const answers = tasks.map(({ tag }) => ({ tag, serviceId: null, statusCode, message, costMicros: 0 }))
  return { kind: 'answered', answers, httpStatus, statusCode }
}

/**
 * Releases the post on proof that nothing was created. The pause before the next claim; null: to be settled.
 */
async function handleRefusal(
  { db, log }: PostDeps,
  { postId, token }: ClaimedPost,
  outcome: PostOutcome,
): Promise<number | null> {
  if (outcome.kind === 'not_sent') {
    await releasePost(db.sql, postId, token, `Not sent: ${outcome.reason}.`)
    // The database may be farther away than it was: the next permit counts its round trips anew.
    await measureRoundTrip(db)
    throw new UnavailableError(`The post ${postId} was not sent: ${outcome.reason}.`)
  }
  if (outcome.kind !== 'refused') return null
  const { cause, statusCode, message, retryAfterMs = LONGEST_PAUSE_MS } = outcome
  const said = `The service refused the post (${statusCode}: ${message})`
  await releasePost(db.sql, postId, token, `${said}.`)
  switch (cause) {
    case 'rate_limit':
      log.warn({ postId, statusCode }, 'the service asks for a slower pace')
      return Math.min(retryAfterMs, LONGEST_PAUSE_MS)
    case 'money':
    case 'account':
      throw refuseAccount(said, statusCode, cause)
    case 'not_found':
      throw new RejectedError(
        `${said}. Check APP_DATA_URL and APP_DATA_STORES; the tasks stay planned.`,
        statusCode,
      )
  }
}

async function settleOutcome(deps: PostDeps, post: ClaimedPost, outcome: PostOutcome): Promise<PostResult> {
  const answers = outcome.kind === 'answered' ? outcome.answers : []
  const problem = outcome.kind === 'unknown' ? `The answer was lost: ${outcome.reason}.` : null
  for (let attempt = 1; ; attempt += 1) {
    try {
      const settled = await settlePost(deps.db, post, answers, deps.overdueAfterMs, problem)
      await tellSettled(deps, post, answers, settled, problem)
      return { kind: 'settled', ...settled }
    } catch (error) {
      if (error instanceof AccountError || attempt === SETTLE_ATTEMPTS) throw error
      await sleep(1000 * attempt)
    }
  }
}

async function tellSettled(
  { db, log }: PostDeps,
  { postId }: ClaimedPost,
  answers: readonly TaskAnswer[],
  settled: Settled,
  problem: string | null,
): Promise<void> {
  const { created, failed, released, unknown, duplicates = 0 } = settled
  if (settled.unknown > 0) log.warn({ postId, unknown, problem }, 'post is unknown, to be reconciled')
  if (failed > 0) await logFailedTasks(db.sql, log, { postId })
  if (duplicates > 0) await logDuplicates(db.sql, log, answers)
  if (created > 0) await tellPrices(db.sql, log)
  if (released > 0) throwForRefusedTasks(answers)
}

/** Refused for money or the account, the next posts would be refused too; those for pace only wait. */
function throwForRefusedTasks(answers: readonly TaskAnswer[]): void {
  for (const { statusCode, message } of answers) {
    const cause = classifyStatus(statusCode)
    if (cause === 'money' || cause === 'account')
      throw refuseAccount(`The service refused some tasks (${statusCode}: ${message})`, statusCode, cause)
  }
}

function refuseAccount(said: string, statusCode: number, cause: 'money' | 'account'): AccountError {
  const message = `${said}. ${adviseOnRefusal(statusCode)} What was not posted stays planned.`
  return new AccountError(message, cause === 'money' ? 'account_money' : 'account')
}
