/**
 * `storerank check` as a person with an account runs it: what it prints, what it buys, and what it does not.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSandbox } from '../../src/sandbox/server.ts'
import { AppDataClient } from '../../src/service/client.ts'
import { shortenCallWindow } from '../support/call-window.ts'
import { commandsWith } from '../support/command.ts'
import { createTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { settingsOf } from '../support/sandbox-process.ts'

const ACCOUNT = { login: 'somebody@example.com', password: 'hush-Kd83-quiet' }

const sandbox = lasting(async () => {
  const limits = { readyListsPerMinute: 1_000, idListsPerMinute: 1_000, statusPerMinute: 1_000 }
  const { url, close } = await startSandbox({ readyMs: 0, asSold: true, ...ACCOUNT, ...limits })
  const client = new AppDataClient({ baseUrl: url, ...ACCOUNT })
  return { url, client, drop: () => client.close().then(close) }
})
const database = lasting(async () => {
  const made = await createTestDatabase()
  // Several checks within a minute would wait for its end.
  await shortenCallWindow(made.sql, 1_000)
  // All 100,000 places are loaded in test/watch/references.test.ts.
  await made.sql`
    with stores as (select unnest(array['ios_store', 'android_store']) as store),
      languages as (insert into language (store, code, name) select store, 'en', 'English' from stores),
      places as (
        insert into location (store, code, name, country_iso_code, type)
        select store, 2840, 'United States', 'US', 'Country' from stores)
    insert into job_run (job, slot, state, ended_at) values ('references', now(), 'done', now())`
  return made
})
const settings = () => ({
  ...settingsOf(database.url, sandbox.url, ACCOUNT),
  APP_DATA_STORES: 'apple,google',
})
const { call, succeed, refuse } = commandsWith(settings)
/** What the account has paid, in micro-dollars. */
const charged = async () => 1_000_000_000 - ((await sandbox.client.getUserData()).balanceMicros ?? 0)

test('is named once by a run on an account that it never saw', async () => {
  assert.match((await call('run', 'account')).stderr, /storerank check/)
  assert.doesNotMatch((await call('run', 'account')).stderr, /storerank check/)
})

test('says what differs without buying, and nothing that a report of an error must not hold', async () => {
  const stdout = await succeed('check', '--json')
  const { findings } = JSON.parse(stdout) as { findings: { about: string; verdict: string }[] }
  assert.equal(findings.find(({ about }) => about === 'limits')?.verdict, 'differs')
  assert.equal(findings.find(({ about }) => about === 'form of results')?.verdict, 'unknown')
  for (const secret of [...Object.values(ACCOUNT), 'weather']) assert.ok(!stdout.includes(secret))
  assert.equal(await charged(), 0)
})

test('ends with 1 and says what to mend where nothing can be bought', async () => {
  const wrong = commandsWith(() => ({ ...settings(), APP_DATA_STORES: 'ios_store,android_store' }))
  const { code, stdout } = await wrong.call('check')
  assert.equal(code, 1)
  assert.match(stdout, /Set APP_DATA_STORES=apple,google\.\n1 thing must be mended/)
})

test('buys nothing where a run would buy other things with it', async () => {
  await database.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('fitness', 'ios_store', 'yoga', 2840, 'en')`
  const more = /this database watches more, which would be bought with it/
  await refuse(['check', '--buy', '--yes'], more)
  assert.equal(await charged(), 0)
  await database.sql`delete from keyword_watch`
})

test('buys one keyword of each store once, as an ordinary measurement', async () => {
  await refuse(['check', '--buy'], /it costs \$0\.0024 at most\. Say --yes/)
  assert.equal(await charged(), 0)
  const bought = await succeed('check', '--buy', '--yes')
  assert.match(bought, /ios_store: measured in \d+ s, with \d+ results; charged \$0\.0012/)
  assert.match(bought, /form of results: differs\. Items are app_store_search_organic/)
  await succeed('check', '--buy', '--yes')
  assert.equal(await charged(), 2400)
  assert.equal((await database.sql`select from ranking where captured_at is not null`).count, 2)
  assert.equal((await database.sql`select from keyword_watch where enabled`).count, 0)
})
