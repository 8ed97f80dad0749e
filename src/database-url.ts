/**
 * Reads DATABASE_URL once for both drivers, so that pg-boss works in the same database as our statements.
 * Names and meanings are those of libpq. An unknown parameter is refused, because a parameter that a driver
 * ignores may have named another server.
 */
import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { ConfigurationError } from './errors.ts'
import { didYouMean } from './suggest.ts'
import { whyNot } from './trouble.ts'

export interface DatabaseAddress {
  /** A name, an IP address, or the folder of a unix socket, which begins with a slash. */
  readonly host: string
  readonly port: number
  readonly user: string
  /** Empty when the URL has none. */
  readonly password: string
  readonly database: string
  /** Always with the certificate and the host name checked. Null: without TLS, as always on a unix socket. */
  readonly tls: { readonly host: string; readonly rejectUnauthorized: true; readonly ca?: string } | null
  /** Null: the driver's own. */
  readonly connectTimeoutS: number | null
}

const PARAMETERS = 'host port user password dbname sslmode sslrootcert connect_timeout'.split(' ')
type Parameters = Readonly<Record<string, string | undefined>>

const DEFAULT_PORT = '5432'
/** `require` and `verify-ca` check as much as `verify-full`: encryption proves no server. */
const CHECKED = ['require', 'verify-ca', 'verify-full']
const NOT_A_URL =
  'must be a URL such as postgres://db.example.com:5432/storerank, with user and password before the ' +
  'host, and a % in them as %25'

/**
 * @throws ConfigurationError whose message is what comes after the name of the setting: `must …`. It holds
 *   no value, because a typing error may have put the password anywhere
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const url = readUrl(text)
  const given = readParameters(url.search)
  const host = given.host ?? (decode(url.hostname).replace(/^\[(.*)\]$/, '$1') || 'localhost')
  if (host.includes(',')) throw new ConfigurationError('must name one host: there are several')
  const { connect_timeout: timeout } = given
  const user = given.user ?? (decode(url.username) || nameOfUser())
  return {
    host,
    port: readNumber('port', given.port ?? (url.port || DEFAULT_PORT), 65_535),
    user,
    password: given.password ?? decode(url.password),
    database: given.dbname ?? (decode(readPath(text)) || user),
    tls: host.startsWith('/') ? null : readTls(host, given),
    connectTimeoutS: timeout === undefined ? null : readNumber('connect_timeout', timeout, 86_400),
  }
}

/** As libpq has it. A user of containers may have a number alone. */
function nameOfUser(): string {
  try {
    return userInfo().username
  } catch (cause) {
    const message = 'must name its user: the user of this process has a number, and no name'
    throw new ConfigurationError(message, { cause })
  }
}

function readUrl(text: string): URL {
  // The URL standard knows no login, and no port, without a host; libpq does.
  const url = URL.parse(text.replace(/^(\w+:\/\/(?:[^/?#]*@)?)(?=[:/?#]|$)/, '$1localhost'))
  if (url !== null && /^postgres(ql)?:$/.test(url.protocol) && url.hash === '') return url
  throw new ConfigurationError(NOT_A_URL)
}

/** As it is written: `URL` takes a name of one or two dots for a step between folders. */
function readPath(text: string): string {
  return /^\w+:\/\/[^/?#]*\/([^?#]*)/.exec(text)?.[1] ?? ''
}

/** A plus is a plus here, other than in the query of a web address. */
function readParameters(search: string): Parameters {
  const given: Record<string, string> = {}
  for (const pair of search.slice(1).split('&').filter(Boolean)) {
    const [name = '', ...value] = pair.split('=').map(decode)
    if (!PARAMETERS.includes(name)) throw unknownParameter(name, search)
    given[name] = value.join('=')
  }
  return given
}

function unknownParameter(name: string, search: string): ConfigurationError {
  // With an @ behind the question mark, this may be the end of a password that has a question mark in it.
  const isTold = /^\w+$/.test(name) && !search.includes('@')
  const told = isTold ? `: ${name} is none of them.${didYouMean(name, PARAMETERS)}` : ''
  return new ConfigurationError(`must have no parameters but ${PARAMETERS.join(', ')}${told}`)
}

function readTls(host: string, { sslmode = 'disable', sslrootcert }: Parameters): DatabaseAddress['tls'] {
  if (sslmode === 'disable') return null
  if (!CHECKED.includes(sslmode))
    throw new ConfigurationError(
      `must have an sslmode of disable, ${CHECKED.join(', ')} (not prefer or allow, which both let a ` +
        'server choose to go without)',
    )
  const checked = { host, rejectUnauthorized: true } as const
  if (sslrootcert === undefined || sslrootcert === 'system') return checked
  try {
    return { ...checked, ca: readFileSync(sslrootcert, 'utf8') }
  } catch (cause) {
    throw new ConfigurationError(`must have an sslrootcert that can be read: ${whyNot(cause)}`, { cause })
  }
}

function readNumber(name: string, digits: string, most: number): number {
  const value = /^\d{1,9}$/.test(digits) ? Number(digits) : 0
  if (value < 1 || value > most) {
    throw new ConfigurationError(`must have a ${name} that is a whole number from 1 to ${most}`)
  }
  return value
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ConfigurationError(NOT_A_URL)
  }
}
