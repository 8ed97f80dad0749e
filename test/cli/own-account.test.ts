import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { TIMINGS } from '../../src/timings.ts'
import { callCommand, commandsWith } from '../support/command.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { books, LOGIN, PASSWORD, settings, watchKeywords, withDatabase } from './own-account-world.ts'

const { firstRetryMs } = TIMINGS
before(() => Object.assign(TIMINGS, { firstRetryMs: 1 }))
after(() => Object.assign(TIMINGS, { firstRetryMs }))

describe('with an own database and account', () => {
  test('plan and status say what a database without tables needs; a run makes them and buys nothing', () =>
    withDatabase(async (database) => {
      const { refuse } = commandsWith(() => settings(database).env)
      const lacks =
        /^The database of DATABASE_URL has no tables .* `storerank migrate` or `storerank run` first\.\n$/
      for (const command of ['plan', 'status']) await refuse([command], lacks)
      const bought = await books()
      const { code, stdout, stderr } = await callCommand(['run'], settings(database))
      assert.equal(code, 0, stderr)
      assert.match(stdout, /Bought nothing: nothing is watched\./)
      assert.doesNotMatch(stdout, /EMBEDDED|SANDBOX|psql/)
      const rows =
        await database.sql`select 1 from keyword_watch union all select 1 from app_watch union all select 1
          from project`
      assert.equal(rows.length, 0)
      assert.deepEqual(await books(), bought)
    }, createEmptyDatabase))

  test('what plan announces is what the run is charged, to the micro-dollar', () =>
    withDatabase(async (database) => {
      await watchKeywords(database)
      const plan = JSON.parse((await callCommand(['plan', '--json'], settings(database))).stdout)
      assert.ok(plan.plannedMicros > 0)
      const { code, stdout, stderr } = await callCommand(['run'], settings(database, { LOG_LEVEL: 'trace' }))
      assert.equal(code, 0, stderr)
      const [charged] = await database.sql`
        select sum(amount_micros)::int as micros, count(distinct service_id)::int as tasks from charge
          where kind = 'charge'`
      assert.deepEqual(charged, { micros: plan.plannedMicros, tasks: plan.planned })
      for (const secret of [PASSWORD, 'hush-db-72', btoa(`${LOGIN}:${PASSWORD}`)]) {
        assert.ok(!(stdout + stderr).includes(secret), 'no output has a password')
      }
    }))

  test('a wrong password is one sentence, and nothing is posted', () =>
    withDatabase(async (database) => {
      await watchKeywords(database)
      const { code, stdout, stderr } = await callCommand(
        ['run'],
        settings(database, { APP_DATA_PASSWORD: 'wrong-hush', LOG_LEVEL: 'error' }),
      )
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, /^[^\n]*APP_DATA_LOGIN and APP_DATA_PASSWORD[^\n]*\n$/)
      assert.ok(!stderr.includes('wrong-hush'))
      assert.equal((await database.sql`select from task`).length, 0)
    }))

  test('a service that is not there is one sentence', () =>
    withDatabase(async (database) => {
      const nobody = { APP_DATA_URL: 'http://127.0.0.1:1', LOG_LEVEL: 'error' }
      const { refuse } = commandsWith(() => settings(database, nobody).env)
      const unreached =
        /^GET [^\n]*ECONNREFUSED[^\n]* This is the service of APP_DATA_URL\. Check that it runs[^\n]*\n$/
      await refuse(['run'], unreached, 1)
    }))

  test('a job that only looks spends nothing, whatever waits in the queue', () =>
    withDatabase(async (database) => {
      await watchKeywords(database)
      const nobody = { APP_DATA_URL: 'http://127.0.0.1:1' }
      await callCommand(['run', 'track', '--wait', '1s'], settings(database, nobody))
      const waiting = await database.sql`select from pgboss.job where name = 'post' and state < 'completed'`
      assert.equal(waiting.length, 1)
      const looked = await callCommand(['run', 'account', 'housekeeping'], settings(database))
      assert.equal(looked.code, 0, looked.stderr)
      const tasks = await database.sql`select distinct state from task`
      assert.deepEqual([...tasks], [{ state: 'planned' }])
    }))

  test('named jobs run once, say what they did, and leave with 75 while another runner has one', () =>
    withDatabase(async (database) => {
      await watchKeywords(database)
      const tracked = await callCommand(['run', 'track', 'collect'], settings(database))
      assert.equal(tracked.code, 0, tracked.stderr)
      assert.match(tracked.stdout, /^track: \{.*"planned":6.*\}\ncollect: \{.*\}\n$/)
      const collected = await callCommand(['run', 'collect'], settings(database))
      assert.equal(collected.code, 0)
      const open = await database.sql`select from task where state <> 'collected'`
      assert.equal(open.length, 0)

      const other = await database.sql.reserve()
      await other`select hold_lock('job track')`
      const { code, stderr } = await callCommand(['run', 'track'], settings(database, { LOG_LEVEL: 'error' }))
      assert.deepEqual([code, stderr], [75, 'Another runner has the job track; nothing was done here.\n'])
      other.release()
    }))
})
