/** `status --check`, `run --metrics`, `recover` and a heartbeat, as an operator meets them. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FaultSettingsInput } from '../../src/sandbox/faults.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { formatUsd } from '../../src/text/money.ts'
import { shortenCallWindow } from '../support/call-window.ts'
import { callCommand, commandsWith, makeCommandHome } from '../support/command.ts'
import { restoreCopy } from '../support/copy.ts'
import { createTestDatabase } from '../support/database.ts'
import { putFaults } from '../support/faults.ts'
import { endAttemptPauses } from '../support/ledger.ts'
import { settingsOf } from '../support/sandbox-process.ts'

const ACCOUNT = { login: 'operator@example.com', password: 'hush' }

test('an operator sees what is wrong, in a word for the machine and a sentence for people', async (t) => {
  const home = await makeCommandHome(t)
  mkdirSync(home)
  const database = await createTestDatabase()
  t.after(() => database.drop())
  let beats = 0
  const server = createServer((_request, response) => {
    beats += 1
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => void server.close())
  const HEARTBEAT_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/id`
  const sandbox = await startSandbox({ readyMs: 0, ...ACCOUNT })
  t.after(() => sandbox.close())
  const env = { ...settingsOf(database.url, sandbox.url, ACCOUNT), HEARTBEAT_URL, STORERANK_HOME: home }
  const { call, succeed, refuse } = commandsWith(() => env)
  const nowhere = commandsWith(() => ({ STORERANK_HOME: home, DATABASE_URL: 'postgres://x:y@127.0.0.1:9/z' }))

  assert.equal(await succeed('status', '--check'), '')

  await database.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
      values ('p', 'ios_store', 'yoga', 2840, 'en')`
  const idle = await call('status', '--check')
  assert.equal(idle.code, 1)
  assert.match(
    idle.stdout,
    /^no_run: Nothing was ever planned, and what is due waits for it: start `storerank start`/,
  )

  const file = join(home, 'storerank.prom')
  const ran = await call('run', '--metrics', file)
  assert.equal(ran.code, 0, ran.stderr)
  assert.equal(beats, 1)
  assert.match(readFileSync(file, 'utf8'), /^storerank_due_to_stored_seconds_count 1$/m)
  assert.match(ran.stderr, /"postId":"[^"]+","jobId":"[^"]+","created":1/)
  const unwritten = ['run', '--metrics', join(home, 'none', 'storerank.prom')]
  await refuse(unwritten, /storerank\.prom cannot be written: .* \(ENOENT\)/)
  assert.equal(beats, 1, 'a run that failed is no heartbeat')
  assert.deepEqual(JSON.parse(await succeed('status', '--check', '--json')), { troubles: [] })

  await database.sql`update ledger set recover_from = clock_timestamp() - interval '1 hour'`
  await refuse(['run'], /restored from an older copy.*storerank recover/)
  assert.equal(beats, 1)
  assert.match((await call('status', '--check')).stdout, /^restored: /)
  assert.match((await call('plan')).stderr, /restored from an older copy/)
  assert.match(await succeed('recover'), /Nothing in it was missing here\./)
  await succeed('status', '--check')

  await database.sql`update ledger set recover_from = clock_timestamp() - interval '1 hour'`
  await database.sql`update job_run set state = 'failed' where job = 'recover'`
  await refuse(['recover', '--apart'], /A recovery that began at .* has not ended: .*say --yes/)
  await succeed('recover', '--apart', '--yes')
  await succeed('status', '--check')

  await nowhere.refuse(['status', '--check'], /^unknown: The database cannot be reached/)
  await nowhere.refuse(['run', '--metrics', file], /The database cannot be reached/, 1)
  const figures = readFileSync(file, 'utf8').match(/^storerank_.*$/gm)
  assert.deepEqual(figures, ['storerank_database_up 0'], 'figures of an earlier run are gone')

  await database.sql`alter table call_window rename to gone`
  const lacks = /^unknown: The database lacks what storerank has .*"call_window" does not exist\. .*migrate/
  await refuse(['status', '--check'], lacks)
})

test('recover says what it charged, and which results cannot be had any more', async (t) => {
  const home = await makeCommandHome(t)
  const original = await createTestDatabase()
  t.after(() => original.drop())
  const sandbox = await startSandbox({ readyMs: 0, idListsPerMinute: 1000, ...ACCOUNT })
  t.after(() => sandbox.close())
  const call = (args: string[], { url }: { url: string }, RECONCILE_QUIET = '1ms') =>
    callCommand(args, { home, env: { ...settingsOf(url, sandbox.url, ACCOUNT), RECONCILE_QUIET } })
  const watch = (from: number, to: number) => original.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code, depth)
    select 'p', 'ios_store', 'yoga ' || n, 2840, 'en', 100 from generate_series(${from}::int, ${to}::int) n`
  const setFaults = (faults: FaultSettingsInput) => putFaults(sandbox.url, faults, ACCOUNT)

  await watch(1, 1)
  assert.equal((await call(['run'], original)).code, 0)
  const restored = await restoreCopy(original)
  t.after(() => restored.drop())
  await shortenCallWindow(restored.sql, 100)
  await setFaults({ storeError: { rate: 1 } })
  await watch(2, 2)
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    assert.equal((await call(['run'], original)).code, 0)
    await endAttemptPauses(original.sql)
  }
  await setFaults({})
  await watch(3, 4)
  assert.equal((await call(['run'], original)).code, 0)

  const recovered = await call(['recover'], restored, '10s')
  assert.equal(recovered.code, 0, recovered.stderr)
  assert.match(recovered.stderr, /"recovered":\d/)
  assert.match(
    recovered.stderr,
    /This waits until \d{4}-.*: what another copy has sent until now may still arrive\. It may be broken off/,
  )
  const [books] = await original.sql<{ tasks: number; micros: number }[]>`
    select count(distinct service_id)::int as tasks, sum(amount_micros)::int as micros from charge
    where service_id <> (select service_id from task k join target t on t.id = k.target_id
      where t.subject = 'yoga 1')`
  assert.ok(books !== undefined && books.tasks > 3)
  const spent =
    `${books.tasks} tasks were not known here: they cost ${formatUsd(books.micros)}, and are charged ` +
    'now.'
  assert.ok(recovered.stdout.includes(spent), recovered.stdout)
  assert.match(recovered.stdout, /^1 results cannot be had any more: .*40101.*$/m)
  assert.match(
    recovered.stdout,
    /^All other results are in the history\.\nPosting goes on with the next run\.$/m,
  )

  const empty = await createTestDatabase()
  t.after(() => empty.drop())
  await shortenCallWindow(empty.sql, 100)
  const held = await call(['run'], empty)
  assert.equal(held.code, 2)
  const [, other] =
    /another storerank database, (\w+ \(\d+ tasks seen, the last posted at [^)]+\))/.exec(held.stderr) ?? []
  assert.ok(other !== undefined, held.stderr)
  const taken = await call(['recover'], empty)
  const place = `This database takes the place of ${other}.`
  assert.ok(taken.stderr.includes(place), taken.stderr)
})
