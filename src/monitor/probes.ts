/** Whether a process works, and whether it can: what orchestrators and heartbeats ask. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import type { Probe } from './server.ts'

/** The scheduler looks every minute, and after trouble every five seconds. */
const LATE_MS = 180_000
/** A database that does not answer within that time is not ready. */
const READY_WITHIN_MS = 3_000

/** @param sinceLookMs how long ago the scheduler looked which jobs are due */
export function probeHealth(sinceLookMs: () => number): Probe {
  return async () => {
    const sinceMs = sinceLookMs()
    return sinceMs <= LATE_MS
      ? null
      : `The schedule was looked at ${Math.round(sinceMs / 1000)} s ago, and should be every minute.`
  }
}

/**
 * Ready: the database answers, and its schema is that of this version.
 * @param describe the sentence for what a database driver threw; null when it has none
 */
export function probeDatabase(db: Database, describe: (error: unknown) => Error | null): Probe {
  return async () => {
    const answer = requireCurrentSchema(db).then(
      () => null,
      (error: unknown) =>
        describe(error)?.message ?? (error instanceof Error ? error.message : String(error)),
    )
    const late = sleep(READY_WITHIN_MS, `The database did not answer within ${READY_WITHIN_MS / 1000} s.`, {
      ref: false,
    })
    return Promise.race([answer, late])
  }
}
