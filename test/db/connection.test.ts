/**
 * Where DATABASE_URL leads: statements of ours and of pg-boss go to the same database, by TCP, TLS or a unix
 * socket.
 */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { openDatabase } from '../../src/db/database.ts'
import { chownTo } from '../../src/embedded/binaries.ts'
import { type Cluster, openCluster } from '../../src/embedded/cluster.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { CERTIFICATE, KEY } from '../support/certificate.ts'
import { attach, makeEmptyHome } from '../support/embedded.ts'

/**
 * An embedded server with settings of the test, prepared before it starts; its folder, and its URL in parts.
 */
async function startServer(
  t: TestContext,
  settings: (folder: string) => Record<string, string>,
  prepare: (cluster: Cluster) => Promise<void> = async () => {},
) {
  const home = await makeEmptyHome(t)
  const cluster = await openCluster(home, settings(join(home, 'postgres')))
  await prepare(cluster)
  const { url } = await attach(t, home)
  return { folder: cluster.folder, url: new URL(url) }
}

/** How the sessions of both drivers got there, once each has done something. */
async function connect(t: TestContext, url: string) {
  const db = openDatabase(url)
  t.after(() => db.close())
  // As `migrate` makes it.
  await db.sql`create schema if not exists pgboss`
  const queue = await openQueue(url, pino({ level: 'silent' }))
  t.after(() => queue.stop(0))
  // A session of the queue that is just ending has no database any more.
  return db.sql<{ name: string; database: string; isLocal: boolean; isEncrypted: boolean }[]>`
    select distinct application_name as name, datname as database, client_addr is null as "isLocal",
      ssl as "isEncrypted"
    from pg_stat_activity join pg_stat_ssl using (pid) where application_name in ('storerank',
      'storerank queue') and datname is not null
    order by 1`
}

test('a unix socket, in each of the ways that libpq has to name one', async (t) => {
  const { folder, url } = await startServer(t, (path) => ({ unix_socket_directories: path }))
  const login = `storerank:${url.password}`
  for (const each of [
    `postgres://${login}@/storerank?host=${folder}&port=${url.port}`,
    `postgres://${login}@${encodeURIComponent(folder)}:${url.port}/storerank`,
    // Not what listens on 127.0.0.1:5432.
    `postgres://127.0.0.1:5432/storerank?host=${folder}&port=${url.port}&user=storerank&password=` +
      url.password,
  ]) {
    await t.test(each.replace(url.password, 'hush'), async (t) => {
      const sessions = await connect(t, each)
      const session = { database: 'storerank', isLocal: true, isEncrypted: false }
      assert.deepEqual(
        [...sessions],
        [
          { name: 'storerank', ...session },
          { name: 'storerank queue', ...session },
        ],
      )
    })
  }
})

/** Speaks TLS, and then asks for the password in clear text. */
async function offerTls({ dataDirectory, account }: Cluster): Promise<void> {
  const rules = join(dataDirectory, 'pg_hba.conf')
  await writeFile(rules, `hostssl all all 127.0.0.1/32 password\n${await readFile(rules, 'utf8')}`)
  await writeFile(join(dataDirectory, 'server.crt'), CERTIFICATE)
  await writeFile(join(dataDirectory, 'server.key'), KEY, { mode: 0o600 })
  if (account !== undefined) await chownTo(account, dataDirectory)
}

test('TLS to a server whose certificate names it, which may ask for the password as it likes', async (t) => {
  const { folder, url } = await startServer(t, () => ({ ssl: 'on' }), offerTls)
  const authority = encodeURIComponent(join(folder, 'data', 'server.crt'))
  for (const host of ['127.0.0.1', 'localhost']) {
    url.host = `${host}:${url.port}`
    url.search = `sslmode=verify-full&sslrootcert=${authority}`
    const session = { database: 'storerank', isLocal: false, isEncrypted: true }
    assert.deepEqual(
      [...(await connect(t, url.href))],
      [
        { name: 'storerank', ...session },
        { name: 'storerank queue', ...session },
      ],
    )
  }

  url.search = 'sslmode=require'
  const db = openDatabase(url.href)
  t.after(() => db.close())
  await assert.rejects(db.sql`select 1`, { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  const log = pino({ level: 'silent' })
  await assert.rejects(openQueue(url.href, log), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
})
