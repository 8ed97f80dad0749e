/**
 * Poolers and logins that cannot do what storerank needs are told of, with what to do; session pooling works.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { pino } from 'pino'
import postgres from 'postgres'
import { migrate } from '../../src/db/migrate.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { describeTrouble } from '../../src/trouble.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'

const PGBOUNCER = '/usr/sbin/pgbouncer'
const IGNORED =
  'extra_float_digits, options, idle_in_transaction_session_timeout, idle_session_timeout, ' +
  'tcp_keepalives_idle, tcp_keepalives_interval, tcp_keepalives_count'

async function createLogin(
  t: TestContext,
  options = '',
): Promise<{ url: string; login: string; database: TestDatabase }> {
  const database = await createEmptyDatabase()
  const login = `login_${randomBytes(6).toString('hex')}`
  await database.sql.unsafe(`create role ${login} login password 'hush' ${options}`)
  t.after(async () => {
    await database.sql.unsafe(`drop owned by ${login} cascade`)
    await database.sql.unsafe(`drop role ${login}`)
    await database.drop()
  })
  const url = new URL(database.url)
  Object.assign(url, { username: login, password: 'hush' })
  return { url: url.href, login, database }
}

describe('a login without rights', () => {
  test('is told each of them with its statement, and works when an administrator ran them', async (t) => {
    const { url, database } = await createLogin(t)
    const name = new URL(url).pathname.slice(1)
    await database.sql.unsafe(`revoke create, temporary on database ${name} from public`)
    const refusal = await migrate(url).then(
      () => '',
      (error: Error) => error.message,
    )
    assert.match(refusal, /lacks 4 rights: to make tables in the schema public; to make the schema drizzle/)
    await database.sql.unsafe(refusal.split('\n').slice(1).join('\n'))
    assert.equal(await migrate(url), true)
    const queue = await openQueue(url, pino({ level: 'silent' }))
    await queue.stop(0)
    assert.equal(await migrate(url), false)
  })
})

/** Starts PgBouncer before the server of a database, as an ordinary user; `url` goes through it. */
async function startPooler(t: TestContext, url: string, mode: string, settings = ''): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'pooler-'))
  chmodSync(folder, 0o777)
  const { hostname, port, username, password } = new URL(url)
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const listenPort = (free.address() as AddressInfo).port
  free.close()
  await once(free, 'close')
  writeFileSync(join(folder, 'users'), `"${username}" "${password}"\n`)
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]\n* = host=${hostname} port=${port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port ` +
      `= ${listenPort}\nunix_socket_dir =\n` +
      `auth_type = scram-sha-256\nauth_file = ${folder}/users\npool_mode = ${mode}\nlogfile = ` +
      `${folder}/log\n${settings}\n`,
  )
  const asRoot = process.getuid?.() === 0
  const child = spawn(
    PGBOUNCER,
    asRoot ? ['-u', 'nobody', join(folder, 'pgbouncer.ini')] : [join(folder, 'pgbouncer.ini')],
    { stdio: 'ignore' },
  )
  t.after(async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
    rmSync(folder, { recursive: true, force: true })
  })
  const pooled = new URL(url)
  pooled.port = String(listenPort)
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const probe = postgres(pooled.href, { max: 1, onnotice: () => undefined, connect_timeout: 1 })
    const answered = await probe`select 1`.then(
      () => true,
      (error) => error.code !== 'ECONNREFUSED',
    )
    await probe.end({ timeout: 1 })
    if (answered) return pooled.href
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('PgBouncer did not start.')
}

const tell = (url: string): Promise<string> =>
  migrate(url).then(
    () => 'migrated',
    (error) => (describeTrouble(error) ?? error).message,
  )

describe('PgBouncer', { skip: existsSync(PGBOUNCER) ? false : `${PGBOUNCER} is not installed` }, () => {
  test('that refuses the settings of a session is told of, with what it has to ignore', async (t) => {
    const { url } = await createLogin(t)
    assert.match(
      await tell(await startPooler(t, url, 'session')),
      /ignore_startup_parameters = extra_float_digits, options/,
    )
  })

  test('in transaction mode is told of in a sentence', async (t) => {
    const { url } = await createLogin(t)
    const pooled = await startPooler(t, url, 'transaction', `ignore_startup_parameters = ${IGNORED}`)
    assert.match(await tell(pooled), /^Between storerank and the database stands a pooler.*session mode\.$/)
  })

  test('in session mode works, once the login has the settings that the pooler drops', async (t) => {
    const { url, login, database } = await createLogin(t)
    await database.sql.unsafe(
      `grant create on database ${new URL(url).pathname.slice(1)} to ${login}; grant create on schema ` +
        `public to ${login}`,
    )
    const settings = `ignore_startup_parameters = ${IGNORED}`
    const refusal = await tell(await startPooler(t, url, 'session', settings))
    assert.match(refusal, /drops the settings with which our sessions begin.*\nalter role/)
    await database.sql.unsafe(refusal.split('\n').slice(1).join('\n'))
    // The first one goes on with the time zone of the session that it began with.
    const pooled = await startPooler(t, url, 'session', settings)
    assert.equal(await tell(pooled), 'migrated')
    const queue = await openQueue(pooled, pino({ level: 'silent' }))
    await queue.stop(0)
  })
})
