/**
 * How much of the calls that are allowed is used while there is work: the gates of some runners ask for
 * permits, as many calls as may be in flight, as fast as they get them. A permit is valid for half a second,
 * so 2,000 in any 60 seconds means 2,000 in 60.5: the best that can be is 99.17 %. Takes a minute for each of
 * its windows.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createCallGate } from '../../src/db/call-gate.ts'
import type { Database } from '../../src/db/database.ts'
import type { CallGate } from '../../src/service/transport.ts'
import { printBars } from './bars.ts'
import { withDatabase } from './database.ts'

const { values } = parseArgs({
  options: { windows: { type: 'string', default: '5' }, runners: { type: 'string', default: '2' } },
})
const WINDOWS = Number(values.windows)
const RUNNERS = Number(values.runners)
const WINDOW_MS = 60_500
/** As long as a fast service takes to answer. */
const CALL_MS = 100
const LIMITS = { callsPerMinute: 2000, maxConcurrentRequests: 30 }

/** Permits that this process got, and those of them that were over before they could be used. */
const permits = { given: 0, late: 0 }

async function call(gate: CallGate, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const permit = await gate.open('task_get', '/bench').catch(() => null)
    if (permit === null) continue
    permits.given += 1
    if (performance.now() > permit.startBeforeMs) permits.late += 1
    await sleep(CALL_MS)
    await permit.end({ httpStatus: 200 })
  }
}

/** Each runner has as many calls to make as may be in flight over all. */
function callAsRunner(db: Database, runner: number, signal: AbortSignal): Promise<void>[] {
  const gate = createCallGate(db, { ...LIMITS, runner: `bench ${runner}` }, signal)
  return Array.from({ length: LIMITS.maxConcurrentRequests }, () => call(gate, signal))
}

/** The first window waits for nothing, and the next two find the pace that bursts then keep. */
const SETTLED_AFTER = 3

interface Used {
  /**
   * How long a permit waited for the one 2,000 before it to leave the window, and to be taken; null where
   * none waited.
   */
  readonly settledSeconds: number | null
  readonly allSeconds: number | null
  readonly mostInMinute: number
}

async function readUsed(db: Database): Promise<Used> {
  const [used] = await db.sql<Used[]>`
    select extract(epoch from avg(waited) filter (where number
      > ${SETTLED_AFTER * LIMITS.callsPerMinute}::int))::float8 as "settledSeconds",
      extract(epoch from avg(waited))::float8 as "allSeconds", max(in_minute)::int as "mostInMinute"
    from (
      select row_number() over w as number, permit_at - lag(permit_at, ${LIMITS.callsPerMinute}::int)
        over w as waited,
        count(*) over (order by permit_at range interval '60 seconds' preceding) as in_minute
      from api_call window w as (order by permit_at, id)
    ) as given`
  if (used === undefined) throw new Error('An aggregate returned no row.')
  return used
}

/** Percent of the calls of a minute; NaN where no call waited. */
function toShare(windowSeconds: number | null): number {
  return (100 * 60) / (windowSeconds ?? Number.NaN)
}

await withDatabase(async (db) => {
  const over = AbortSignal.timeout(WINDOWS * WINDOW_MS)
  await Promise.all(Array.from({ length: RUNNERS }, (_, runner) => callAsRunner(db, runner, over)).flat())
  const { settledSeconds, allSeconds, mostInMinute } = await readUsed(db)
  printBars(`${RUNNERS} runners that always have calls to make, ${WINDOWS} windows`, [
    {
      what: `of the ${LIMITS.callsPerMinute} calls a minute that are allowed, after ${SETTLED_AFTER} windows`,
      value: toShare(settledSeconds),
      unit: '%',
      atLeast: 99,
    },
    { what: 'of these, from the first window on', value: toShare(allSeconds), unit: '%' },
    { what: 'calls in any 60 seconds', value: mostInMinute, unit: '', atMost: LIMITS.callsPerMinute },
    { what: 'permits thrown away', value: (permits.late * 100) / permits.given, unit: '%', atMost: 1 },
  ])
})
process.exit()
