/** The sentences for a Postgres that cannot be reached, refuses the login, or ends a session. */
import { isOutage } from '../db/outage.ts'
import { ConfigurationError, type StorerankError, UnavailableError } from '../errors.ts'

/** What pg says of a connection that has ended, without a code. */
const PG_LOST = /^(Connection terminated|Client has encountered a connection error)/
/** SQLSTATE: out of disk, memory or another resource of the server. */
const NO_ROOM = /^53\w{3}$/
/** How a server whose disk is full refuses a login: it cannot write what it reads of its catalogues. */
const NO_ROOM_AT_LOGIN = /^could not write init file/
/** SQLSTATE: wrong login or password, no such database. */
const REFUSED = /^(28\w{3}|3D000)$/
/** Of TLS: a certificate that no known authority signed, that is of another host, or too old. */
const NOT_TRUSTED = /CERT_|_CERT$|UNABLE_TO_VERIFY/
/** SQLSTATE: protocol violation, by which poolers refuse what they do not pass on. */
const PROTOCOL = '08P01'
/** SQLSTATE: read-only transaction. The server is a standby, or its operator made its disk read-only. */
const READ_ONLY = '25006'
/** SQLSTATE: insufficient privilege. */
const NOT_ALLOWED = '42501'

/**
 * The sentence for an error that a database driver threw, wrapped or not; null when the error is about
 * something else. The service's client has sentences of its own, so a bare error of the network is the
 * database's.
 */
export function describeDatabaseTrouble(error: unknown): StorerankError | null {
  if (!(error instanceof Error)) return null
  const { code = PG_LOST.test(error.message) ? 'CONNECTION_CLOSED' : undefined } = error as { code?: unknown }
  if (typeof code !== 'string') return describeDatabaseTrouble(error.cause)
  // A name with several addresses fails with all of their errors and no message.
  const reason = error.message || code
  const options = { cause: error }
  if (code === PROTOCOL && /startup parameter/.test(reason)) {
    const message =
      'The pooler at DATABASE_URL refuses the settings with which our sessions begin: ' +
      `${reason}. Give DATABASE_URL the address of the database itself. Or, with PgBouncer in session ` +
      'mode, let it pass them by: ignore_startup_parameters = extra_float_digits, options, ' +
      'idle_in_transaction_session_timeout, idle_session_timeout, tcp_keepalives_idle, ' +
      'tcp_keepalives_interval, tcp_keepalives_count; `storerank migrate` then says what the ' +
      'login needs instead.'
    return new ConfigurationError(message, options)
  }
  if (REFUSED.test(code)) {
    const message =
      `The database refuses us: ${reason}. Check the login, the password and the name of ` +
      'the database in DATABASE_URL.'
    return new ConfigurationError(message, options)
  }
  if (NOT_TRUSTED.test(code)) {
    const message =
      `The database's certificate is not trusted: ${reason}. Give DATABASE_URL the host ` +
      'that it is of, and sslrootcert (or NODE_EXTRA_CA_CERTS) the file of the authority that signed it.'
    return new ConfigurationError(message, options)
  }
  if (code === NOT_ALLOWED) {
    const message =
      `The login of DATABASE_URL may not do that: ${reason}. The work needs the login ` +
      'that owns the tables of storerank, or may make them; those of storerank_editor and ' +
      'storerank_reader use `storerank sql`.'
    return new ConfigurationError(message, options)
  }
  if (code === READ_ONLY) {
    const message =
      'The database of DATABASE_URL takes no changes, as a standby does that follows ' +
      `another server: ${reason}. status, plan, report, export and sql work on it; what writes needs ` +
      'the address of its primary.'
    return new ConfigurationError(message, options)
  }
  if ((NO_ROOM.test(code) && !isOutage(code)) || NO_ROOM_AT_LOGIN.test(reason)) {
    const message =
      `The database server lacks what it needs: ${reason}. Make room on its disk, or give ` +
      'it more memory.'
    return new UnavailableError(message, options)
  }
  if (!isOutage(code)) return describeDatabaseTrouble(error.cause)
  const message =
    `The database cannot be reached: ${reason}. Check that the server runs and that ` +
    'DATABASE_URL names it.'
  return new UnavailableError(message, options)
}
