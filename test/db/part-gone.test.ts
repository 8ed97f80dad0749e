/** A part of a database that a person has dropped, or that a backup lacks, is made again, or named. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { callCommand } from '../support/command.ts'
import { createTestDatabase } from '../support/database.ts'

async function dropPart(t: TestContext, part: string) {
  const database = await createTestDatabase()
  t.after(() => database.drop())
  const call = (args: string[]) => callCommand(args, { env: { DATABASE_URL: database.url } })
  // With the tables of the queue.
  assert.equal((await call(['migrate'])).code, 0)
  await database.sql.unsafe(`drop ${part} cascade`)
  return call
}

for (const part of ['view open_work', 'function disk_full_reason()', 'schema pgboss']) {
  test(`migrate makes again what it has made: the ${part}`, async (t) => {
    const call = await dropPart(t, part)
    if (part !== 'schema pgboss') {
      const { code, stderr } = await call(['status', '--check'])
      assert.equal(code, 2)
      assert.match(
        stderr,
        /^unknown: The database lacks what storerank has made there: .* `storerank migrate`/,
      )
    }
    const { code, stderr } = await call(['migrate'])
    assert.equal(code, 0, stderr)
    assert.equal((await call(['status', '--check'])).code, 0)
  })
}

test('triggers that a bulk load left disabled are told, with what makes good for them', async (t) => {
  const database = await createTestDatabase()
  t.after(() => database.drop())
  const { sql } = database
  const call = () => callCommand(['status', '--check'], { env: { DATABASE_URL: database.url } })
  await sql`alter table keyword_watch disable trigger all`
  await sql`insert into keyword_watch (project, store, keyword, location_code, language_code, depth)
    values ('bulk', 'ios_store', 'yoga', 2840, 'en', 100)`
  const { code, stdout } = await call()
  assert.equal(code, 1)
  const [, remedy = ''] = /^lost_tables: .* Enable them: (.*)$/m.exec(stdout) ?? []
  await sql.unsafe(remedy)
  assert.equal((await sql`select from watch_period`).count, 1)
  assert.doesNotMatch((await call()).stdout, /lost_tables/)
  await sql`drop table charged_price cascade`
  assert.match((await call()).stdout, /^lost_tables: .* a backup alone: charged_price\.$/m)
})

const LOST = {
  'schema drizzle': /the schema drizzle, .*backup/,
  'table drizzle.objects': /the schema drizzle, .*backup/,
  'table charge': /comes back with a backup alone/,
  'function storerank_now()': /The function storerank_now of storerank is gone, .*backup/,
  'function is_timezone(text)': /The function is_timezone of storerank is gone, .*backup/,
}

for (const [part, told] of Object.entries(LOST)) {
  test(`who has lost the ${part} is told what brings it back`, async (t) => {
    const call = await dropPart(t, part)
    for (const args of [['migrate'], ['run'], ['status', '--check']]) {
      // What looks only says what it meets.
      if (part.startsWith('function') && args[0] === 'status') continue
      const { code, stderr } = await call(args)
      assert.equal(code, 2, stderr)
      assert.match(stderr, told)
    }
  })
}
