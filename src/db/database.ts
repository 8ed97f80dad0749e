/** One runner's connections to Postgres. */
import { parseDatabaseUrl } from '../database-url.ts'
import { TIMINGS } from '../timings.ts'
import { postgresOptions, TCP_KEEPALIVE, toStartupOptions, WRITER_SETTINGS } from './connection.ts'
import { createPool } from './pool.ts'
import { openSession } from './session.ts'

export { isDatabaseError, type SqlRunner } from './driver.ts'
export type { Session } from './session.ts'
export type { Transaction } from './transaction.ts'

export type Database = Readonly<ReturnType<typeof openDatabase>>

export interface DatabaseOptions {
  /** Shown in pg_stat_activity. */
  readonly name?: string
  readonly maxConnections?: number
  /** Instead of host, port and name of the database. */
  readonly place?: string
  /** What the sessions may do is what this role may, for so long at a time. Default: the login's. */
  readonly role?: PersonRole
}

export type PersonRole = 'storerank_editor' | 'storerank_reader'
/** Of a statement in the name of a person. */
const PERSON_LIMIT_MS = 30_000

/** Opens lazily: no connection is made before the first statement. */
export function openDatabase(url: string, options: DatabaseOptions = {}) {
  const { name = 'storerank', maxConnections = 10, role } = options
  const settings = {
    ...WRITER_SETTINGS,
    ...TCP_KEEPALIVE,
    idle_in_transaction_session_timeout: TIMINGS.idleInTransactionMs,
    ...(role === undefined ? {} : { role, statement_timeout: PERSON_LIMIT_MS }),
    ...(role === 'storerank_reader' ? { default_transaction_read_only: 'on' } : {}),
  }
  const shared = {
    ...postgresOptions(url),
    connection: { application_name: name, options: toStartupOptions(settings) },
  }
  // Used when something hangs, which is when the others have no connection left. An old one may hang too.
  const observer = createPool({ ...shared, max: 1, idle_timeout: 10 })
  const permits = createPool({ ...shared, max: 1 })
  const main = createPool({ ...shared, max: maxConnections }, observer.sql)
  return {
    url,
    /** Where it is reached: a copy of its files is at another place. */
    place: options.place ?? placeOf(url),
    sql: main.sql,
    begin: main.begin,
    /** A connection for permits alone: one that waited for the pool would be half over when it is given. */
    permits: permits.sql,
    /**
     * A connection of its own, for what lives as long as one; whoever opens it ends it.
     * @param idleMs the server ends it when nothing was said for that long
     */
    openSession: (idleMs: number) =>
      openSession(url, { name, settings: { ...settings, idle_session_timeout: idleMs } }),
    /** What the connections have to do, without those for permits. */
    load: main.load,
    close: async () => {
      await Promise.all([main, permits, observer].map((pool) => pool.close()))
    },
  }
}

function placeOf(url: string): string {
  const { host, port, database } = parseDatabaseUrl(url)
  return `${host}:${port}/${database}`
}
