/** What the view `open_work` tells of the runners and of the server, to one who may only read. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Transaction } from '../../src/db/database.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
before(async () => {
  database = await createTestDatabase()
})
after(() => database.drop())

async function ask(sql: Transaction | TestDatabase['sql'], kind: string) {
  const [row] = await sql<{ count: string; message: string | null }[]>`
    select count, message from open_work where kind = ${kind}`
  return { count: Number(row?.count), message: row?.message }
}

test('a server that cannot write is told of by reading', async () => {
  assert.deepEqual(await ask(database.sql, 'no_room'), { count: 0, message: null })
  await database.sql.begin(async (tx) => {
    await tx`set local temp_file_limit = 0`
    await tx`set local role storerank_reader`
    const { count, message } = await ask(tx as unknown as Transaction, 'no_room')
    assert.equal(count, 1)
    assert.match(message ?? '', /^The database server cannot write: temporary file size exceeds .*Make room/)
  })
})

test('runners that have planned nothing for longer than the shortest watch lasts are told of', async () => {
  const { sql } = database
  const told = async () => (await ask(sql, 'no_run')).count
  const ran = (ago: string) => sql`
    insert into job_run (job, slot, state, ended_at)
    values ('track', clock_timestamp() - ${ago}::text::interval, 'done', clock_timestamp() - ${ago}::text::interval)`
  assert.equal(await told(), 0)
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code, every)
    values ('p', 'ios_store', 'yoga', 2840, 'en', '6 hours')`
  assert.match((await ask(sql, 'no_run')).message ?? '', /start `storerank start`, or look why the cron job/)
  await ran('7 hours 10 minutes')
  assert.equal(await told(), 1)
  await ran('6 hours 50 minutes')
  assert.equal(await told(), 0)
})
