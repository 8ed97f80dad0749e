/**
 * How long `storerank run` takes for a day of keywords from the first call to the last result, beside the least that the service's limits
 * allow: the sandbox keeps them, and each call takes as long as it took in this run. It ends by itself, after about three minutes for 5,000
 * keywords.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { CALL_LIMITS } from '../../src/sandbox/limits.ts'
import { MAX_READY_ROWS } from '../../src/service/ready-list.ts'
import { TIMINGS } from '../../src/timings.ts'
import { printBars } from './bars.ts'
import { withDatabase } from './database.ts'
import { startSandbox } from './sandbox.ts'

const { values } = parseArgs({
  options: { keywords: { type: 'string', default: '5000' }, ready: { type: 'string', default: '2000' } },
})
const KEYWORDS = Number(values.keywords)
/** How long the longest task takes at the service; the shortest takes half. */
const READY_MS = Number(values.ready)
const MINUTE_S = 60
const COMMAND = join(import.meta.dirname, '../../src/cli/storerank.js')

interface Calls {
  readonly calls: number
  /** From the first permit to the end of the last result. */
  readonly seconds: number
  /** Half of the results took no longer. */
  readonly resultMs: number
  readonly lists: number
  readonly results: number
}

/**
 * Pure: the least time in which so many results can be had. All tasks are posted at once, the first result can be had when the shortest
 * task is done, calls follow as closely as the limit of a minute and the requests at once allow, and those of the next minute begin when
 * those of the last have left it.
 */
function leastSeconds(results: number, callMs: number): number {
  const posts = Math.ceil(results / TIMINGS.tasksPerPost)
  const calls = posts + Math.ceil(results / MAX_READY_ROWS) + results
  const fullMinutes = Math.ceil(calls / CALL_LIMITS.callsPerMinute) - 1
  const left = calls - fullMinutes * CALL_LIMITS.callsPerMinute
  const leftSeconds = (left * callMs) / 1000 / CALL_LIMITS.requestsInFlight
  return READY_MS / 2 / 1000 + fullMinutes * MINUTE_S + leftSeconds
}

await withDatabase(async (db) => {
  const sandbox = await startSandbox({ readyMs: READY_MS })
  await db.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'bench', 'ios_store', 'yoga ' || n, 2840, 'en' from generate_series(1, ${KEYWORDS}::int) n`
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: db.url,
    APP_DATA_URL: sandbox.url,
    APP_DATA_LOGIN: 'sandbox',
    APP_DATA_PASSWORD: 'sandbox',
    MAX_USD_PER_DAY: '1000',
  }
  const startedMs = performance.now()
  const child = spawn(process.execPath, [COMMAND, 'run', '--wait', '30m'], {
    env,
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  const [exitCode] = await once(child, 'exit')
  const wholeSeconds = (performance.now() - startedMs) / 1000
  await sandbox.end()
  const [made] = await db.sql<Calls[]>`
    select count(*) as calls, count(*) filter (where kind = 'tasks_ready') as lists, count(*) filter (where kind = 'task_get') as results,
      extract(epoch from max(ended_at) filter (where kind = 'task_get') - min(permit_at) filter (where kind = 'task_post'))::float8 as seconds,
      percentile_cont(0.5) within group (order by extract(epoch from ended_at - permit_at) * 1000)
        filter (where kind = 'task_get') as "resultMs"
    from api_call`
  if (made === undefined) throw new Error('An aggregate returned no row.')
  const [stored] = await db.sql<{ captures: number }[]>`
    select count(*) as captures from ranking where gap is null`
  const least = leastSeconds(KEYWORDS, made.resultMs)
  printBars(`storerank run of ${KEYWORDS} keywords (ended with ${exitCode})`, [
    { what: 'results stored', value: stored?.captures ?? 0, unit: '', atLeast: KEYWORDS },
    { what: 'calls', value: made.calls, unit: '' },
    { what: 'of these, ready lists', value: made.lists, unit: '' },
    { what: 'half of the results took no longer than', value: made.resultMs, unit: 'ms' },
    { what: 'the least that the limits allow', value: least, unit: 's' },
    { what: 'from the first post to the last result', value: made.seconds, unit: 's' },
    { what: 'against the least', value: made.seconds / least, unit: '×', atMost: 1.1 },
    { what: 'the command in all, with its start and its report', value: wholeSeconds, unit: 's' },
  ])
})
process.exit()
