/**
 * Transactions and statements whose session the server ends, for any driver. Run as a program it tries them
 * on postgres.js as it is, whose faults would end the tests, and prints what it saw as JSON.
 */
import { createServer, connect as dial, type Socket } from 'node:net'
import process from 'node:process'
import postgres from 'postgres'
import type { SqlRunner, Transaction } from '../../src/db/database.ts'

/** What is tried; `sql` and `begin` are of one pool. */
export interface Driver {
  readonly sql: SqlRunner
  begin(work: (tx: Transaction) => Promise<unknown>): Promise<unknown>
}

export interface Outcome {
  /** Of the transaction. */
  readonly thrown: unknown
  /** What its callback did after the loss. */
  readonly later: Promise<unknown>
}

/** Connections that another client makes meanwhile: a driver that lives answers many times over. */
const PATIENCE = 30

/**
 * Runs a transaction whose session is ended while its callback waits for something else. What the callback
 * does then begins when the transaction has already failed.
 * @param admin of another pool
 */
export async function loseSession(
  driver: Driver,
  admin: postgres.ISql,
  later: (tx: Transaction) => unknown,
): Promise<Outcome> {
  const lost = Promise.withResolvers<void>()
  const did = Promise.withResolvers<unknown>()
  did.promise.catch(() => {})
  const running = driver.begin(async (tx) => {
    await tx`insert into fact values ('inside')`
    const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    await admin`select pg_terminate_backend(${row!.pid})`
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

interface Proxy {
  readonly url: string
  /** Ends all connections, as a firewall may that restarts. */
  reset(): void
  /** Forwards nothing more on the connections that there are, and not even their end. */
  silence(): void
  close(): void
}

/** A way to the server on which connections can be lost. */
export async function startProxy(serverUrl: string): Promise<Proxy> {
  const { hostname, port } = new URL(serverUrl)
  const clients = new Map<Socket, Socket>()
  const server = createServer((client) => {
    const upstream = dial(Number(port), hostname)
    clients.set(client, upstream)
    client.pipe(upstream).pipe(client)
    client.on('close', () => {
      clients.delete(client)
      upstream.destroy()
    })
    for (const socket of [client, upstream]) socket.on('error', () => {})
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const url = new URL(serverUrl)
  url.port = String((server.address() as { port: number }).port)
  return {
    url: url.href,
    reset: () => {
      for (const client of clients.keys()) client.resetAndDestroy()
    },
    silence: () => {
      for (const [client, upstream] of clients) {
        client.unpipe()
        upstream.unpipe()
      }
    },
    close: () => {
      for (const client of clients.keys()) client.destroy()
      server.close()
    },
  }
}

/** A statement's connection is reset, and the pool is asked again at once, as a retry would. */
export async function retryAtOnce(
  driver: Driver,
  admin: postgres.ISql,
  reset: () => void,
): Promise<{ answer: Promise<unknown> }> {
  const name = await driver.sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const answer = driver.sql`select pg_sleep(600)`.catch(() => driver.begin(async (tx) => tx`select 1 as one`))
  for (let isActive = false; !isActive; ) {
    const [row] =
      await admin`select state = 'active' as "isActive" from pg_stat_activity where pid = ${name[0]!.pid}`
    isActive = row?.isActive
  }
  reset()
  return { answer }
}

/** What is tried of the driver as it is. */
const SCENARIOS: Record<string, (driver: Driver, admin: postgres.Sql, proxy: Proxy) => Promise<unknown>> = {
  /** Another statement has opened the connection again meanwhile. */
  reconnected: async (driver, admin) => {
    const { later } = await loseSession(driver, admin, async (tx) => {
      await driver.sql`select`
      await tx`insert into fact values ('outside')`
    })
    return settlingOf(later, admin)
  },
  statement: async (driver, admin) => {
    const { later } = await loseSession(driver, admin, (tx) => tx`insert into fact values ('outside')`)
    return {
      later: await settlingOf(later, admin),
      next: await driver.sql`select`.catch((error) => error.code),
    }
  },
  commit: async (driver, admin) => {
    await loseSession(driver, admin, () => 'value')
  },
  retry: async (driver, admin, { reset }) => {
    const { answer } = await retryAtOnce(driver, admin, reset)
    return settlingOf(answer, admin)
  },
}

async function settlingOf(promise: Promise<unknown>, admin: postgres.Sql): Promise<string> {
  const patience = async () => {
    for (let made = 0; made < PATIENCE; made += 1) {
      const other = postgres(admin.options as never)
      await other`select`
      await other.end()
    }
    return 'never settles'
  }
  const settled = promise.then(
    () => 'resolves',
    () => 'rejects',
  )
  return Promise.race([settled, patience()])
}

if (import.meta.main) await main(process.argv[2] ?? '', process.argv[3] ?? '')

async function main(scenario: string, url: string): Promise<void> {
  const uncaught: string[] = []
  process.on('uncaughtException', (error) => uncaught.push(error.message))
  const admin = postgres(url, { max: 1, onnotice: () => {} })
  const proxy = await startProxy(url)
  const bare = postgres(proxy.url, {
    max: 1,
    connect_timeout: 1,
    backoff: () => 0,
    onnotice: () => {},
    types: { int8: { to: 20, from: [20], parse: Number, serialize: String } },
  })
  const driver = { sql: bare, begin: bare.begin } as unknown as Driver
  const saw = await SCENARIOS[scenario]?.(driver, admin, proxy)
  const facts = await admin<{ text: string }[]>`select text from fact`
  process.stdout.write(JSON.stringify({ saw, uncaught, facts: facts.map(({ text }) => text) }))
  process.exit(0)
}
