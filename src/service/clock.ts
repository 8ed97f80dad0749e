/** The three things the client asks of time, so that tests can hand in their own. */

import { setTimeout as wait } from 'node:timers/promises'

export interface Clock {
  /** `performance.now()`: never goes back, but stands still while a laptop sleeps. */
  monotonicMs(): number
  /** `Date.now()`. */
  wallMs(): number
  /** Resolves after `ms`; rejects when `signal` aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  sleep: (ms, signal) => wait(ms, undefined, { signal }),
}
