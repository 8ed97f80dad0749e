/**
 * `storerank check` as a person with an account runs it: what it prints, what it buys, and what it does not.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startSandbox } from '../../src/sandbox/server.ts'
import { AppDataClient } from '../../src/service/client.ts'
import { shortenCallWindow } from '../support/call-window.ts'
import { callCommand } from '../support/command.ts'
import { createTestDatabase } from '../support/database.ts'
import { settingsOf } from '../support/sandbox-process.ts'

const ACCOUNT = { login: 'somebody@example.com', password: 'hush-Kd83-quiet' }

/** A database of one's own, and an account at a service as it is sold. */
async function setUp(t: TestContext) {
  const limits = { readyListsPerMinute: 1_000, idListsPerMinute: 1_000, statusPerMinute: 1_000 }
  const sandbox = await startSandbox({ readyMs: 0, asSold: true, ...ACCOUNT, ...limits })
  t.after(() => sandbox.close())
  const database = await createTestDatabase()
  t.after(() => database.drop())
  // Several checks within a minute would wait for its end.
  await shortenCallWindow(database.sql, 1_000)
  const env = { ...settingsOf(database.url, sandbox.url, ACCOUNT), APP_DATA_STORES: 'apple,google' }
  const client = new AppDataClient({ baseUrl: sandbox.url, ...ACCOUNT })
  t.after(() => client.close())
  /** What the account has paid, in micro-dollars. */
  const charged = async () => 1_000_000_000 - ((await client.getUserData()).balanceMicros ?? 0)
  return { database, env, run: (...args: string[]) => callCommand(args, { env }), charged }
}

test('says what differs without buying, and nothing that a report of an error must not hold', async (t) => {
  const { run, charged } = await setUp(t)
  const { code, stdout } = await run('check', '--json')
  assert.equal(code, 0)
  const { findings } = JSON.parse(stdout) as { findings: { about: string; verdict: string }[] }
  assert.equal(findings.find(({ about }) => about === 'limits')?.verdict, 'differs')
  assert.equal(findings.find(({ about }) => about === 'form of results')?.verdict, 'unknown')
  for (const secret of [...Object.values(ACCOUNT), 'weather']) assert.ok(!stdout.includes(secret))
  assert.equal(await charged(), 0)
})

test('buys one keyword of each store once, as an ordinary measurement', async (t) => {
  const { database, run, charged } = await setUp(t)
  const asked = await run('check', '--buy')
  assert.equal(asked.code, 2)
  assert.match(asked.stderr, /it costs \$0\.0024 at most\. Say --yes/)
  assert.equal(await charged(), 0)
  const bought = await run('check', '--buy', '--yes')
  assert.equal(bought.code, 0)
  assert.match(bought.stdout, /ios_store: measured in \d+ s, with \d+ results; charged \$0\.0012/)
  assert.match(bought.stdout, /form of results: differs\. Items are app_store_search_organic/)
  assert.equal((await run('check', '--buy', '--yes')).code, 0)
  assert.equal(await charged(), 2400)
  const rows = await database.sql`select from ranking where captured_at is not null`
  assert.equal(rows.count, 2)
  const watched = await database.sql`select from keyword_watch where enabled`
  assert.equal(watched.count, 0)
})

test('buys nothing where a run would buy other things with it', async (t) => {
  const { database, run, charged } = await setUp(t)
  await database.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('fitness', 'ios_store', 'yoga', 2840, 'en')`
  const { code, stderr } = await run('check', '--buy', '--yes')
  assert.equal(code, 2)
  assert.match(stderr, /this database watches more, which would be bought with it/)
  assert.equal(await charged(), 0)
})

test('ends with 1 and says what to mend where nothing can be bought', async (t) => {
  const { env, run } = await setUp(t)
  env.APP_DATA_STORES = 'ios_store,android_store'
  const { code, stdout } = await run('check')
  assert.equal(code, 1)
  assert.match(stdout, /Set APP_DATA_STORES=apple,google\.\n1 thing must be mended/)
})

test('is named once by a run on an account that it never saw', async (t) => {
  const { run } = await setUp(t)
  assert.match((await run('run', 'account')).stderr, /storerank check/)
  assert.doesNotMatch((await run('run', 'account')).stderr, /storerank check/)
})
