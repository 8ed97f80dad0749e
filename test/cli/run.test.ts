/**
 * What keeps storerank from buying, as a person reads it: an outage of the service, and money that runs
 * short.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { startSandbox } from '../../src/sandbox/server.ts'
import { callCommand, commandsWith, makeCommandHome } from '../support/command.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { putFaults } from '../support/faults.ts'
import { lasting } from '../support/lasting.ts'
import { settingsOf } from '../support/sandbox-process.ts'

const ACCOUNT = { login: 'somebody@example.com', password: 'hush' }
const PLANNED = /2 tasks stay planned; the next run posts them/
const OUTAGE = /The service reports a major outage of posting since [-0-9]{10} [0-9:]{5} UTC\./

const watch = ({ sql }: TestDatabase, ...keywords: string[]) => sql`
  insert into keyword_watch (project, store, keyword, location_code, language_code)
  select 'fitness', 'ios_store', keyword, 2840, 'en' from unnest(${keywords}::text[]) keyword`

const sandbox = lasting(() => startSandbox({ readyMs: 0, ...ACCOUNT }))
const database = lasting(createTestDatabase)
before(() => watch(database, 'yoga', 'chess'))

/** Commands of the account, with other settings beside. */
const withSettings = (changes: Record<string, string> = {}) =>
  commandsWith(() => ({ ...settingsOf(database.url, sandbox.url, ACCOUNT), LOG_LEVEL: 'error', ...changes }))

test('a run in a major outage ends with 1, and says what waits since when, as status does', async () => {
  const { call, succeed } = withSettings()
  await putFaults(sandbox.url, { status: { task_post: 'major_outage' } }, ACCOUNT)
  for (const args of [['run'], ['run', 'track']]) {
    const { code, stdout, stderr } = await call(...args)
    assert.equal(code, 1, stderr)
    assert.match(stderr, OUTAGE)
    assert.match(stderr, PLANNED)
    assert.doesNotMatch(stdout, /everything due is measured/)
  }
  assert.equal((await database.sql`select from api_call where kind = 'task_post'`).length, 0)
  const stdout = await succeed('status')
  assert.match(stdout, OUTAGE)
  assert.match(stdout, /task_post +│ major_outage/)
  const { outstanding, service } = JSON.parse(await succeed('status', '--json'))
  assert.equal(outstanding.planned, 2)
  assert.ok(Date.parse(outstanding.outage.since) > 0)
  assert.deepEqual(
    service.map(({ endpoint }: { endpoint: string }) => endpoint),
    ['', 'task_post'],
  )
})

test('a run after it posts what waited, and names a budget near its end and what it migrates', async () => {
  await putFaults(sandbox.url, {}, ACCOUNT)
  await database.sql`update service_status set checked_at = checked_at - interval '1 minute'`
  await database.sql`update drizzle.objects set version = '0.2.9', hash = 'older'`
  const { call, succeed } = withSettings({ MAX_USD_PER_DAY: '0.003', LOG_LEVEL: 'warn' })
  const { stdout, stderr } = await call('run')
  assert.match(stdout, /left of MAX_USD_PER_DAY: \$0\.0006 of \$0\.003\n +MAX_USD_PER_DAY: 80 % is used\./)
  assert.match(
    stderr,
    /migrated from storerank 0\.2\.9 to \d\.\d\.\d\. Runners of the old version .* exit with 2; /,
  )
  assert.match(await succeed('status'), /\nMAX_USD_PER_DAY: 80 % is used\.\n/)
})

test('plan and run say how much of MAX_USD_PER_RUN they take', async () => {
  await watch(database, 'run', 'swim')
  const { call, succeed } = withSettings({ MAX_USD_PER_RUN: '0.002', LOG_LEVEL: 'warn' })
  const plan = await succeed('plan')
  assert.match(plan, /Would buy 1 task for \$0\.0012; the budget would cut 1 /)
  assert.match(plan, /MAX_USD_PER_RUN lets one run reserve \$0\.002\./)
  const { stdout, stderr } = await call('run')
  assert.match(stdout, /reserved by this run: \$0\.0012 of MAX_USD_PER_RUN \$0\.002\n/)
  assert.doesNotMatch(stderr, /migrated from/)
})

test('a run that the account pays nothing for ends with 3, one that a budget ends with 0', async () => {
  const poor = await startSandbox({
    readyMs: 0,
    ...ACCOUNT,
    login: 'poor@example.com',
    costLimitPerDayUsd: 0.002,
  })
  const fresh = await createTestDatabase()
  try {
    await watch(fresh, 'yoga', 'chess')
    const account = { DATABASE_URL: fresh.url, APP_DATA_URL: poor.url, APP_DATA_LOGIN: 'poor@example.com' }
    await withSettings({ ...account, MAX_USD_PER_DAY: '0.0001' }).succeed('run')
    const stopped = new RegExp(
      String.raw`^Stopped by money: the account's limit per day leaves \$0\.0008 of \$0\.002, and what is ` +
        String.raw`due costs \$0\.0012 or more a measurement \(not bought: 1\)\. Raise it with .* is over\.$`,
      'm',
    )
    for (const args of [['run'], ['run', 'track']]) await withSettings(account).refuse(args, stopped, 3)
    const [bought] = await fresh.sql`select count(*)::int as tasks from charge where kind = 'charge'`
    assert.deepEqual(bought, { tasks: 1 })
  } finally {
    await poor.close()
    await fresh.drop()
  }
})

test('each database of a home has its own account, and a brief run says what it did', async (t) => {
  const home = await makeCommandHome(t)
  const [first, second] = [await createTestDatabase(), await createTestDatabase()]
  for (const each of [first, second]) {
    t.after(() => each.drop())
    await watch(each, 'yoga')
  }
  const next = String.raw`The next slot begins at [-0-9]{10} 00:00:00Z\. 1 problem: storerank status\.\n$`
  const bought = String.raw`stored 1 result, .* \$0\.0012`
  for (const [{ url }, done] of [
    [first, bought],
    [second, bought],
    [first, 'nothing was due'],
  ] as const) {
    const ran = await callCommand(['run', '--brief'], {
      home,
      env: { DATABASE_URL: url, LOG_LEVEL: 'error' },
    })
    assert.equal(ran.code, 0, ran.stderr)
    assert.match(ran.stdout, new RegExp(`^Done: ${done}\\. ${next}`))
  }
  for (const { sql } of [first, second]) assert.equal((await sql`select from charge`).count, 1)
})

test('a setting that is nearly ours is refused where a stand-in would be used instead', async (t) => {
  const home = await makeCommandHome(t)
  for (const [env, reason] of [
    [
      { DATABASE_URI: database.url },
      /^DATABASE_URI is not .* Did you mean DATABASE_URL\? Without that, the emb/,
    ],
    [{ DATABASEURL: database.url }, /Did you mean DATABASE_URL\?/],
    [
      { DATABASE_URL: database.url, APPDATA_URL: 'x' },
      /Did you mean APP_DATA_URL\? Without that, the sandbox/,
    ],
  ] as const) {
    for (const command of ['run', 'start']) {
      const { code, stderr } = await callCommand([command], { home, env: { LOG_LEVEL: 'silent', ...env } })
      assert.equal(code, 2)
      assert.match(stderr, reason)
    }
  }
})
