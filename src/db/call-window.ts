/**
 * The call window: never more calls in any 60 seconds than allowed, nor more at once, over all runners on one
 * database. It is exact, because Postgres gives and stamps permits one after the other.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallKind, CallOutcome } from '../service/transport.ts'
import { TIMINGS } from '../timings.ts'
import type { Database, SqlRunner } from './database.ts'
import { oneRow } from './one-row.ts'

export interface CallLimits {
  readonly callsPerMinute: number
  readonly maxConcurrentRequests: number
}

export interface CallWindowOptions extends CallLimits {
  /** The runner that asks, for `api_call`. */
  readonly runner: string
}

/** Before it asks again: the account's limit may rise meanwhile. */
export const LONGEST_SLEEP_MS = 2_000
/** The wait for a place in flight, which the end of a call may free: `call_wait` says it. */
export const PLACE_WAIT_MS = 250
const MAX_ERROR_LENGTH = 500
/** Where the database is near. */
export const PERMIT_VALID_MS = 500
/** The question for a permit, the claim and its commit, and to prepare the first two; one is left. */
const TRIPS_OF_A_PERMIT = 6

export interface Call {
  readonly kind: CallKind
  readonly path: string
}

export interface EndedCall extends CallOutcome {
  readonly callId: number
}

export interface PermitsAnswer {
  /** Of the first ones that asked. */
  readonly callIds: readonly number[]
  /** How long the next one has to wait; null when all got permits. */
  readonly waitMs: number | null
  /** From the question to the stamp of the permits, by the clock of the database. */
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
 * @param validMs how long after its stamp a call may begin
 */
export async function takePermits(
  db: SqlRunner,
  calls: readonly Call[],
  ended: readonly EndedCall[],
  { runner, callsPerMinute, maxConcurrentRequests }: CallWindowOptions,
  validMs = PERMIT_VALID_MS,
): Promise<PermitsAnswer> {
  const { firstId, given, waitMs, givenAfterMs } = oneRow(
    await db<{ firstId: number | null; given: number; waitMs: number | null; givenAfterMs: number | null }[]>`
    select first_call_id as "firstId", given, wait_ms as "waitMs", given_after_ms as "givenAfterMs"
      from take_call_permits(
      ${calls.map(({ kind }) => kind)}::text[], ${calls.map(({ path }) => path)}::text[], ${runner},
      ${ended.length === 0 ? null : describeEnds(ended)}::text::jsonb, ${callsPerMinute},
        ${maxConcurrentRequests}, ${TIMINGS.callTimeoutMs}, ${validMs})`,
  )
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
  const row = oneRow(
    await db<{ waitMs: number }[]>`
    select call_wait(${kind}, ${limits.callsPerMinute}, ${limits.maxConcurrentRequests}) as "waitMs"`,
  )
  return row.waitMs
}

/** Writes how a call ended. Its place in flight is free by its deadline, should this fail. */
export async function endCall({ sql }: Database, callId: number, outcome: CallOutcome): Promise<void> {
  await sql`select end_calls(${describeEnds([{ callId, ...outcome }])}::text::jsonb)`.catch(() => {})
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

export async function waitForPermit(waitMs: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(waitMs, LONGEST_SLEEP_MS), undefined, { signal })
}

/**
 * What a permit is good for begins when the database stamps it and ends on a runner's clock, so its time is
 * counted in round trips: 500 ms would be over before the commit of a claim is confirmed by a database that
 * is 220 ms away.
 */
const SAMPLES = 3

const measured = new WeakMap<Database, number>()

/** Measures it now. @returns milliseconds: the longest of a few questions that need no work */
export async function measureRoundTrip(db: Database): Promise<number> {
  await db.permits.unsafe('select')
  let longestMs = 0
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const askedMs = performance.now()
    await db.permits.unsafe('select')
    longestMs = Math.max(longestMs, performance.now() - askedMs)
  }
  measured.set(db, longestMs)
  return longestMs
}

/** After its stamp, as far as is measured. */
export function permitValidMs(db: Database): number {
  return validMsAt(measured.get(db) ?? 0)
}

export function validMsAt(roundTripMs: number): number {
  return Math.min(TIMINGS.longestPermitMs, PERMIT_VALID_MS + Math.ceil(TRIPS_OF_A_PERMIT * roundTripMs))
}

/** From here on a person is told. */
const FAR_MS = 50
/** How many a claim takes behind the ledger's lock, by which the posts of all runners wait for each other. */
const TRIPS_OF_A_CLAIM = 22
const TASKS_OF_A_POST = 100

/** Pure: what the distance of the database means for the work; null where it is near. */
export function describeDistance(roundTripMs: number): string | null {
  if (roundTripMs < FAR_MS) return null
  const tasks = Math.floor((60_000 / (TRIPS_OF_A_CLAIM * roundTripMs)) * TASKS_OF_A_POST)
  const rounded = Number(tasks.toPrecision(2)).toLocaleString('en')
  const what =
    validMsAt(roundTripMs) < TIMINGS.longestPermitMs
      ? `About ${rounded} tasks a minute can be posted so, and each command takes seconds longer.`
      : 'That is too far: what is claimed may be too old to be posted when its claim is confirmed.'
  return (
    `The database is ${Math.round(roundTripMs)} ms away (a round trip). ${what} Run storerank on a machine ` +
    'near the database.'
  )
}
