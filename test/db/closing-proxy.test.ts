/**
 * A tunnel or a proxy without a server behind it takes each connection and closes it: that is a failure, told
 * at once, and no reason to connect for ever.
 */
import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { openDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { saysOutage } from '../../src/db/outage.ts'
import { callCommand } from '../support/command.ts'
import { authentication } from '../support/impostor.ts'

/** @param says before it closes the connection */
async function startProxy(t: TestContext, says: Uint8Array = Buffer.alloc(0)) {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(says))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return { address: `127.0.0.1:${port}/ranks`, count: () => connections }
}

for (const [name, query] of [
  ['plainly', ''],
  ['with TLS', '?sslmode=require'],
] as const) {
  test(`asked ${name}, it is an outage after one connection`, async (t) => {
    const proxy = await startProxy(t)
    const url = `postgres://me:secret@${proxy.address}${query}`
    const db = openDatabase(url)
    t.after(() => db.close())
    await assert.rejects(db.sql`select 1`, saysOutage)
    assert.equal(proxy.count(), 1)
    await assert.rejects(migrate(url), /takes the connection and ends it without an answer/)
    const { code, stderr } = await callCommand(['status', '--check'], { env: { DATABASE_URL: url } })
    assert.equal(code, 2)
    assert.match(stderr, /The database cannot be reached: .* ends it without an answer/)
  })
}

test('so it is when it closes in the middle of the login', async (t) => {
  const proxy = await startProxy(t, authentication(10, 'SCRAM-SHA-256\0\0').subarray(0, 12))
  const db = openDatabase(`postgres://me:secret@${proxy.address}`)
  t.after(() => db.close())
  await assert.rejects(db.sql`select 1`, saysOutage)
  assert.equal(proxy.count(), 1)
})
