/**
 * How long `storerank run` takes for a day of keywords from the first call to the last result, beside the
 * least that the service's limits allow: the sandbox keeps them, and each call takes as long as it took in
 * this run. It ends by itself, after about three minutes for 5,000 keywords. With `--lifted` the calls of a
 * minute are no limit, the ready lists of a minute and the requests at once are: then it is held against how
 * long it stands still.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { JOBS } from '../../jobs/index.ts'
import { createCallGate } from '../../src/db/call-gate.ts'
import type { Database } from '../../src/db/database.ts'
import { runCycle } from '../../src/queue/cycle.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { CALL_LIMITS } from '../../src/sandbox/limits.ts'
import { AppDataClient } from '../../src/service/client.ts'
import { STORES_AS_SOLD } from '../../src/service/dialect.ts'
import { MAX_READY_ROWS } from '../../src/service/ready-list.ts'
import { TIMINGS } from '../../src/timings.ts'
import { printBars } from './bars.ts'
import { withDatabase } from './database.ts'
import { startSandbox } from './sandbox.ts'
import { SETTINGS } from './settings.ts'

const { values } = parseArgs({
  options: {
    keywords: { type: 'string', default: '5000' },
    ready: { type: 'string', default: '2000' },
    lifted: { type: 'boolean', default: false },
    'as-sold': { type: 'boolean', default: false },
  },
})
const KEYWORDS = Number(values.keywords)
/** How long the longest task takes at the service; the shortest takes half. */
const READY_MS = Number(values.ready)
const ACCESS = {
  login: 'sandbox',
  password: 'sandbox',
  ...(values['as-sold'] ? { stores: STORES_AS_SOLD } : { unlistedMs: 0 }),
}
/** More than any machine makes. */
const LIFTED_CALLS = 1_000_000
const CALLS_PER_MINUTE = values.lifted ? LIFTED_CALLS : CALL_LIMITS.callsPerMinute
const MINUTE_S = 60
const WAIT_MS = 1_800_000
const COMMAND = join(import.meta.dirname, '../../src/cli/storerank.js')

interface Calls {
  readonly calls: number
  /** From the first permit to the end of the last result. */
  readonly seconds: number
  /** Of these, in which no call was on its way. */
  readonly idleSeconds: number
  /** Half of the results took no longer. */
  readonly resultMs: number
  readonly lists: number
  readonly results: number
}

/**
 * Pure: the least time in which so many results can be had. All tasks are posted at once, the first result
 * can be had when the shortest task is done, calls follow as closely as the limit of a minute and the
 * requests at once allow, and those of the next minute begin when those of the last have left it.
 */
function leastSeconds(results: number, callMs: number): number {
  const posts = Math.ceil(results / TIMINGS.tasksPerPost)
  const calls = posts + Math.ceil(results / MAX_READY_ROWS) + results
  const fullMinutes = Math.ceil(calls / CALLS_PER_MINUTE) - 1
  const left = calls - fullMinutes * CALLS_PER_MINUTE
  const leftSeconds = (left * callMs) / 1000 / CALL_LIMITS.requestsInFlight
  return READY_MS / 2 / 1000 + fullMinutes * MINUTE_S + leftSeconds
}

/** Returns its exit code. */
async function runCommand(db: Database, url: string): Promise<number> {
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: db.url,
    APP_DATA_URL: url,
    APP_DATA_LOGIN: 'sandbox',
    APP_DATA_PASSWORD: 'sandbox',
    MAX_USD_PER_DAY: '1000',
    ...(values['as-sold'] && { APP_DATA_STORES: Object.values(STORES_AS_SOLD).join() }),
  }
  const child = spawn(process.execPath, [COMMAND, 'run', '--wait', '30m'], {
    env,
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  const [exitCode] = await once(child, 'exit')
  return exitCode
}

/** The same cycle, with a setting that the command refuses. Returns 0 as it would. */
async function runLifted(db: Database, url: string): Promise<number> {
  const { signal } = new AbortController()
  const log = pino({ level: 'silent' })
  const settings = { ...SETTINGS, callsPerMinute: CALLS_PER_MINUTE }
  const gate = createCallGate(db, { ...settings, runner: 'bench' }, signal)
  const client = new AppDataClient({ baseUrl: url, ...ACCESS, gate })
  const queue = await openQueue(db.url, log)
  const context = { db, client, queue, settings, runner: 'bench', log, signal }
  const { outstanding } = await runCycle(context, await startRunner(context, []), JOBS, {
    waitMs: WAIT_MS,
    onPhase: () => {},
    onProgress: () => {},
  })
  await queue.stop(1_000)
  await client.close()
  return outstanding.posted === 0 ? 0 : 1
}

await withDatabase(async (db) => {
  const asSold = values['as-sold']
  const sandbox = await startSandbox({ readyMs: READY_MS, callsPerMinute: CALLS_PER_MINUTE, asSold })
  await db.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'bench', 'ios_store', 'yoga ' || n, 2840, 'en' from generate_series(1, ${KEYWORDS}::int) n`
  const startedMs = performance.now()
  const exitCode = await (values.lifted ? runLifted(db, sandbox.url) : runCommand(db, sandbox.url))
  const wholeSeconds = (performance.now() - startedMs) / 1000
  await sandbox.end()
  const [made] = await db.sql<Calls[]>`
    select count(*) as calls, count(*) filter (where kind = 'tasks_ready') as lists, count(*)
      filter (where kind = 'task_get') as results,
      extract(epoch from max(ended_at) filter (where kind = 'task_get') - min(permit_at)
        filter (where kind = 'task_post'))::float8 as seconds,
      (select sum(extract(epoch from upper(gap) - lower(gap)))::float8 from unnest(
        range_merge(range_agg(tstzrange(permit_at, ended_at))
          filter (where kind in ('task_post', 'task_get')))::tstzmultirange
        - range_agg(tstzrange(permit_at, ended_at))) gap) as "idleSeconds",
      percentile_cont(0.5) within group (order by extract(epoch from ended_at - permit_at) * 1000)
        filter (where kind = 'task_get') as "resultMs"
    from api_call`
  if (made === undefined) throw new Error('An aggregate returned no row.')
  const [stored] = await db.sql<{ captures: number }[]>`
    select count(*) as captures from ranking where gap is null`
  const least = leastSeconds(KEYWORDS, made.resultMs)
  printBars(
    `storerank run of ${KEYWORDS} ` +
      `keywords${asSold ? ' as it is sold' : ''}${values.lifted ? ', calls a minute lifted' : ''} (ended ` +
      `with ${exitCode})`,
    [
      { what: 'results stored', value: stored?.captures ?? 0, unit: '', atLeast: KEYWORDS },
      { what: 'calls', value: made.calls, unit: '' },
      { what: 'of these, ready lists', value: made.lists, unit: '' },
      { what: 'half of the results took no longer than', value: made.resultMs, unit: 'ms' },
      { what: 'the least that the limits allow', value: least, unit: 's' },
      { what: 'from the first post to the last result', value: made.seconds, unit: 's' },
      {
        what: 'of these, without a call on its way',
        value: made.idleSeconds,
        unit: 's',
        // Then what is slow is this machine: nothing stands still longer than a task takes at the service.
        ...(values.lifted && { atMost: READY_MS / 1000 }),
      },
      {
        what: 'against the least',
        value: made.seconds / least,
        unit: '×',
        ...(!values.lifted && { atMost: 1.1 }),
      },
      { what: 'the command in all, with its start and its report', value: wholeSeconds, unit: 's' },
    ],
  )
})
process.exit()
