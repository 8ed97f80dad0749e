/**
 * What becomes of transactions and statements whose session ends: with postgres.js as it is, and with ours.
 * Should a newer postgres.js pass where this one fails, look whether src/db/driver.ts and
 * src/db/transaction.ts are still needed.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, beforeEach, describe, test } from 'node:test'
import postgres from 'postgres'
import { type Database, openDatabase, type Transaction } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { lasting } from '../support/lasting.ts'
import { until } from '../support/world.ts'

const database = lasting(createEmptyDatabase)
before(async () => {
  await database.sql`create table fact (text text)`
})
beforeEach(() => database.sql`truncate fact`)

const facts = async () => (await database.sql`select text from fact`).map((row) => row.text)

test('postgres.js as it is commits what comes after the end of a session', async (t) => {
  const bare = postgres(database.url, { max: 1, onnotice: () => {} })
  t.after(() => bare.end())
  const { later } = await loseSession(bare as unknown as Database, async (tx) => {
    await bare`select`
    await tx`insert into fact values ('outside')`
  })
  await later
  assert.deepEqual(await facts(), ['outside'])
})

/**
 * Runs a transaction whose session is ended while its callback waits for something else. What the callback
 * does then begins when the transaction has already failed.
 */
async function loseSession(
  driver: Pick<Database, 'begin'>,
  later: (tx: Transaction) => unknown,
): Promise<{ readonly thrown: unknown; readonly later: Promise<unknown> }> {
  const lost = Promise.withResolvers<void>()
  const did = Promise.withResolvers<unknown>()
  did.promise.catch(() => {})
  const running = driver.begin(async (tx) => {
    await tx`insert into fact values ('inside')`
    const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    await database.sql`select pg_terminate_backend(${row!.pid})`
    await lost.promise
    const doing = (async () => later(tx))()
    did.resolve(doing)
    return doing
  })
  const thrown = await running.then(
    () => null,
    (error) => error,
  )
  lost.resolve()
  return { thrown, later: did.promise }
}

/** With one connection, so that whatever goes on meets the one that was lost. */
function open(t: { after(done: () => Promise<void>): void }, url = database.url): Database {
  const db = openDatabase(url, { maxConnections: 1 })
  t.after(() => db.close())
  return db
}

const LOST = /^(CONNECTION_CLOSED|ECONNRESET|EPIPE|57P01|25P03)$/
const REFUSED = { code: 'unavailable', message: /^The session of this transaction has ended: / }

/** What the callback of a transaction does after its session was lost. */
const LATER: Readonly<Record<string, (tx: Transaction, db: Database) => unknown>> = {
  'a statement': (tx) => tx`insert into fact values ('outside')`,
  'a statement when another one has connected again': async (tx, db) => {
    await db.sql`select`
    await tx`insert into fact values ('outside')`
  },
  'a statement with values and a fragment': (tx) => {
    const values = sql`select * from unnest(${['outside']}::text[])`
    return tx`insert into ${sql.identifier('fact')} ${values}`
  },
  'a raw statement': (tx) => tx.unsafe("insert into fact values ('outside')"),
  'a savepoint': (tx) => tx.savepoint((inner) => inner`insert into fact values ('outside')`),
  'a second statement although the first was refused': async (tx) => {
    await assert.rejects(async () => tx`insert into fact values ('outside')`, REFUSED)
    await tx`insert into fact values ('outside')`
  },
}

describe('a transaction whose session has ended', () => {
  for (const [what, later] of Object.entries(LATER)) {
    test(`is refused ${what}, and nothing of it is committed`, async (t) => {
      const db = open(t)
      const outcome = await loseSession(db, (tx) => later(tx, db))
      assert.match(String((outcome.thrown as { code?: string }).code), LOST)
      await assert.rejects(outcome.later, REFUSED)
      await assertUsable(db)
      assert.deepEqual(await facts(), [])
    })
  }

  const ends = { returns: () => 'value', throws: () => Promise.reject(new Error('mine')) }
  for (const [how, later] of Object.entries(ends)) {
    test(`rejects with the loss when its callback ${how}, and nothing is sent any more`, async (t) => {
      const db = open(t)
      const { thrown } = await loseSession(db, later)
      assert.match(String((thrown as { code?: string }).code), LOST)
      await assertUsable(db)
    })
  }

  test('rejects when it is lost in the middle of a statement, of a savepoint, and of both', async (t) => {
    const db = open(t)
    const kill = (tx: Transaction) => tx`select pg_terminate_backend(pg_backend_pid())`
    const failing = { code: LOST }
    await assert.rejects(db.begin(kill), failing)
    await assert.rejects(
      db.begin((tx) => tx.savepoint(kill)),
      failing,
    )
    const learned = Promise.withResolvers<void>()
    await assert.rejects(
      db.begin(async (tx) => {
        const inner = tx.savepoint(async (nested) => {
          await assert.rejects(async () => kill(nested), failing)
          await assert.rejects(async () => nested`insert into fact values ('outside')`, REFUSED)
        })
        await assert.rejects(inner, failing)
        learned.resolve()
      }),
      failing,
    )
    await learned.promise
    await assertUsable(db)
    assert.deepEqual(await facts(), [])
  })

  test('loses what the driver holds back behind the statement that it is lost in', async (t) => {
    const db = open(t)
    const sendAll = (tx: Transaction) =>
      Promise.all([
        tx`select pg_terminate_backend(pg_backend_pid())`,
        ...[1, 2, 3].map((n) => tx`insert into fact values (${`outside ${n}`})`),
      ])
    await assert.rejects(db.begin(sendAll), { code: LOST })
    await assertUsable(db)
    assert.deepEqual(await facts(), [])
  })

  async function assertUsable(db: Database): Promise<void> {
    const results = await Promise.all([1, 2, 3].map((one) => db.sql`select ${one}::int as one`))
    assert.deepEqual(
      results.map(([row]) => row?.one),
      [1, 2, 3],
    )
    assert.equal(
      await db.begin(async (tx) => (await tx`select ${['a', 'b']}::text[] as two`)[0]?.two[1]),
      'b',
    )
  }
})

describe('a pool that lost a session', () => {
  test('answers a transaction that begins at once', async (t) => {
    const proxy = await startDatabaseProxy(t, database.url)
    const db = open(t, proxy.url)
    const [session] = await db.sql<{ pid: number }[]>`select pg_backend_pid() as pid`
    const answer = db.sql`select pg_sleep(600)`.catch(() => db.begin(async (tx) => tx`select 1 as one`))
    await until('the statement runs', async () => {
      const rows = await database.sql`
        select from pg_stat_activity where pid = ${session!.pid} and state = 'active'`
      return rows.count === 1
    })
    proxy.reset()
    await answer
  })

  test('lets the transactions on its other connections end, and has no more of these', async (t) => {
    const name = 'the pool that lost'
    const db = openDatabase(database.url, { name, maxConnections: 3 })
    t.after(() => db.close())
    const began = Promise.withResolvers<void>()
    const over = Promise.withResolvers<void>()
    const healthy = db.begin(async (tx) => {
      await tx`insert into fact values ('healthy')`
      began.resolve()
      await over.promise
      await tx`insert into fact values ('healthy')`
    })
    await began.promise
    for (let times = 0; times < 20; times += 1) {
      await assert.rejects(db.begin((tx) => tx`select pg_terminate_backend(pg_backend_pid())`))
      await Promise.all([db.sql`select`, db.sql`select`])
    }
    over.resolve()
    await healthy
    assert.deepEqual(await facts(), ['healthy', 'healthy'])
    await until('the connections of before are closed', async () => {
      const rows = await database.sql`select from pg_stat_activity where application_name = ${name}`
      return rows.count <= 3
    })
  })

  test('goes on with a new one, also when the session that was lost had nothing to do', async (t) => {
    const db = openDatabase(database.url, { maxConnections: 2 })
    t.after(() => db.close())
    const readPids = async () => {
      const pid = () => db.sql<{ pid: number }[]>`select pg_backend_pid() as pid from pg_sleep(0.01)`
      return (await Promise.all([pid(), pid()])).map(([row]) => row!.pid)
    }
    const pids = await readPids()
    await database.sql`select pg_terminate_backend(${pids[0]!})`
    let later = pids
    await until('it is noticed', async () => {
      later = await readPids().catch(() => pids)
      return !later.includes(pids[0]!)
    })
    assert.ok(later.includes(pids[1]!))
  })

  test('keeps no process alive', async () => {
    const source = JSON.stringify(new URL('../../src/db/database.ts', import.meta.url))
    const code = `
      const { openDatabase } = await import(${source})
      const db = openDatabase(${JSON.stringify(database.url)})
      const kill = (tx) => tx\`select pg_terminate_backend(pg_backend_pid())\`
      for (let times = 0; times < 5; times += 1) await Promise.allSettled([db.begin(kill), kill(db.sql),
        db.begin(kill)])
      await db.sql\`select\`
      await db.close()`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: 'inherit' })
    assert.deepEqual(await once(child, 'exit'), [0, null])
  })
})

describe('a transaction', () => {
  test('refuses a statement that comes after its end', async (t) => {
    const db = open(t)
    const kept = await db.begin(async (tx) => ({ tx }))
    await assert.rejects(
      async () => kept.tx`insert into fact values ('outside')`,
      /came after the end of its transaction/,
    )
    await assert.rejects(
      kept.tx.savepoint(async () => {}),
      /came after the end/,
    )
    assert.deepEqual(await facts(), [])
  })

  test('throws what its callback threw, also before it returned a promise, and is rolled back', async (t) => {
    const db = open(t)
    await assert.rejects(
      db.begin(async (tx) => {
        await tx`insert into fact values ('inside')`
        throw new Error('mine')
      }),
      /^Error: mine$/,
    )
    await assert.rejects(
      db.begin(() => {
        throw new Error('early')
      }),
      /^Error: early$/,
    )
    assert.deepEqual(await facts(), [])
  })

  test('goes on after a savepoint that failed', async (t) => {
    await open(t).begin(async (tx) => {
      await tx`insert into fact values ('before')`
      await assert.rejects(
        tx.savepoint(async (inner) => {
          await inner`insert into fact values ('inside')`
          await inner`select 1 / 0`
        }),
        { code: '22012' },
      )
      await tx`insert into fact values ('after')`
    })
    assert.deepEqual(await facts(), ['before', 'after'])
  })

  test('has its limits for itself, from its first statement on', async (t) => {
    const db = open(t)
    const limits = (tx: Pick<Database, 'sql'>['sql'] | Transaction) =>
      tx`select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement`
    const inside = await db.begin(limits, { lockTimeoutMs: 1_500, statementTimeoutMs: 60_000 })
    assert.deepEqual({ ...inside[0] }, { lock: '1500ms', statement: '1min' })
    assert.deepEqual({ ...(await limits(db.sql))[0] }, { lock: '0', statement: '0' })
    await assert.rejects(
      db.begin((tx) => tx`select pg_sleep(600)`, { statementTimeoutMs: 10 }),
      { code: '57014' },
    )
  })

  test('that hangs is given up, and its session ended', async (t) => {
    const db = open(t)
    const began = Promise.withResolvers<number>()
    const hanging = db.begin(
      async (tx) => {
        const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
        began.resolve(row!.pid)
        await tx`select pg_sleep(600)`
      },
      { name: 'Planning', limitMs: 200 },
    )
    await assert.rejects(hanging, { message: 'Planning had not ended after 0.2 s, and was given up.' })
    const pid = await began.promise
    await until('its session has ended', async () => {
      const rows = await database.sql`select from pg_stat_activity where pid = ${pid}`
      return rows.count === 0
    })
    await db.sql`select`
  })

  test('that hears nothing more of the server is given up, and its connection is used no more', async (t) => {
    const proxy = await startDatabaseProxy(t, database.url)
    const db = open(t, proxy.url)
    const hanging = db.begin(
      async (tx) => {
        await tx`select`
        proxy.silence()
        await tx`select`
      },
      { limitMs: 200 },
    )
    await assert.rejects(hanging, {
      code: 'unavailable',
      message: /^A transaction had not ended after 0\.2 s/,
    })
    await db.sql`select`
  })

  test('whose callback never ends is ended by the server, and rejects', async (t) => {
    const hanging = open(t).begin(async (tx) => {
      await tx`set local idle_in_transaction_session_timeout = '10ms'`
      await new Promise(() => {})
    })
    await assert.rejects(hanging, { code: LOST })
  })
})

test('nothing but the dump of an embedded server begins a transaction of the driver or of Drizzle', () => {
  const root = join(import.meta.dirname, '..', '..')
  const sources = ['src', 'jobs'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(folder, file)),
  )
  const found = sources.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .filter((line) => /(?<!\bdb)\.begin\(|\.transaction\(|\b(tx|sql|client|session)`begin\b/i.test(line))
      .map((line) => [file, line.trim()]),
  )
  assert.deepEqual(found, [
    // COPY needs a session of the driver. That of a restore is read-only outside of this one transaction.
    ['src/embedded/dump.ts', 'await session`begin isolation level repeatable read read only`'],
    ['src/embedded/dump.ts', 'await session`begin read write`'],
  ])
})

test('a transaction that cannot connect says why', async () => {
  const nobody = openDatabase('postgres://storerank:secret@127.0.0.1:1/storerank')
  await assert.rejects(
    nobody.begin((tx) => tx`select`),
    { code: 'ECONNREFUSED' },
  )
  await nobody.close()
})

test('what is under way when a pool is closed is committed, and nothing begins any more', async () => {
  const own = openDatabase(database.url)
  let closing: Promise<void> | undefined
  await own.begin(async (tx) => {
    await tx`insert into fact values ('first')`
    closing = own.close()
    await assert.rejects(own.sql`select`.then(), { code: 'CONNECTION_ENDED' })
    await tx`insert into fact values ('second')`
  })
  await closing
  assert.deepEqual(await facts(), ['first', 'second'])
})

test('a statement that nobody awaited and that failed is no commit', async (t) => {
  const own = openDatabase(database.url)
  t.after(() => own.close())
  const begun = own.begin(async (tx) => {
    await tx`insert into fact values ('first')`
    tx`select 1 / 0`.catch(() => {})
  })
  await assert.rejects(begun, /nothing was committed/)
  assert.deepEqual(await facts(), [])
  assert.deepEqual([...(await own.sql<{ one: number }[]>`select 1 as one`)], [{ one: 1 }])
})
