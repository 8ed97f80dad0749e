/**
 * What `storerank start` asks of its database while nothing is due: statements a minute, over some minutes after the first one, and
 * which they are. It ends by itself, after `--minutes`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { JOBS } from '../../jobs/index.ts'
import { createCallGate } from '../../src/db/call-gate.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { startScheduler } from '../../src/queue/scheduler.ts'
import { AppDataClient } from '../../src/service/client.ts'
import { printBars } from './bars.ts'
import { withDatabase } from './database.ts'
import { startSandbox } from './sandbox.ts'
import { readServerLoad } from './server-load.ts'
import { SETTINGS } from './settings.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '2' } } })
const MINUTES = Number(values.minutes)
const MINUTE_MS = 60_000
const SHOWN = 12

await withDatabase(async (db) => {
  const stopping = new AbortController()
  const { signal } = stopping
  const log = pino({ level: 'silent' })
  const gate = createCallGate(db, { ...SETTINGS, runner: 'bench' }, signal)
  const service = await startSandbox()
  const client = new AppDataClient({ baseUrl: service.url, login: 'sandbox', password: 'sandbox', gate })
  const queue = await openQueue(db.url, log)
  const context = { db, client, queue, settings: SETTINGS, runner: 'bench', log, signal }
  await startRunner(context, JOBS)
  const scheduler = await startScheduler(context, JOBS)
  await sleep(MINUTE_MS)
  const before = await readServerLoad(db)
  await db.sql`select pg_stat_statements_reset()`
  await sleep(MINUTES * MINUTE_MS)
  const after = await readServerLoad(db)
  const most = await db.sql<{ calls: number; query: string }[]>`
    select calls, left(regexp_replace(query, '\\s+', ' ', 'g'), 100) as query from pg_stat_statements
    where dbid = (select oid from pg_database where datname = current_database()) order by calls desc limit ${SHOWN}`
  printBars('nothing is due', [
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
