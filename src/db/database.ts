/** One runner's connections to Postgres. */
import type postgres from 'postgres'
import { TIMINGS } from '../timings.ts'
import { beginWith, GONE, postgresOptions, WORK } from './connection.ts'
import { createPool, type PoolLoad, type Sql } from './pool.ts'
import type { Types } from './statement.ts'
import type { Begin } from './transaction.ts'

export type { Sql } from './pool.ts'
export type { Transaction } from './transaction.ts'

/** A transaction, or the client itself: whatever can run a statement. */
export type SqlRunner = postgres.ISql<Types>

export interface Database {
  readonly url: string
  readonly sql: Sql
  readonly begin: Begin
  /**
   * A connection for call permits alone: a permit that waited for one of the pool would be half over when it
   * is given.
   */
  readonly permits: Sql
  /**
   * A connection of its own, for what lives as long as one; whoever opens it ends it. A reserved one of the
   * pool will not do: once it was cut the driver lends it to others, and its release then lends it twice, in
   * the middle of a transaction.
   * @param idleMs the server ends it when nothing was said for that long
   */
  openSession(idleMs: number): Sql
  /** What the connections have to do, without those for permits. */
  load(): PoolLoad
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** Shown in pg_stat_activity. */
  readonly name?: string
  readonly maxConnections?: number
}

export const CLOSE_TIMEOUT_S = 5
const OBSERVER_IDLE_S = 10
const PERMITS_IDLE_S = 60

/** Micro-dollars and counts stay far below 2^53. */
export const int8 = { to: 20, from: [20], parse: Number, serialize: String }

/** Opens lazily: no connection is made before the first statement. */
export function openDatabase(url: string, options: DatabaseOptions = {}): Database {
  const shared = {
    ...postgresOptions(url),
    onnotice: () => {},
    types: { int8 },
    connection: {
      application_name: options.name ?? 'storerank',
      options: beginWith(WORK),
      idle_in_transaction_session_timeout: TIMINGS.idleInTransactionMs,
      ...GONE,
    },
  }
  // Used when something hangs, which is when the others have no connection left.
  const observer = createPool({ ...shared, max: 1, idle_timeout: OBSERVER_IDLE_S })
  const permits = createPool({ ...shared, max: 1, idle_timeout: PERMITS_IDLE_S })
  const main = createPool({ ...shared, max: options.maxConnections ?? 10 }, observer.sql)
  return {
    url,
    sql: main.sql,
    begin: main.begin,
    permits: permits.sql,
    openSession: (idleMs) => main.openSession({ idle_session_timeout: idleMs }),
    load: main.load,
    close: async () => {
      const ending = [main, permits, observer].map(({ sql }) => sql.end({ timeout: CLOSE_TIMEOUT_S }))
      await Promise.all(ending)
    },
  }
}
