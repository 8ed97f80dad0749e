/** What `storerank start` asks of its database while nothing is due, because all that was is measured. */
import { setTimeout as sleep } from 'node:timers/promises'
import { JOBS } from '../../jobs/index.ts'
import type { Database } from '../../src/db/database.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { startScheduler } from '../../src/queue/scheduler.ts'
import { STORES_AS_SOLD } from '../../src/service/dialect.ts'
import { startSandboxProcess } from '../support/sandbox-process.ts'
import { atMost, type Measured, plain } from './bars.ts'
import { closeContext, openContext } from './context.ts'
import { readServerLoad } from './server-load.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const SHOWN = 12
const KEYWORDS = 500
const MEASURED_WITHIN_MS = 5 * MINUTE_MS

/** Waits until nothing of the day is left to measure. */
async function waitUntilMeasured(db: Database): Promise<void> {
  const untilMs = performance.now() + MEASURED_WITHIN_MS
  for (;;) {
    const [row] = await db.sql<{ captures: number }[]>`
      select count(*)::int as captures from ranking where gap is null`
    if (row?.captures === KEYWORDS) return
    if (performance.now() > untilMs)
      throw new Error(`Of ${KEYWORDS} keywords ${row?.captures} were measured in five minutes.`)
    await sleep(1_000)
  }
}

/** Says on stderr which statements there were most of. */
async function listMost(db: Database): Promise<void> {
  const most = await db.sql<{ calls: number; query: string }[]>`
    select calls, left(regexp_replace(query, '\\s+', ' ', 'g'), 100) as query from pg_stat_statements
    where dbid = (select oid from pg_database where datname = current_database()) order by calls desc
      limit ${SHOWN}`
  for (const { calls, query } of most) process.stderr.write(`${calls} × ${query}\n`)
}

export async function measureIdle(db: Database, minutes: number, asSold: boolean): Promise<Measured> {
  const sandbox = await startSandboxProcess({ asSold, idleExitMs: HOUR_MS })
  const context = await openContext(db, sandbox.url, asSold ? { stores: STORES_AS_SOLD } : {})
  await db.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'bench', 'ios_store', 'yoga ' || n, 2840, 'en' from generate_series(1, ${KEYWORDS}::int) n`
  await startRunner(context, JOBS)
  const scheduler = await startScheduler(context, JOBS)
  try {
    await waitUntilMeasured(db)
    await sleep(MINUTE_MS)
    const before = await readServerLoad(db)
    await db.sql`select pg_stat_statements_reset()`
    await sleep(minutes * MINUTE_MS)
    const after = await readServerLoad(db)
    await listMost(db)
    return {
      'statements a minute': atMost(150, after.statements / minutes),
      'CPU of PostgreSQL a minute': plain((after.cpuMs - before.cpuMs) / minutes, 'ms'),
    }
  } finally {
    await scheduler.stop()
    await closeContext(context)
    await sandbox.stop()
  }
}
