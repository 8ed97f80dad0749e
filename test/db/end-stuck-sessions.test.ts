import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { openDatabase } from '../../src/db/database.ts'
import { endStuckSessions } from '../../src/db/lock-holder.ts'
import { createTestDatabase } from '../support/database.ts'
import { until } from '../support/world.ts'

/** The first byte of a message Bind, which brings the values of a statement. */
const BIND = 'B'.charCodeAt(0)

/** A way to the database on which the values of statements get lost once it is told so. */
async function openLosingWay(t: TestContext, url: string) {
  const way = new URL(url)
  const target = { host: way.hostname, port: Number(way.port) }
  const state = { isLosing: false }
  const server = createServer((near) => {
    const far = connect(target)
    near.on('data', (bytes) => {
      if (!state.isLosing || bytes[0] !== BIND) far.write(bytes)
    })
    far.pipe(near)
    near.on('error', () => far.destroy())
    far.on('error', () => near.destroy())
    near.once('close', () => far.destroy())
  })
  t.after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  way.hostname = '127.0.0.1'
  way.port = String((server.address() as AddressInfo).port)
  return Object.assign(state, { url: way.href })
}

test('a runner that falls silent between a statement and its values keeps no lock', async (t) => {
  const database = await createTestDatabase()
  t.after(() => database.drop())
  const way = await openLosingWay(t, database.url)
  const [lost, other] = [openDatabase(way.url), openDatabase(database.url)]
  t.after(() => Promise.all([lost.close(), other.close()]))
  await lost.sql`select`
  const silent = lost.begin(async (tx) => {
    await tx`select from ledger for update`
    way.isLosing = true
    await tx`select ${1}::int`
  })
  const ended = assert.rejects(silent)
  const countHalfSent = async () => {
    const rows = await other.sql`
      select from pg_stat_activity
      where datname = current_database() and state = 'active' and wait_event = 'ClientRead'
        and query like 'select $1::int%'`
    return rows.length
  }
  await until('the server waits for the values', async () => (await countHalfSent()) === 1)
  const takeLock = () => other.begin((tx) => tx`select from ledger for update nowait`)
  await assert.rejects(takeLock(), { code: '55P03' })
  assert.equal(await endStuckSessions(other.sql), 0, 'it may go on yet')
  assert.equal(await endStuckSessions(other.sql, 0), 1)
  await ended
  await until('the lock is free', () =>
    takeLock().then(
      () => true,
      () => false,
    ),
  )
})
