/** Whether a process works, and whether it can: what orchestrators and heartbeats ask. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../db/database.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import { describeTrouble } from '../trouble.ts'
import type { Open } from './figure.ts'
import { explainLate, type Probe } from './server.ts'

/** A database that does not answer within that time is not ready. */
const READY_WITHIN_MS = 3_000

/** What the view `open_work` says of a kind; null where there is nothing to do. */
export async function readTold({ sql }: Database, kind: keyof Open): Promise<string | null> {
  const [row] = await sql<{ message: string | null }[]>`select message from open_work where kind = ${kind}`
  return row?.message ?? null
}

/** @param sinceLookMs how long ago the scheduler looked which jobs are due */
export function probeHealth(sinceLookMs: () => number): Probe {
  return async () => explainLate(sinceLookMs())
}

/** Ready: the database answers, takes changes, and its schema is that of this version. */
export function probeDatabase(db: Database): Probe {
  return () =>
    within(
      requireCurrentSchema(db)
        .then(() => readTold(db, 'read_only'))
        .catch((error: unknown) => (describeTrouble(error) ?? (error as Error)).message),
    )
}

/** Whether all that is due is planned in time, by this runner or another: for the heartbeat. */
export function probePlan(db: Database): Probe {
  return () => within(readTold(db, 'no_run').catch(String))
}

function within(answer: Promise<string | null>): Promise<string | null> {
  const late = `The database did not answer within ${READY_WITHIN_MS / 1000} s.`
  return Promise.race([answer, sleep(READY_WITHIN_MS, late, { ref: false })])
}
