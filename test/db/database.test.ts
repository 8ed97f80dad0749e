import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../src/db/database.ts'
import { createTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const database = lasting(createTestDatabase)

test('the server ends a silent session, and within two minutes that of a vanished machine', async (t) => {
  const db = openDatabase(database.url)
  const session = db.openSession(7_000)
  t.after(() => Promise.all([session.end(), db.close()]))
  const [row] = await session<{ idle: string; after: number; every: number; times: number }[]>`
    select current_setting('idle_session_timeout') as idle,
      current_setting('tcp_keepalives_idle')::int as after,
      current_setting('tcp_keepalives_interval')::int as every,
        current_setting('tcp_keepalives_count')::int as times`
  assert.equal(row?.idle, '7s')
  assert.ok(row.after > 0 && row.after + row.every * row.times < 120, JSON.stringify(row))
  const [pooled] = await db.sql<{ after: number }[]>`
    select current_setting('tcp_keepalives_idle')::int as after`
  assert.equal(pooled?.after, row.after, 'one of the pool may hold a lock in the middle of a statement')
})
