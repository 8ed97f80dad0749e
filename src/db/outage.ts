/** What cannot be stored because the database is away for the moment waits for it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { TIMINGS } from '../timings.ts'

/** Of the system, and of the drivers when a connection ends under them. */
const UNREACHABLE =
  /^(ECONN\w+|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE|CONNECT_TIMEOUT|CONNECTION_\w+)$/
/**
 * SQLSTATE: connection exceptions, also of a worker of Citus; too many connections; the server starts, stops
 * or has crashed.
 */
const NOT_NOW = /^(08\w{3}|53300|57P0[1-5])$/

/** What Citus says, as an internal error, when it loses a worker in the middle of a write. */
const LOST_WORKER = /^failure on connection marked as essential/

/** Whether an error's code says that the database, or a part of it, cannot be reached at this moment. */
export function isOutage(code: string): boolean {
  return UNREACHABLE.test(code) || NOT_NOW.test(code)
}

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
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  return LOST_WORKER.test(error.message) || (typeof code === 'string' && isOutage(code))
}
