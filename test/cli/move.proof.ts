/** From the embedded database to one's own, with all that was measured and paid for. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { callCommand, makeCommandHome } from '../support/command.ts'
import { createEmptyDatabase } from '../support/database.ts'

test('what `run` has bought is moved, bought by neither again, and posted by one of them', async (t) => {
  const home = await makeCommandHome(t)
  const target = await createEmptyDatabase()
  t.after(() => target.drop())
  const env = { LOG_LEVEL: 'error' }
  const own = { home, env: { ...env, DATABASE_URL: target.url } }

  const first = await callCommand(['run'], { home, env })
  assert.equal(first.code, 0, first.stderr)
  const count = ['sql', 'select count(*)::int as n, sum(amount_micros)::int as micros from charge', '--json']
  const bought = (await callCommand(count, { home, env })).stdout
  assert.match((await callCommand(['move'], { home, env })).stderr, /DATABASE_URL is not set/)
  // As a move leaves it that was killed on its way.
  const under = `
    update ledger set recover_from = now(),
      hold_reason = 'What this database has is being moved to another one'`
  assert.equal((await callCommand(['sql', under], { home, env })).code, 0)
  const moved = await callCommand(['move'], own)
  assert.equal(moved.code, 0, moved.stderr)
  assert.match(moved.stdout, /[\d,]+ rows of \d+ tables are moved, and were compared\./)
  assert.deepEqual(JSON.parse((await callCommand(count, own)).stdout), JSON.parse(bought))
  assert.equal((await callCommand(['status'], own)).code, 0)
  assert.match((await callCommand(['move'], own)).stderr, /was moved to .* Nothing was changed/s)

  const next = await callCommand(['run'], own)
  assert.equal(next.code, 0, next.stderr)
  assert.deepEqual(JSON.parse((await callCommand(count, own)).stdout), JSON.parse(bought))
  const old = await callCommand(['run'], { home, env })
  assert.equal(old.code, 2)
  assert.match(old.stderr, /was moved to .* Nothing is posted from here/)
})

test('a home of a state that this storerank does not know is read, and not changed', async (t) => {
  const home = await makeCommandHome(t)
  const options = { home, env: { LOG_LEVEL: 'error' } }
  assert.equal((await callCommand(['run', 'references'], options)).code, 0)
  const change = `
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('fitness', 'ios_store', 'yoga', 2840, 'en');
    update drizzle.__drizzle_migrations set hash = 'x' where id = 1`
  assert.equal((await callCommand(['sql', change], options)).code, 0)
  const refused = await callCommand(['status'], options)
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /a state of storerank that was never released.*export, dump and sql/s)
  const read = await callCommand(['sql', 'select count(*) > 0 as any from project', '--json'], options)
  assert.deepEqual(JSON.parse(read.stdout), [{ any: true }], read.stderr)
  assert.match((await callCommand(['sql', 'delete from project'], options)).stderr, /read-only transaction/)
  assert.match((await callCommand(['export', 'watches'], options)).stdout, /yoga/)
  const dumped = await callCommand(['dump', join(home, 'old.sql.gz')], options)
  assert.equal(dumped.code, 0, dumped.stderr)
})
