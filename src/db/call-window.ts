/**
 * The call window: never more calls in any 60 seconds than allowed, nor more at once, over all runners on one
 * database. It is exact, because Postgres gives and stamps permits one after the other.
 */
import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallKind, CallOutcome } from '../service/transport.ts'
import { TIMINGS } from '../timings.ts'
import type { Database, SqlRunner } from './database.ts'
import { PERMIT_VALID_MS } from './round-trip.ts'

export interface CallLimits {
  readonly callsPerMinute: number
  readonly maxConcurrentRequests: number
}

export interface CallWindowOptions extends CallLimits {
  /** The runner that asks, for `api_call`. */
  readonly runner: string
}

/** The longest sleep before it asks again, because the account's limit may rise meanwhile. */
export const LONGEST_SLEEP_MS = 2_000
/** The wait for a place in flight, which the end of a call may free: `call_wait` says it. */
export const PLACE_WAIT_MS = 250
const MAX_ERROR_LENGTH = 500

/** A call that asks for a permit. */
export interface Call {
  readonly kind: CallKind
  readonly path: string
}

export interface EndedCall extends CallOutcome {
  readonly callId: number
}

/** The calls that got permits are the first ones that asked, with these ids. */
export interface PermitsAnswer {
  readonly callIds: readonly number[]
  /** How long the next one has to wait; null when all got permits. */
  readonly waitMs: number | null
  /**
   * From the question to the stamp of the permits, by the clock of the database: the time at the lock of the
   * window.
   */
  readonly givenAfterMs: number
}

export type PermitAnswer = { readonly callId: number } | { readonly waitMs: number }

/**
 * Pure: until when a call may begin under a permit, which is valid from when it was given and not from the
 * question: `performance.now()`. The clock of the database may be set while it is asked, so it is believed no
 * more than the time that the answer took.
 */
export function startBefore(
  askedMs: number,
  answeredMs: number,
  givenAfterMs: number,
  validMs = PERMIT_VALID_MS,
): number {
  return askedMs + Math.max(0, Math.min(givenAfterMs, answeredMs - askedMs)) + validMs
}

/**
 * One turn at the window: writes how calls ended, and takes permits for the first of those that ask, as many
 * as fit. Permits count from the commit on. A call of a kind that has a limit of its own asks alone.
 * @param validMs how long after its stamp a call may begin (src/db/round-trip.ts)
 */
export async function takePermits(
  db: SqlRunner,
  calls: readonly Call[],
  ended: readonly EndedCall[],
  { runner, callsPerMinute, maxConcurrentRequests }: CallWindowOptions,
  validMs = PERMIT_VALID_MS,
): Promise<PermitsAnswer> {
  const [row] = await db<
    { firstId: number | null; given: number; waitMs: number | null; givenAfterMs: number | null }[]
  >`
    select first_call_id as "firstId", given, wait_ms as "waitMs", given_after_ms as "givenAfterMs"
      from take_call_permits(
      ${calls.map(({ kind }) => kind)}::text[], ${calls.map(({ path }) => path)}::text[], ${runner},
      ${ended.length === 0 ? null : describeEnds(ended)}::text::jsonb, ${callsPerMinute},
        ${maxConcurrentRequests}, ${TIMINGS.callTimeoutMs}, ${validMs})`
  const { firstId = null, given = 0, waitMs = LONGEST_SLEEP_MS, givenAfterMs } = row ?? {}
  const callIds = firstId === null ? [] : Array.from({ length: given }, (_, index) => firstId + index)
  return { callIds, waitMs, givenAfterMs: givenAfterMs ?? 0 }
}

/** Asks once, inside the caller's transaction if it has one; the permit counts from the commit on. */
export async function askForPermit(
  db: SqlRunner,
  kind: CallKind,
  path: string,
  options: CallWindowOptions,
  validMs = PERMIT_VALID_MS,
): Promise<PermitAnswer> {
  const { callIds, waitMs } = await takePermits(db, [{ kind, path }], [], options, validMs)
  const [callId] = callIds
  return callId === undefined ? { waitMs: waitMs ?? LONGEST_SLEEP_MS } : { callId }
}

/**
 * How long a call of a kind would have to wait now, in ms; 0 when a permit would be given. It takes no permit
 * and waits for no lock: the cheap question before a transaction that needs a permit.
 */
export async function readCallWait(db: SqlRunner, kind: CallKind, limits: CallLimits): Promise<number> {
  const [row] = await db<{ waitMs: number }[]>`
    select call_wait(${kind}, ${limits.callsPerMinute}, ${limits.maxConcurrentRequests}) as "waitMs"`
  return row?.waitMs ?? 0
}

/** Writes how a call ended. Its place in flight is free by its deadline, should this fail. */
export async function endCall(db: Database, callId: number, outcome: CallOutcome): Promise<void> {
  await db.sql`select end_calls(${describeEnds([{ callId, ...outcome }])}::text::jsonb)`.catch(() => {})
  announceEnd(db)
}

function describeEnds(ended: readonly EndedCall[]): string {
  return JSON.stringify(
    ended.map(({ callId, httpStatus, statusCode, error }) => ({
      id: callId,
      http_status: httpStatus,
      status_code: statusCode,
      error: error?.replaceAll('\0', '').slice(0, MAX_ERROR_LENGTH),
    })),
  )
}

/** Wakes what waits in this process for a place in flight. */
const waking = new WeakMap<Database, EventEmitter>()

export function announceEnd(db: Database): void {
  waking.get(db)?.emit('ended')
}

/**
 * Waits for a permit that may be had after a time: until the clock says so, or a call of this runner has
 * ended.
 * @param signal aborts the wait
 */
export async function waitForPermit(db: Database, waitMs: number, signal: AbortSignal): Promise<void> {
  const emitter = waking.get(db) ?? new EventEmitter().setMaxListeners(0)
  waking.set(db, emitter)
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const ended = waitMs > PLACE_WAIT_MS ? [] : [once(emitter, 'ended', { signal: either })]
  try {
    await Promise.race([sleep(Math.min(waitMs, LONGEST_SLEEP_MS), undefined, { signal: either }), ...ended])
  } finally {
    over.abort()
    for (const waiting of ended) waiting.catch(() => {})
  }
}
