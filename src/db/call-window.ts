/**
 * The call window: never more calls in any 60 seconds than allowed, nor more at once, over all runners on one database. It is exact,
 * because Postgres gives and stamps permits one after the other.
 */
import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { CallGate, CallKind, CallOutcome, CallPermit } from '../service/transport.ts'
import type { Database, SqlRunner } from './database.ts'

export interface CallLimits {
  readonly callsPerMinute: number
  readonly maxConcurrentRequests: number
}

export interface CallWindowOptions extends CallLimits {
  /** The runner that asks, for `api_call`. */
  readonly runner: string
}

/** A permit is valid for half a second; the window of 60.5 s includes it. */
export const PERMIT_VALID_MS = 500
/** Hard total timeout of a request; its row counts as in flight no longer than this. */
export const CALL_TIMEOUT_MS = 25_000
/** The longest sleep before it asks again, because the account's limit may rise meanwhile. */
const LONGEST_SLEEP_MS = 2_000
/** A wait no longer than this is for a place in flight, which the end of a call may free. */
const PLACE_WAIT_MS = 250
/** Kinds with a limit of their own: a call that waits for it must not keep others waiting. */
const LIMITED_KINDS: ReadonlySet<CallKind> = new Set(['tasks_ready', 'id_list', 'status'])

export type PermitAnswer = { readonly callId: number } | { readonly waitMs: number }

/** Asks once, inside the caller's transaction if it has one; the permit counts from the commit on. */
export async function askForPermit(
  sql: SqlRunner,
  kind: CallKind,
  path: string,
  options: CallWindowOptions,
): Promise<PermitAnswer> {
  const [row] = await sql<{ callId: number | null; waitMs: number | null }[]>`
    select call_id as "callId", wait_ms as "waitMs" from take_call_permit(${kind}, ${path}, ${options.runner},
      ${options.callsPerMinute}, ${options.maxConcurrentRequests}, ${CALL_TIMEOUT_MS})`
  return row?.callId == null ? { waitMs: row?.waitMs ?? LONGEST_SLEEP_MS } : { callId: row.callId }
}

/**
 * How long a call of a kind would have to wait now, in ms; 0 when a permit would be given. It takes no permit and waits for no lock: the
 * cheap question before a transaction that needs a permit.
 */
export async function readCallWait(sql: SqlRunner, kind: CallKind, limits: CallLimits): Promise<number> {
  const [row] = await sql<{ waitMs: number }[]>`
    select call_wait(${kind}, ${limits.callsPerMinute}, ${limits.maxConcurrentRequests}) as "waitMs"`
  return row?.waitMs ?? 0
}

/** Writes how a call ended. Its place in flight is free by its deadline, should this fail. */
export async function endCall(db: Database, callId: number, outcome: CallOutcome): Promise<void> {
  await db.sql`
    with freed as (update call_place set busy_until = '-infinity' where call_id = ${callId})
    update api_call set ended_at = clock_timestamp(), http_status = ${outcome.httpStatus ?? null},
      status_code = ${outcome.statusCode ?? null}, error = ${outcome.error?.slice(0, 500) ?? null}
    where id = ${callId}`.catch(() => {})
  waking.get(db)?.emit('ended')
}

/** Wakes the calls of this runner that wait for a place in flight or for their turn to ask. */
const waking = new WeakMap<Database, EventEmitter>()

/**
 * Waits for a permit that may be had after a time: until the clock says so, or a call of this runner has ended.
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

/**
 * The gate through which the client makes its free calls. One call of a runner asks at a time, in the order in which they came:
 * the others wait in this process and not at the lock of the window.
 */
export function createCallGate(db: Database, options: CallWindowOptions, signal: AbortSignal): CallGate {
  const turn = pLimit(1)
  const ask = async (kind: CallKind, path: string): Promise<CallPermit> => {
    for (;;) {
      signal.throwIfAborted()
      const startBeforeMs = performance.now() + PERMIT_VALID_MS
      const answer = await askForPermit(db.permits, kind, path, options)
      if ('callId' in answer) {
        return { startBeforeMs, end: (outcome) => endCall(db, answer.callId, outcome) }
      }
      await waitForPermit(db, answer.waitMs, signal)
    }
  }
  return { open: (kind, path) => (LIMITED_KINDS.has(kind) ? ask(kind, path) : turn(() => ask(kind, path))) }
}
