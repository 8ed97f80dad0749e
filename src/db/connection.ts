/** How both drivers connect: to the same server, by the same rules, with the same settings of the session. */
import { type DatabaseAddress, parseDatabaseUrl } from '../database-url.ts'
import { ConfigurationError } from '../errors.ts'
import { makeSocket, openSocket } from './socket.ts'

/**
 * What our statements mean, and how values are written and read, stands on these, and each may be otherwise
 * for the login or the database. All are settings that every login may change, on PostgreSQL 15 and later.
 */
export const SEMANTIC_SETTINGS = {
  search_path: 'public',
  // Slots are UTC: adding a day must not meet a change of the clock.
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  array_nulls: 'on',
  bytea_output: 'hex',
  extra_float_digits: '1',
  quote_all_identifiers: 'off',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
}

/**
 * What answers nothing and takes longer than most of our statements do, some of them behind a lock that
 * everybody waits for.
 */
export const PLANNING_SETTINGS = {
  jit: 'off',
  // By it the check constraints of each partition are parsed for each plan: a quarter of what one keyword's
  // year takes in a history of ten years. Partitions are left out by their bounds, without it.
  constraint_exclusion: 'off',
}

/**
 * What work needs beyond that: to write, for as long as it takes, and to find after a crash what was
 * committed.
 */
export const WRITER_SETTINGS = {
  ...SEMANTIC_SETTINGS,
  ...PLANNING_SETTINGS,
  default_transaction_read_only: 'off',
  default_transaction_deferrable: 'off',
  // The locks of budget and calls stand on it: each statement sees what was committed before it.
  default_transaction_isolation: 'read committed',
  // A post is sent once its claim is committed: a claim that a crash takes back would be sent twice.
  synchronous_commit: 'on',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_session_timeout: '0',
}

/**
 * A machine that vanished says no goodbye: the server asks after so many seconds of silence, and ends its
 * session 30 s later.
 */
export const TCP_KEEPALIVE = { tcp_keepalives_idle: 60, tcp_keepalives_interval: 10, tcp_keepalives_count: 3 }

/** For postgres.js: where to, and how. Its types leave `socket` out. */
export function postgresOptions(url: string) {
  const address = parse(url)
  return {
    host: address.host,
    port: address.port,
    username: address.user,
    password: address.password,
    database: address.database,
    // What `openSocket` opens has it already.
    ssl: false,
    ...(address.connectTimeoutS === null ? {} : { connect_timeout: address.connectTimeoutS }),
    socket: () => openSocket(address),
  }
}

/** The same for pg, by which pg-boss connects. */
export function pgOptions(url: string) {
  const address = parse(url)
  const { host, port, user, password, database, connectTimeoutS } = address
  return {
    host,
    port,
    user,
    password,
    database,
    ssl: address.tls ?? false,
    ...(connectTimeoutS === null ? {} : { connectionTimeoutMillis: connectTimeoutS * 1000 }),
    stream: () => makeSocket(address),
  }
}

/**
 * The `options` of a session that begins with the settings. What its startup sets by name comes after them.
 */
export function toStartupOptions(settings: Readonly<Record<string, string | number>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${String(value).replaceAll(' ', '\\ ')}`)
    .join(' ')
}

function parse(url: string): DatabaseAddress {
  try {
    return parseDatabaseUrl(url)
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    throw new ConfigurationError(`DATABASE_URL ${error.message}.`, { cause: error })
  }
}
