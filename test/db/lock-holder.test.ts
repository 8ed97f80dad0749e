import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type Database, openDatabase, type Transaction } from '../../src/db/database.ts'
import { describeLockTimeout, endStuckSessions, readLockHolders } from '../../src/db/lock-holder.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/world.ts'

let database: TestDatabase
let person: Database
let runner: Database

before(async () => {
  database = await createTestDatabase()
  person = openDatabase(database.url, { name: 'psql of anna' })
  runner = openDatabase(database.url)
  await database.sql`insert into project (name) values ('fitness'), ('learning')`
})
after(async () => {
  await Promise.all([person.close(), runner.close()])
  await database.drop()
})

const ADVISORY = "select pg_advisory_xact_lock(hashtext('storerank'), hashtext('budget'))"
const LOCKS = {
  'an advisory lock': [ADVISORY, ADVISORY],
  'the lock of a row': [
    "update project set daily_usd = 1 where name = 'fitness' -- 'secret'",
    "update project set enabled = true where name = 'fitness'",
  ],
  'the lock of a table': ['lock table project in share mode', "insert into project (name) values ('new')"],
} as const

for (const [what, [hold, wait]] of Object.entries(LOCKS)) {
  describe(`who waits for ${what}`, () => {
    test('is shown who holds it, not who waits before him', async () => {
      const waiting: Promise<unknown>[] = []
      await person
        .begin(async (holder) => {
          await holder.unsafe(hold)
          const holderPid = await pidOf(holder)
          await holder.unsafe("select\n  'secret' as  sesame")
          for (let place = 1; place <= 2; place += 1) {
            const { pid, waited } = await waitFor(wait)
            waiting.push(waited)
            const [found, ...others] = await readLockHolders(runner.sql, pid)
            assert.equal(others.length, 0)
            assert.equal(found?.query, "select '…' as sesame")
            assert.equal(found.pid, holderPid)
            assert.equal(found?.application, 'psql of anna')
            assert.equal(found?.user, database.sql.options.user)
            assert.ok(found?.openForMs !== null && found.openForMs >= 0)
          }
          throw new Over()
        })
        .catch(unlessOver)
      await Promise.all(waiting)
    })

    test('gives up when the time is over, with a sentence that names the holder', async () => {
      const { holding, letGo, pid } = await holdInBackground(hold)
      await assert.rejects(
        runner.begin((tx) => tx.unsafe(wait), { name: 'Planning', lockTimeoutMs: 2_000 }),
        (error: Error & { code: string }) => {
          assert.equal(error.code, 'unavailable')
          assert.match(error.message, /^Planning gave up because it was not given a lock within 2 s\. /)
          const holder =
            `Process ${pid} \\(psql of anna, user ${database.sql.options.user}, transaction open for ` +
            '\\d.*, idle in transaction, since 2.*Z at: .+\\) holds it\\.'
          assert.match(error.message, new RegExp(holder))
          assert.match(error.message, new RegExp(`select pg_terminate_backend\\(${pid}\\)\\.$`))
          assert.doesNotMatch(error.message, /secret/)
          assert.equal((error.cause as { code: string }).code, '55P03')
          return true
        },
      )
      letGo()
      await holding
    })
  })
}

test('a lock that nobody holds any more has no holder to name, and a prepared transaction no process', () => {
  assert.match(describeLockTimeout('Planning', 500, []), /within 0\.5 s\. Its holder could not be seen/)
  const prepared = {
    pid: 0,
    application: null,
    user: null,
    state: null,
    openForMs: null,
    queryStart: null,
    query: null,
  }
  assert.match(describeLockTimeout('Planning', 500, [prepared]), /A prepared transaction holds it/)
})

test('what the login may not see of a session is left out', () => {
  const hidden = {
    pid: 12,
    application: 'psql',
    user: 'anna',
    state: null,
    openForMs: null,
    queryStart: null,
    query: null,
  }
  assert.match(
    describeLockTimeout('Planning', 90_000, [hidden, { ...hidden, pid: 13 }]),
    /within 90 s\. Process 12 \(psql, user anna\) holds it\. So do process 13\./,
  )
})

class Over extends Error {}
function unlessOver(error: unknown): void {
  if (!(error instanceof Over)) throw error
}

async function pidOf(tx: Transaction): Promise<number> {
  const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
  return row!.pid
}

/** Begins to wait on a connection of the runner, and is rolled back as soon as it was let through. */
async function waitFor(statement: string): Promise<{ pid: number; waited: Promise<unknown> }> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const waited = runner
    .begin(async (tx) => {
      resolve(await pidOf(tx))
      await tx.unsafe(statement)
      throw new Over()
    })
    .catch(unlessOver)
  const pid = await promise
  await until('it waits', async () => {
    const [row] = await database.sql`select from pg_locks where pid = ${pid} and not granted`
    return row !== undefined
  })
  return { pid, waited }
}

async function holdInBackground(statement: string) {
  const held = Promise.withResolvers<number>()
  const over = Promise.withResolvers<void>()
  const holding = person.begin(async (tx) => {
    await tx.unsafe(statement)
    held.resolve(await pidOf(tx))
    await over.promise
  })
  return { holding, letGo: over.resolve, pid: await held.promise }
}

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
  const way = await openLosingWay(t, database.url)
  const [lost, other] = [openDatabase(way.url), runner]
  t.after(() => lost.close())
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
