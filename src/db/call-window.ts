/**
 * The call window: never more calls in any 60 seconds than allowed, nor more at once, over all runners on one
 * database. Exact, because permits are given one after the other, and stamped, by Postgres.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallGate, CallKind, CallOutcome, CallPermit } from '../service/transport.ts'
import type { Database, SqlRunner } from './database.ts'

export interface CallLimits {
  readonly callsPerMinute: number
  readonly maxConcurrentRequests: number
}

export interface CallWindowOptions extends CallLimits {
  /** Who asks, for the audit trail. */
  readonly runner: string
}

/** A permit is valid for half a second: the window of 60.5 s allows for just that. */
export const PERMIT_VALID_MS = 500
/** Hard total timeout of a request; its row counts as in flight no longer than this. */
export const CALL_TIMEOUT_MS = 25_000
/** Others may give a permit back before the window says so. */
const LONGEST_SLEEP_MS = 2_000

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

/** Writes how a call ended. Its row frees its place in flight by its deadline, should this fail. */
export async function endCall(db: Database, callId: number, outcome: CallOutcome): Promise<void> {
  await db.sql`
    update api_call set ended_at = clock_timestamp(), http_status = ${outcome.httpStatus ?? null},
      status_code = ${outcome.statusCode ?? null}, error = ${outcome.error?.slice(0, 500) ?? null}
    where id = ${callId}`.catch(() => {})
}

/** The gate through which the client makes its free calls. */
export function createCallGate(db: Database, options: CallWindowOptions, signal: AbortSignal): CallGate {
  return {
    open: async (kind, path): Promise<CallPermit> => {
      for (;;) {
        signal.throwIfAborted()
        const startBeforeMs = performance.now() + PERMIT_VALID_MS
        const answer = await askForPermit(db.sql, kind, path, options)
        if ('callId' in answer) {
          return { startBeforeMs, end: (outcome) => endCall(db, answer.callId, outcome) }
        }
        await sleep(Math.min(answer.waitMs, LONGEST_SLEEP_MS), undefined, { signal })
      }
    },
  }
}
