/** One runner's connections to Postgres. */
import postgres from 'postgres'
import { beginWith, postgresOptions, WORK } from './connection.ts'
import { type Begin, createBegin, type Types } from './transaction.ts'

export type { Transaction } from './transaction.ts'

/** The client without its own `begin`: a transaction is `Database.begin`. */
export interface Sql
  extends postgres.ISql<Types>,
    Pick<postgres.Sql<Types>, 'options' | 'parameters' | 'reserve' | 'end'> {}
/** A transaction, or the client itself: whatever can run a statement. */
export type SqlRunner = postgres.ISql<Types>

export interface Database {
  readonly url: string
  readonly sql: Sql
  readonly begin: Begin
  /** A connection for call permits alone: a permit that waited for one of the pool would be half over when it is given. */
  readonly permits: Sql
  /**
   * A connection of its own, for what lives as long as one; whoever opens it ends it. A reserved one of the pool will not do:
   * once it was cut the driver lends it to others, and its release then lends it twice, in the middle of a transaction.
   * @param idleMs the server ends it when nothing was said for that long
   */
  openSession(idleMs: number): Sql
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** Shown in pg_stat_activity. */
  readonly name?: string
  readonly maxConnections?: number
}

/** A transaction whose runner was frozen must not hold its row locks for ever. */
const IDLE_IN_TRANSACTION_MS = 30_000
export const CLOSE_TIMEOUT_S = 5
const OBSERVER_IDLE_S = 10
const PERMITS_IDLE_S = 60
/** A machine that vanished says no goodbye: the server asks after so many seconds of silence, and ends its session 30 s later. */
const GONE = { tcp_keepalives_idle: 60, tcp_keepalives_interval: 10, tcp_keepalives_count: 3 }

/** Micro-dollars and counts stay far below 2^53. */
export const int8 = { to: 20, from: [20], parse: Number, serialize: String }

/** Opens lazily: no connection is made before the first statement. */
export function openDatabase(url: string, options: DatabaseOptions = {}): Database {
  const shared = {
    ...postgresOptions(url),
    onnotice: () => {},
    connection: {
      application_name: options.name ?? 'storerank',
      options: beginWith(WORK),
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    },
  }
  const sql = postgres({ ...shared, max: options.maxConnections ?? 10, types: { int8 } })
  // Used when something hangs, which is when the others have no connection left.
  const observer = postgres({ ...shared, max: 1, idle_timeout: OBSERVER_IDLE_S, types: { int8 } })
  const permits = postgres({ ...shared, max: 1, idle_timeout: PERMITS_IDLE_S, types: { int8 } })
  const openSession = (idleMs: number) =>
    postgres({
      ...shared,
      max: 1,
      types: { int8 },
      connection: { ...shared.connection, ...GONE, idle_session_timeout: idleMs },
    })
  return {
    url,
    sql,
    begin: createBegin(sql, observer),
    permits,
    openSession,
    close: async () => {
      await Promise.all([sql, observer, permits].map((client) => client.end({ timeout: CLOSE_TIMEOUT_S })))
    },
  }
}
