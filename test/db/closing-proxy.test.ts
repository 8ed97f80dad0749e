/**
 * A tunnel or a proxy without a server behind it takes each connection and closes it: that is a failure, told
 * at once, and no reason to connect for ever.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { TLSSocket } from 'node:tls'
import { openDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { saysOutage } from '../../src/db/outage.ts'
import { CERTIFICATE, KEY } from '../support/certificate.ts'
import { callCommand } from '../support/command.ts'
import { makeHome } from '../support/embedded.ts'
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

for (const step of ['secure', 'data']) {
  test(`so it is when it closes after the handshake of TLS, at the event ${step}`, async (t) => {
    let connections = 0
    const server = createServer((socket) => {
      connections += 1
      socket.on('error', () => undefined)
      socket.once('data', () => {
        socket.write('S')
        const secured = new TLSSocket(socket, { isServer: true, key: KEY, cert: CERTIFICATE })
        secured.on('error', () => undefined).once(step, () => secured.end())
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const authority = join(await makeHome(t), 'authority.pem')
    await writeFile(authority, CERTIFICATE)
    const { port } = server.address() as AddressInfo
    const db = openDatabase(`postgres://me@localhost:${port}/x?sslmode=require&sslrootcert=${authority}`)
    t.after(() => db.close())
    await assert.rejects(db.sql`select 1`, saysOutage)
    assert.equal(connections, 1)
  })
}

test('a server without TLS, and an address without a network, are told like one that is away', async () => {
  const { hostname, port } = new URL(process.env.TEST_DATABASE_URL ?? '')
  for (const [address, reason] of [
    [`${hostname}:${port}/x?sslmode=require`, /does not take connections with TLS/],
    // The kernel refuses it before the driver listens.
    ['255.255.255.255:5432/x', /no network leads there|this user may not do that/],
  ] as const) {
    const { code, stderr } = await callCommand(['run'], { env: { DATABASE_URL: `postgres://me@${address}` } })
    assert.equal(code, 1, stderr)
    assert.match(stderr, reason)
  }
})
