/** How many connections a process uses is a setting, and a limit that is lower is told with both numbers. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { describeFewConnections, shareConnections } from '../../src/db/connections.ts'
import { openDatabase } from '../../src/db/database.ts'
import { TIMINGS } from '../../src/timings.ts'
import { createEmptyDatabase } from '../support/database.ts'

test('the fewest are enough for two jobs and two statements, and all of 28 are shared', () => {
  assert.deepEqual(shareConnections(TIMINGS.fewestConnections), { statements: 2, jobs: 2 })
  assert.deepEqual(shareConnections(28), { statements: 10, jobs: 12 })
})

test('the least limit of role, database and server is told, with what to do', async (t) => {
  const database = await createEmptyDatabase()
  const role = `few_${randomBytes(6).toString('hex')}`
  await database.sql.unsafe(`create role ${role} login password 'hush' connection limit 12`)
  const url = new URL(database.url)
  Object.assign(url, { username: role, password: 'hush' })
  const db = openDatabase(url.href, { maxConnections: 1 })
  t.after(async () => {
    await db.close()
    await database.drop()
  })
  assert.equal(await describeFewConnections(db.sql, 12), null)
  assert.match(
    String(await describeFewConnections(db.sql, 28)),
    new RegExp(
      `28 connections at once, and the role ${role} allows 12\\. Set DATABASE_CONNECTIONS=12 or less`,
    ),
  )
  const { pathname } = url
  await database.sql.unsafe(`alter database "${pathname.slice(1)}" connection limit 9`)
  assert.match(
    String(await describeFewConnections(db.sql, 28)),
    /the database .* allows 9\. It works with 10/,
  )
})

test('the server ends a silent session, and within two minutes that of a vanished machine', async (t) => {
  const database = await createEmptyDatabase()
  const db = openDatabase(database.url)
  const session = db.openSession(7_000)
  t.after(async () => {
    await Promise.all([session.end(), db.close()])
    await database.drop()
  })
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
