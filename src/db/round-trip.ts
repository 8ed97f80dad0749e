/**
 * How far away the database is. What a permit of the call window is good for begins when the database stamps
 * it and ends on a runner's clock, so its time is counted in round trips: 500 ms would be over before the
 * commit of a claim is confirmed by a database 220 ms away.
 */
import { TIMINGS } from '../timings.ts'
import type { Database } from './database.ts'

/** What a permit is valid for where the database is near. */
export const PERMIT_VALID_MS = 500
/** The question for a permit, the claim and its commit, and to prepare the first two; one is left. */
const TRIPS_OF_A_PERMIT = 6
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

/** How long a permit of this runner is valid after its stamp, as far as is measured. */
export function permitValidMs(db: Database): number {
  return validMsAt(measured.get(db) ?? 0)
}

/** Pure. */
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
