/**
 * What `storerank start` asks of its database while nothing is due, because all that was is measured:
 * statements a minute, over some minutes after the first quiet one, and which they are. It ends by itself,
 * after `--minutes`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { JOBS } from '../../jobs/index.ts'
import { createCallGate } from '../../src/db/call-gate.ts'
import type { Database } from '../../src/db/database.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { startScheduler } from '../../src/queue/scheduler.ts'
import { AppDataClient } from '../../src/service/client.ts'
import { STORES_AS_SOLD } from '../../src/service/dialect.ts'
import { printBars } from './bars.ts'
import { withDatabase } from './database.ts'
import { startSandbox } from './sandbox.ts'
import { readServerLoad } from './server-load.ts'
import { SETTINGS } from './settings.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    'as-sold': { type: 'boolean', default: false },
  },
})
const AS_SOLD = values['as-sold']
const ACCESS = { login: 'sandbox', password: 'sandbox', ...(AS_SOLD && { stores: STORES_AS_SOLD }) }
const MINUTES = Number(values.minutes)
const MINUTE_MS = 60_000
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
    if (performance.now() > untilMs) {
      throw new Error(
        `Of ${KEYWORDS} keywords ${row?.captures} were measured within ${MEASURED_WITHIN_MS} ms.`,
      )
    }
    await sleep(1_000)
  }
}

await withDatabase(async (db) => {
  const stopping = new AbortController()
  const { signal } = stopping
  const log = pino({ level: 'silent' })
  const gate = createCallGate(db, { ...SETTINGS, runner: 'bench' }, signal)
  const service = await startSandbox({ asSold: AS_SOLD })
  const client = new AppDataClient({ baseUrl: service.url, ...ACCESS, gate })
  const queue = await openQueue(db.url, log)
  await db.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'bench', 'ios_store', 'yoga ' || n, 2840, 'en' from generate_series(1, ${KEYWORDS}::int) n`
  const context = { db, client, queue, settings: SETTINGS, runner: 'bench', log, signal }
  await startRunner(context, JOBS)
  const scheduler = await startScheduler(context, JOBS)
  await waitUntilMeasured(db)
  await sleep(MINUTE_MS)
  const before = await readServerLoad(db)
  await db.sql`select pg_stat_statements_reset()`
  await sleep(MINUTES * MINUTE_MS)
  const after = await readServerLoad(db)
  const most = await db.sql<{ calls: number; query: string }[]>`
    select calls, left(regexp_replace(query, '\\s+', ' ', 'g'), 100) as query from pg_stat_statements
    where dbid = (select oid from pg_database where datname = current_database()) order by calls desc
      limit ${SHOWN}`
  printBars(`nothing is due of ${KEYWORDS} keywords`, [
    { what: 'statements a minute', value: (after.statements ?? Number.NaN) / MINUTES, unit: '', atMost: 150 },
    { what: 'CPU of PostgreSQL a minute', value: (after.cpuMs - before.cpuMs) / MINUTES, unit: 'ms' },
  ])
  for (const { calls, query } of most) process.stdout.write(`${calls} × ${query}\n`)
  await scheduler.stop()
  await queue.stop(1_000)
  stopping.abort()
  await client.close()
  await service.end()
})
process.exit()
