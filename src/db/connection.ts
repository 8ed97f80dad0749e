/** How both drivers connect: to the same server, by the same rules, with the same settings of the session. */
import { type DatabaseAddress, parseDatabaseUrl } from '../database-url.ts'
import { ConfigurationError } from '../errors.ts'
import { makeSocket, openSocket } from './socket.ts'

/**
 * What our statements mean, and how values are written and read: a login or a database may have them
 * otherwise, and every login may change them.
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

/** These take longer than most of our statements do. */
export const PLANNING_SETTINGS = {
  jit: 'off',
  // Partitions are left out by their bounds: their CHECKs would be parsed for each plan.
  constraint_exclusion: 'off',
}

/** Work writes, for as long as it takes, and finds after a crash what was committed. */
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

/** In seconds: the server ends the session of a machine that vanished after 90 s. */
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
