/**
 * A worker of Citus dies in the middle of a run, and is away for 40 seconds. `TEST_CITUS_STOP` and
 * `TEST_CITUS_START` are commands of a shell that stop one worker at once and start it again.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { JOBS } from '../../../jobs/index.ts'
import { distribute } from '../../../src/db/migrate.ts'
import { runCycle } from '../../../src/queue/cycle.ts'
import { startRunner } from '../../../src/queue/runner.ts'
import { createCitusDatabase, WITHOUT_CITUS } from '../../support/citus.ts'
import { createWorld, until } from '../../support/world.ts'

const KEYWORDS = 500
const AWAY_MS = 40_000
const { TEST_CITUS_STOP: stop, TEST_CITUS_START: start } = process.env
const without =
  WITHOUT_CITUS ||
  (stop === undefined || start === undefined
    ? 'TEST_CITUS_STOP and TEST_CITUS_START say not how a worker is stopped and started'
    : false)

const shell = (command: string) => promisify(execFile)('/bin/sh', ['-c', command])

test('a worker that is away for 40 seconds loses nothing, and nothing is paid or fetched twice', {
  skip: without,
}, async (t) => {
  const database = await createCitusDatabase()
  await distribute(database.url)
  const world = await createWorld({ database, settings: { callsPerMinute: 600 } })
  t.after(() => world.close())
  const { sql } = world.db
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'fitness', 'ios_store', 'yoga ' || n, 2840, 'en' from generate_series(1, ${KEYWORDS}::int) n`
  await sql`insert into app_watch (project, store, app_id) values ('fitness', 'ios_store', '1480010017')`
  // Of requests, because a permit that is not used in time has a row of `api_call` too.
  let fetched = 0
  const countFetch = (message: unknown) => {
    if ((message as { request: { path: string } }).request.path.includes('/task_get/')) fetched += 1
  }
  subscribe('undici:request:create', countFetch)
  t.after(() => unsubscribe('undici:request:create', countFetch))
  const { context, stop: end } = await world.openRunner()
  const options = { waitMs: 300_000, onPhase: () => {}, onProgress: () => {} }
  const running = runCycle(context, await startRunner(context, []), JOBS, options).finally(end)

  const count = async (state: string) =>
    (await sql<{ tasks: number }[]>`select count(*) as tasks from task where state = ${state}`)[0]?.tasks ?? 0
  await until('some results were stored', async () => (await count('collected')) >= 100)
  await shell(stop ?? '')
  await sleep(AWAY_MS)
  const whileAway = await count('collected')
  await shell(start ?? '')
  await running

  assert.ok(whileAway < KEYWORDS)
  assert.equal(await count('collected'), KEYWORDS)
  // What was prepared when the worker died is committed when Citus looks for it, within a minute.
  await until('all rows are in the history', async () => {
    const [row] = await sql<{ rows: number }[]>`select count(*) as rows from ranking_row where gap is null`
    return row?.rows === KEYWORDS
  })
  const [paid] = await sql`
    select count(*) as charges, count(distinct service_id) as tasks from charge where kind = 'charge'`
  assert.deepEqual({ ...paid }, { charges: KEYWORDS, tasks: KEYWORDS })
  assert.equal(fetched, KEYWORDS)
})
