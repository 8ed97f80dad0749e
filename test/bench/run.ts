/**
 * How long `storerank run` takes for a day of keywords from the first call to the last result, beside the
 * least that the service's limits allow: the sandbox keeps them, and each call takes as long as it took in
 * this run.
 */
import type { Database } from '../../src/db/database.ts'
import { oneRow } from '../../src/db/one-row.ts'
import { Options } from '../../src/sandbox/options.ts'
import { STORES_AS_SOLD } from '../../src/service/dialect.ts'
import { MAX_READY_ROWS } from '../../src/service/task-result.ts'
import { TIMINGS } from '../../src/timings.ts'
import { settingsOf, startSandboxProcess } from '../support/sandbox-process.ts'
import { atMost, type Measured, plain } from './bars.ts'
import { runCommand } from './command.ts'

/** How long the longest task takes at the service; the shortest takes half. */
const READY_MS = 2_000
const MINUTE_S = 60

/**
 * Pure: the least time in which so many results can be had. All tasks are posted at once, the first result
 * can be had when the shortest task is done, calls follow as closely as the limit of a minute and the
 * requests at once allow, and those of the next minute begin when those of the last have left it.
 */
function leastSeconds(results: number, callMs: number): number {
  const { callsPerMinute, requestsInFlight } = Options.parse({})
  const posts = Math.ceil(results / TIMINGS.tasksPerPost)
  const calls = posts + Math.ceil(results / MAX_READY_ROWS) + results
  const fullMinutes = Math.ceil(calls / callsPerMinute) - 1
  const left = calls - fullMinutes * callsPerMinute
  return READY_MS / 2 / 1000 + fullMinutes * MINUTE_S + (left * callMs) / 1000 / requestsInFlight
}

/**
 * From the first permit to the end of the last result, the seconds of these in which no call was on its way,
 * and what half of the results took no longer than.
 */
async function readCalls(db: Database) {
  return oneRow(
    await db.sql<Record<'lists' | 'seconds' | 'idleSeconds' | 'resultMs' | 'captures', number>[]>`
    select count(*) filter (where kind = 'tasks_ready') as lists,
      extract(epoch from max(ended_at) filter (where kind = 'task_get') - min(permit_at)
        filter (where kind = 'task_post'))::float8 as seconds,
      (select sum(extract(epoch from upper(gap) - lower(gap)))::float8 from unnest(
        range_merge(range_agg(tstzrange(permit_at, ended_at))
          filter (where kind in ('task_post', 'task_get')))::tstzmultirange
        - range_agg(tstzrange(permit_at, ended_at))) gap) as "idleSeconds",
      percentile_cont(0.5) within group (order by extract(epoch from ended_at - permit_at) * 1000)
        filter (where kind = 'task_get') as "resultMs",
      (select count(*) from ranking where gap is null) as captures
    from api_call`,
  )
}

export async function measureRun(db: Database, keywords: number, asSold: boolean): Promise<Measured> {
  const sandbox = await startSandboxProcess({ readyMs: READY_MS, asSold })
  await db.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'bench', 'ios_store', 'yoga ' || n, 2840, 'en' from generate_series(1, ${keywords}::int) n`
  const startedMs = performance.now()
  const settings = {
    ...settingsOf(db.url, sandbox.url),
    MAX_USD_PER_DAY: '1000',
    ...(asSold && { APP_DATA_STORES: Object.values(STORES_AS_SOLD).join() }),
  }
  await runCommand(['run', '--wait', '30m'], settings).finally(sandbox.stop)
  const wholeSeconds = (performance.now() - startedMs) / 1000
  const { lists, resultMs, seconds, idleSeconds, captures } = await readCalls(db)
  const least = leastSeconds(keywords, resultMs)
  return {
    'results that are missing': atMost(0, keywords - captures),
    'ready lists': plain(lists),
    'half of the results took no longer than': plain(resultMs, 'ms'),
    'the least that the limits allow': plain(least, 's'),
    'from the first post to the last result': plain(seconds, 's'),
    'of these, without a call on its way': plain(idleSeconds, 's'),
    'against the least': atMost(1.1, seconds / least, '×'),
    'the command in all, with its start and its report': plain(wholeSeconds, 's'),
  }
}
