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
import { callCommand, makeCommandHome } from '../support/command.ts'
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
  const options = { home, env: { ...settingsOf(database.url, sandbox.url, ACCOUNT), HEARTBEAT_URL } }

  const well = await callCommand(['status', '--check'], options)
  assert.deepEqual([well.code, well.stdout], [0, ''])

  await database.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
      values ('p', 'ios_store', 'yoga', 2840, 'en')`
  const idle = await callCommand(['status', '--check'], options)
  assert.equal(idle.code, 1)
  assert.match(
    idle.stdout,
    /^no_run: Nothing was ever planned, and what is due waits for it: start `storerank start`/,
  )

  const file = join(home, 'storerank.prom')
  const ran = await callCommand(['run', '--metrics', file], options)
  assert.equal(ran.code, 0, ran.stderr)
  assert.equal(beats, 1)
  assert.match(readFileSync(file, 'utf8'), /^storerank_due_to_stored_seconds_count 1$/m)
  assert.match(ran.stderr, /"postId":"[^"]+","jobId":"[^"]+","created":1/)
  const unwritten = await callCommand(['run', '--metrics', join(home, 'none', 'storerank.prom')], options)
  assert.equal(unwritten.code, 2)
  assert.match(unwritten.stderr, /storerank\.prom cannot be written: .* \(ENOENT\)/)
  assert.equal(beats, 1, 'a run that failed is no heartbeat')
  const { stdout } = await callCommand(['status', '--check', '--json'], options)
  assert.deepEqual(JSON.parse(stdout), { troubles: [] })

  await database.sql`update ledger set recover_from = clock_timestamp() - interval '1 hour'`
  const held = await callCommand(['run'], options)
  assert.deepEqual([held.code, beats], [2, 1])
  assert.match(held.stderr, /restored from an older copy.*storerank recover/)
  assert.match((await callCommand(['status', '--check'], options)).stdout, /^restored: /)
  assert.match((await callCommand(['plan'], options)).stderr, /restored from an older copy/)
  const recovered = await callCommand(['recover'], options)
  assert.equal(recovered.code, 0, recovered.stderr)
  assert.match(recovered.stdout, /Nothing in it was missing here\./)
  assert.equal((await callCommand(['status', '--check'], options)).code, 0)

  await database.sql`update ledger set recover_from = clock_timestamp() - interval '1 hour'`
  await database.sql`update job_run set state = 'failed' where job = 'recover'`
  const asks = await callCommand(['recover', '--apart'], options)
  assert.equal(asks.code, 2)
  assert.match(asks.stderr, /A recovery that began at .* has not ended: .*say --yes/)
  assert.equal((await callCommand(['recover', '--apart', '--yes'], options)).code, 0)
  assert.equal((await callCommand(['status', '--check'], options)).code, 0)

  const away = await callCommand(['status', '--check'], {
    home,
    env: { DATABASE_URL: 'postgres://x:y@127.0.0.1:9/z' },
  })
  assert.equal(away.code, 2)
  assert.match(away.stderr, /^unknown: The database cannot be reached/)
  const unasked = await callCommand(['run', '--metrics', file], {
    home,
    env: { DATABASE_URL: 'postgres://x:y@127.0.0.1:9/z' },
  })
  assert.equal(unasked.code, 1, unasked.stderr)
  const figures = readFileSync(file, 'utf8').match(/^storerank_.*$/gm)
  assert.deepEqual(figures, ['storerank_database_up 0'], 'figures of an earlier run are gone')

  await database.sql`alter table call_window rename to gone`
  const broken = await callCommand(['status', '--check'], options)
  assert.equal(broken.code, 2)
  assert.match(
    broken.stderr,
    /^unknown: The database lacks what storerank has made there: .*"call_window" does not exist\. .*migrate/,
  )
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
