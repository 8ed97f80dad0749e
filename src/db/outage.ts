/** What cannot be stored because the database is away for the moment waits for it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { TIMINGS } from '../timings.ts'
import { isOutage } from '../trouble.ts'

/** What Citus says, as an internal error, when it loses a worker in the middle of a write. */
const LOST_WORKER = /^failure on connection marked as essential/

/**
 * Does work again for as long as the database cannot be reached. The work has to be safe to repeat: its
 * commit may have succeeded.
 * @param signal until when
 * @throws what the work threw last
 */
export async function retryWhileDatabaseIsDown<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let pauseMs = TIMINGS.firstRetryMs; ; pauseMs = Math.min(2 * pauseMs, TIMINGS.longestOutagePauseMs)) {
    try {
      return await work()
    } catch (error) {
      if (signal.aborted || !saysOutage(error)) throw error
      await sleep(pauseMs, undefined, { signal }).catch(() => {
        throw error
      })
    }
  }
}

/** Whether an error is one of a database that cannot be reached at this moment. */
export function saysOutage(error: unknown): boolean {
  return error instanceof Error && (LOST_WORKER.test(error.message) || isOutage(error))
}
