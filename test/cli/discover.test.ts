/** `storerank discover` as a person runs it: what it proposes for nothing, and what it buys on request. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { startSandbox } from '../../src/sandbox/server.ts'
import { callCommand } from '../support/command.ts'
import { createTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { settingsOf } from '../support/sandbox-process.ts'

const ACCOUNT = { login: 'somebody@example.com', password: 'hush-Kd83-quiet' }
const folder = mkdtempSync(join(tmpdir(), 'storerank-discover-'))
const sandbox = lasting(async () => {
  const server = await startSandbox({ readyMs: 0, ...ACCOUNT })
  return { url: server.url, drop: () => server.close() }
})
const database = lasting(createTestDatabase)
const callAt = (databaseUrl: string, serviceUrl: string, args: readonly string[]) =>
  callCommand([...args], { env: { ...settingsOf(databaseUrl, serviceUrl, ACCOUNT), LOG_LEVEL: 'error' } })
const call = (...args: string[]) => callAt(database.url, sandbox.url, args)
const discover = (...args: string[]) => call('discover', '--project', 'fitness', ...args)
const spent = async () => {
  const [row] = await database.sql`select coalesce(sum(amount_micros), 0)::int as micros from charge`
  return row?.micros
}

const WATCH = ['watch', 'yoga', '--project', 'fitness', '--app', '1480010017', '--store', 'ios']

before(async () => {
  const watched = await call(...WATCH)
  assert.equal(watched.code, 0, watched.stderr)
  const ran = await call('run')
  assert.equal(ran.code, 0, ran.stderr)
})

test('proposes what the apps on its lists are called, for nothing, as a file that is imported', async () => {
  const before = await spent()
  const file = join(folder, 'found.csv')
  const { code, stdout, stderr } = await discover('--out', file)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /│ ios +│ hatha yoga studio +│ United States │ en +│/)
  assert.equal(await spent(), before)
  assert.match(readFileSync(file, 'utf8'), /^fitness,ios_store,hatha yoga studio,2840,en,discovered$/m)
  const tried = await call('import', '--trial', file)
  assert.equal(tried.code, 0, tried.stderr)
  rmSync(folder, { recursive: true })
  const none = await discover('--country', 'Germany')
  assert.match(none.stdout, /^Nothing to propose: of the last month no keyword of fitness has results/)
  assert.match((await call('discover', '--project', 'fitnes')).stderr, /no project "fitnes"\. Did you mean/)
})

test('measures the best of them once, at a price said before, within the budget', async () => {
  const before = await spent()
  const asked = await discover('--probe', '2')
  assert.equal(asked.code, 2)
  assert.match(asked.stderr, /Nothing was bought: Measuring 2 keywords once costs \$0\.0024 at most/)
  assert.equal(await spent(), before)
  const bought = await discover('--probe', '2', '--yes', '--json')
  assert.equal(bought.code, 0, bought.stderr)
  const { candidates, probed } = JSON.parse(bought.stdout)
  assert.deepEqual(
    probed.map(({ keyword }: { keyword: string }) => keyword).sort(),
    candidates
      .slice(0, 2)
      .map(({ keyword }: { keyword: string }) => keyword)
      .sort(),
  )
  for (const { isMeasured, results, depth } of probed)
    assert.deepEqual([isMeasured, results > 0, depth], [true, true, 100])
  assert.equal(await spent(), before + 2400)
  // They weigh nothing, and are not bought again.
  const rows =
    await database.sql`select distinct enabled, weight from keyword_watch where 'probe' = any(tags)`
  assert.deepEqual([...rows], [{ enabled: false, weight: 0 }])
  await call('run')
  assert.equal(await spent(), before + 2400)

  await database.sql`update project set daily_usd = 0.0001`
  const short = await discover('--probe', '3', '--yes')
  assert.equal(short.code, 1)
  assert.match(short.stdout, /not measured/)
  assert.equal(await spent(), before + 2400)
  await database.sql`update project set daily_usd = null`
})

test("asks for titles of the service's listings, at a price said before, where it has them", async () => {
  const before = await spent()
  assert.match((await discover('--listings', 'pilates')).stderr, /listings of ios costs \$0\.02 at most/)
  const refused = await discover('--listings', 'meditation', '--yes')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /It does not offer it/)
  assert.equal(await spent(), before)
})

test('proposes what the listings are called, from a service that offers them', async (t) => {
  const other = await createTestDatabase()
  t.after(() => other.drop())
  const sold = await startSandbox({ readyMs: 0, ...ACCOUNT, deviations: ['endpoints'] })
  t.after(() => sold.close())
  const found = async (...args: string[]) => {
    const asked = await callAt(other.url, sold.url, args)
    assert.equal(asked.code, 0, asked.stderr)
    return asked.stdout
  }
  await found(...WATCH)
  await found('run')
  const listed = /│ guided meditation +│/
  assert.doesNotMatch(await found('discover', '--project', 'fitness'), listed)
  assert.match(
    await found('discover', '--project', 'fitness', '--listings', 'meditation', '--yes', '--limit', '80'),
    listed,
  )
  const [row] = await other.sql`
    select sum(c.amount_micros)::int as micros from charge c join target t on t.id = c.target_id
    where t.function = 'app_listings'`
  assert.ok(row?.micros > 10_000)
})
