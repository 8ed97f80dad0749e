/**
 * How much of the calls that are allowed is used while there is work: as many callers as may be in flight ask the real gate
 * for permits, as fast as it lets them, for some windows of 60.5 seconds. A permit is valid for half a second, so 2,000 in
 * any 60 seconds means 2,000 in 60.5: the best that can be is 99.17 %. Takes five minutes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createCallGate } from '../../src/db/call-gate.ts'
import type { Database } from '../../src/db/database.ts'
import { withDatabase } from './database.ts'

const WINDOWS = 5
const WINDOW_MS = 60_500
/** As long as a fast service takes to answer. */
const CALL_MS = 100
const LIMITS = { callsPerMinute: 2000, maxConcurrentRequests: 30 }

interface Used {
  /** How long a permit waited for the one 2,000 before it to leave the window, and to be taken. */
  readonly windowSeconds: number
  readonly mostInMinute: number
}

async function call(db: Database, signal: AbortSignal): Promise<void> {
  const gate = createCallGate(db, { ...LIMITS, runner: 'bench' }, signal)
  while (!signal.aborted) {
    const permit = await gate.open('task_get', '/bench').catch(() => null)
    await sleep(CALL_MS)
    await permit?.end({ httpStatus: 200 })
  }
}

async function readUsed(db: Database): Promise<Used> {
  const [used] = await db.sql<Used[]>`
    select extract(epoch from avg(permit_at - same_before))::float8 as "windowSeconds",
      max(in_minute)::int as "mostInMinute"
    from (
      select permit_at, lag(permit_at, ${LIMITS.callsPerMinute}::int) over w as same_before,
        count(*) over (order by permit_at range interval '60 seconds' preceding) as in_minute
      from api_call window w as (order by permit_at)
    ) as given`
  if (used === undefined) throw new Error('An aggregate returned no row.')
  return used
}

await withDatabase(async (db) => {
  const over = AbortSignal.timeout(WINDOWS * WINDOW_MS)
  await Promise.all(Array.from({ length: LIMITS.maxConcurrentRequests }, () => call(db, over)))
  const { windowSeconds, mostInMinute } = await readUsed(db)
  const perMinute = (LIMITS.callsPerMinute * 60) / windowSeconds
  const percent = (perMinute * 100) / LIMITS.callsPerMinute
  process.stdout.write(
    `${perMinute.toFixed(1)} calls a minute while there is work: ${percent.toFixed(2)} % of ${LIMITS.callsPerMinute}; ` +
      `at most ${mostInMinute} in any 60 seconds.\n`,
  )
})
