/** Whether a free call is repeated: one pure decision, with its reason. Posting tasks never comes here. */
import { TIMINGS } from '../timings.ts'

/** Why a call brought no answer that can be used. */
export interface Failure {
  readonly kind:
    | 'network'
    | 'oversized'
    | 'not_an_envelope'
    | 'server'
    | 'too_many_at_once'
    | 'rate_limited'
    | 'account'
    | 'money'
    | 'rejected'
  readonly message: string
  /** Of what has no answer, as a sentence. */
  readonly remedy?: string
  /** The service's code, or HTTP status × 100 when the answer holds none; 0 when there was no answer. */
  readonly statusCode: number
  /** How long the service asks to be left alone. */
  readonly retryAfterMs?: number
}

export type RetryDecision =
  | { readonly retry: true; readonly delayMs: number; readonly reason: string }
  | { readonly retry: false; readonly reason: string }

export const MAX_ATTEMPTS = 4
/** No attempt begins later than this after the first one. */
export const MAX_ELAPSED_MS = 60_000
const MAX_DELAY_MS = 8_000

/**
 * @param attempt the attempt that has just failed, from 1
 * @param elapsedMs since the first attempt began
 * @param jitter 0 to 1, drawn by the caller: delays spread over the upper half of their length
 */
export function decideRetry(
  failure: Failure,
  attempt: number,
  elapsedMs: number,
  jitter: number,
): RetryDecision {
  const hopeless = reasonAgainstRetry(failure.kind)
  if (hopeless !== null) return { retry: false, reason: hopeless }
  if (attempt >= MAX_ATTEMPTS) return { retry: false, reason: `it failed ${attempt} times` }
  const fullDelayMs = Math.min(MAX_DELAY_MS, TIMINGS.firstRetryMs * 2 ** (attempt - 1))
  const delayMs = Math.max(fullDelayMs * (0.5 + jitter / 2), failure.retryAfterMs ?? 0)
  if (elapsedMs + delayMs > MAX_ELAPSED_MS) {
    return { retry: false, reason: `it kept failing for ${Math.round(elapsedMs / 1000)} s` }
  }
  return { retry: true, delayMs, reason: 'a repeat is free and may work' }
}

function reasonAgainstRetry(kind: Failure['kind']): string | null {
  switch (kind) {
    case 'rate_limited':
      return 'the caller decides what to do with the rest of the minute'
    case 'account':
    case 'money':
      return 'a person must act on the account first'
    case 'rejected':
      return 'the same request will be refused again'
    case 'oversized':
      return 'the same answer will be too large again'
    case 'network':
    case 'not_an_envelope':
    case 'server':
    case 'too_many_at_once':
      return null
  }
}
