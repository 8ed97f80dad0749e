import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { JOBS } from '../../jobs/index.ts'
import type { Config } from '../../src/config.ts'
import { UnavailableError } from '../../src/errors.ts'
import { type CycleOptions, runCycle } from '../../src/queue/cycle.ts'
import type { Job } from '../../src/queue/job.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { TIMINGS } from '../../src/timings.ts'
import { migrateLater } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { tamper } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const QUIET: CycleOptions = { waitMs: 60_000, onPhase: () => {}, onProgress: () => {} }

const world = lasting(() => createWorld({ sandbox: { statusPerMinute: 1_000 } }))

async function cycle(
  url?: string,
  options = QUIET,
  settings: Partial<Config> = {},
  jobs: readonly Job[] = JOBS,
) {
  // Each cycle begins with calls whose kind has few permits a minute.
  await world.db.sql`delete from api_call where kind = 'status'`
  const { context, stop } = await world.openRunner({ ...(url === undefined ? {} : { url }), settings })
  try {
    return await runCycle(context, await startRunner(context, []), jobs, options)
  } finally {
    await stop()
  }
}

test('one cycle measures what is watched and ends with the reports, the second buys nothing', async (t) => {
  const { sql } = world.db
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'fitness', 'ios_store', keyword, 2840, 'en' from unnest(array['yoga', 'c++', '100% free', 'naïve',
      '日本語']) keyword`
  await sql`insert into app_watch (project, store, app_id) values ('fitness', 'ios_store', '1480010017')`

  const folder = await mkdtemp(join(tmpdir(), 'storerank-cycle-'))
  t.after(() => rm(folder, { recursive: true }))
  const troubles: string[] = []
  const reportInto = (into: string) =>
    cycle(
      undefined,
      { ...QUIET, onTrouble: (problem) => troubles.push(problem) },
      { reports: { folder: into, title: null, logo: null } },
    )
  const first = await reportInto(folder)
  assert.equal(first.plan.planned, 5)
  assert.deepEqual([await readdir(folder), troubles], [['fitness.html'], []])
  const rows = await sql`select keyword, outcome, rank from rank_history order by keyword`
  assert.equal(rows.length, 5)
  assert.ok(rows.every((row) => ['ranked', 'not_in_top'].includes(row.outcome)))
  assert.ok(rows.some((row) => row.keyword === 'yoga' && row.rank <= 15))

  const second = await reportInto('/dev/null/pages')
  assert.deepEqual([second.plan.planned, second.outstanding.posted], [0, 0])
  assert.match(troubles.join(), /The reports were not written: REPORT_DIR cannot be made/)
  const [{ posted } = { posted: 0 }] =
    await sql`select count(*)::int as posted from api_call where kind = 'task_post'`
  assert.equal(posted, 1)
})

test('a database that gives no connection for a while ends no cycle that has bought', async () => {
  await world.db.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('fitness', 'ios_store', 'patience', 2840, 'en')`
  let looks = 0
  const onProgress = () => {
    looks += 1
    if (looks < 3) throw Object.assign(new Error('sorry, too many clients already'), { code: '53300' })
  }
  const { plan, outstanding } = await cycle(undefined, { ...QUIET, onProgress })
  assert.deepEqual([plan.planned, outstanding.posted, looks > 2], [1, 0, true])
})

test('a cycle is done though the rules of alerts cannot be looked at, and says so', async (t) => {
  const { sql } = world.db
  await sql`insert into alert_rule (project, name, kind, threshold)
    values ('fitness', 'moved', 'rank_moved', 1)`
  t.after(() => sql`delete from alert_rule`)
  const troubles: string[] = []
  const fail = async () => {
    throw new UnavailableError('Looking at the rules of alerts took too long.')
  }
  const jobs = JOBS.map((job) => (job.name === 'alerts' ? { ...job, run: fail } : job))
  const options = { ...QUIET, onTrouble: (problem: string) => troubles.push(problem) }
  const { outstanding } = await cycle(undefined, options, {}, jobs)
  assert.equal(outstanding.posted, 0)
  assert.deepEqual(troubles, [
    'The rules of alerts were not looked at: Looking at the rules of alerts took too long.',
  ])
  const [last] = await sql`select state from job_run where job = 'alerts' order by slot desc limit 1`
  assert.equal(last?.state, 'failed')
})

test('a cycle measures though a reader holds a month that is to be dropped, and says who', async () => {
  const { sql } = world.db
  const months = async () =>
    (
      await sql`select from pg_inherits where inhparent = 'ranking'::regclass
        and inhrelid::regclass::text = 'ranking_202501'`
    ).count
  await sql`select ensure_history_partitions('2025-01-10', '2025-01-10')`
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('fitness', 'ios_store', 'read', 2840, 'en')`
  const troubles: string[] = []
  const options = { ...QUIET, onTrouble: (problem: string) => troubles.push(problem) }
  const settings = { keep: { historyMs: 100 * 86_400_000, pagesMs: null, moneyMs: null } }
  await world.db.begin(async (reader) => {
    await reader`set local idle_in_transaction_session_timeout = 0`
    await reader`select from ranking_202501`
    assert.equal((await cycle(undefined, options, settings)).plan.planned, 1)
  })
  const measured = await sql`
    select from ranking r join target t on t.id = r.target_id where t.subject = 'read'
      and r.captured_at is not null`
  assert.equal(measured.count, 1)
  assert.equal(await months(), 1)
  assert.equal(troubles.length, 1)
  assert.match(
    troubles[0] ?? '',
    /^Housekeeping did not end well, .*Pruning the history .*\(storerank, .*ranking_202501\) holds it/,
  )
  await cycle(undefined, options, settings)
  assert.equal(await months(), 0)
  assert.equal(troubles.length, 1)
})

test('the first cycle measures without two reference lists and the account, and says so', async (t) => {
  const { sql } = world.db
  await sql`truncate job_run, account_usage, service_status`
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('fitness', 'ios_store', 'tea', 2840, 'en')`
  const lost = [
    '/v3/app_data/ios_store/languages',
    '/v3/app_data/android_store/locations',
    '/v3/appendix/user_data',
  ]
  const { url } = await tamper(
    t,
    world,
    () => undefined,
    (path) => (lost.includes(path) ? '/v3/nowhere' : path),
  )
  const troubles: string[] = []
  const { plan } = await cycle(url, { ...QUIET, onTrouble: (problem) => troubles.push(problem) })
  assert.equal(plan.planned, 1)
  const [row] = await sql`select outcome from rank_history where keyword = 'tea'`
  assert.ok(['ranked', 'not_in_top'].includes(row?.outcome))
  assert.deepEqual(troubles, [
    '2 reference lists could not be had.',
    'The account could not be asked; the plan goes by what is known.',
  ])
  const runs = await sql`select job, error from job_run where state = 'failed'`
  assert.equal(runs.length, 1)
  assert.match(runs[0]?.error, /^GET \/v3\/appendix\/user_data failed: .*\(40400\)/)
})

test('a service that answers nothing ends the cycle with the call that failed', async (t) => {
  await world.db.sql`truncate job_run, account_usage, service_status`
  const { firstRetryMs } = TIMINGS
  t.after(() => Object.assign(TIMINGS, { firstRetryMs }))
  Object.assign(TIMINGS, { firstRetryMs: 1 })
  const { url } = await tamper(t, world, () => 'nothing')
  await assert.rejects(cycle(url), {
    code: 'unavailable',
    message: /^GET \/v3\/app_data\/ios_store\/locations failed/,
  })
  await world.db
    .sql`insert into job_run (job, slot, state, ended_at) values ('references', now(), 'done', now())`
  await assert.rejects(cycle(url), { code: 'unavailable', message: /^GET \/v3\/appendix\/user_data failed/ })
})

test('a cycle that waits for results ends when a newer storerank has migrated the database', async () => {
  await world.db.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('fitness', 'ios_store', 'calm', 2840, 'en')`
  await migrateLater(world.db.sql)
  await assert.rejects(cycle(), { code: 'configuration', message: /while this one was running/ })
})
