/**
 * What happened, at which party, and what to do: in one place for every error of a network, of TLS, of name
 * servers, of file systems and of Postgres. Who calls another party than the database throws sentences of
 * this file, or of its own; so an error of a network that nobody has put into words is the database's.
 */
import { ConfigurationError, StorerankError, UnavailableError } from './errors.ts'
import { shorten } from './reply.ts'

/** Below an error stand its causes, and those of each address that was tried. */
const MOST_CAUSES = 5

/** By the code of the system, of TLS or of a client, or by what its message says of one. */
type Reason = readonly [sign: RegExp, reason: string, remedy: string]

const OF_NETWORK: readonly Reason[] = [
  [/ENOTFOUND|EAI_NONAME|EAI_NODATA/, 'no name server knows its host', 'Correct the name of the host.'],
  [/EAI_AGAIN/, 'no name server answers', 'Check the network of the machine that runs storerank.'],
  [/ECONNREFUSED/, 'nothing listens there', 'Check that it runs, and the port.'],
  [/EADDRINUSE/, 'another program has that port', 'Choose another one.'],
  [
    /ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL|ENETDOWN|EHOSTDOWN/,
    'no network leads there',
    'Check the network of the machine that runs storerank.',
  ],
  [
    /CERT_|_CERT|UNABLE_TO_(VERIFY|GET)|certificate/i,
    'its certificate is not trusted',
    'Name the host that the certificate is of, or the file of its authority in NODE_EXTRA_CA_CERTS.',
  ],
  [
    /EPROTO|ERR_SSL|ERR_TLS|ETLS|wrong version number/,
    'it does not speak TLS there',
    'Check the port, and whether it takes connections with TLS.',
  ],
  [/HPE_|HTTP\/1.1 protocol/, 'what it answers is no HTTP', 'Check the port.'],
  [
    /TimeoutError|ETIMEDOUT|EABORT|_TIMEOUT|timeout/i,
    'it did not answer in time',
    'Check that it runs, and firewalls on the way.',
  ],
  [
    /ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET|CONNECTION_CLOSED|other side closed|ed unexpectedly/i,
    'it closed the connection before it answered',
    'See its own log.',
  ],
]

const OF_FILES: readonly Reason[] = [
  [/ENOENT/, 'there is no such file or folder', 'Correct the path, or make what it names.'],
  [/ENOTDIR/, 'a part of its path is no folder', 'Correct the path.'],
  [/EISDIR/, 'it is a folder', 'Name a file.'],
  [/EACCES|EPERM/, 'this user may not do that', 'Give the user of storerank the right to it.'],
  [/EROFS/, 'its file system is read-only', 'Name a place that can be written.'],
  [/ENOSPC|EDQUOT/, 'there is no room left', 'Make room, or name another place.'],
  [/EMFILE|ENFILE/, 'too many files are open', 'Allow more of them: ulimit -n.'],
  [/EBUSY|ETXTBSY/, 'it is in use', 'End what uses it, or name another place.'],
  [/EEXIST|ENOTEMPTY/, 'it is there already', 'Name another one, or remove it.'],
  [/ELOOP|ENAMETOOLONG/, 'its path is too long, or leads in a circle', 'Correct the path.'],
  [/EIO/, 'its disk fails', 'See the log of the machine.'],
]

/**
 * Of Postgres, by SQLSTATE, and of those between us and it; the first that fits. What an administrator may
 * mend while we wait is unavailable, and no setting of ours: a unit starts again by itself.
 */
interface OfDatabase {
  readonly code: RegExp
  readonly says?: RegExp
  /** What stands before the reason, with its party. */
  readonly what: string
  readonly remedy: string
  /** Whether a setting of ours has to change. */
  readonly isSetting?: true
}
const LACKING = {
  what: 'The database server lacks what it needs',
  remedy: 'Make room on its disk, or give it more memory.',
}
const OF_DATABASE: readonly OfDatabase[] = [
  {
    // Protocol violation, by which poolers refuse what they do not pass on.
    code: /^08P01$/,
    says: /startup parameter/,
    what: 'The pooler at DATABASE_URL refuses the settings with which our sessions begin',
    remedy:
      'Give DATABASE_URL the address of the database itself. Or, with PgBouncer in session ' +
      'mode, let it pass them by: ignore_startup_parameters = extra_float_digits, options, ' +
      'idle_in_transaction_session_timeout, idle_session_timeout, tcp_keepalives_idle, ' +
      'tcp_keepalives_interval, tcp_keepalives_count; `storerank migrate` then says what the ' +
      'login needs instead.',
    isSetting: true,
  },
  {
    code: /^(28\w{3}|3D000)$/,
    what: 'The database refuses us',
    remedy: 'Check the login, the password and the name of the database in DATABASE_URL.',
  },
  {
    code: /CERT_|_CERT$|UNABLE_TO_VERIFY/,
    what: "The database's certificate is not trusted",
    remedy:
      'Give DATABASE_URL the host that it is of, and sslrootcert (or NODE_EXTRA_CA_CERTS) the file of the ' +
      'authority that signed it.',
  },
  {
    code: /^42501$/,
    what: 'The login of DATABASE_URL may not do that',
    remedy:
      'The work needs the login that owns the tables of storerank, or may make them; those of ' +
      'storerank_editor and storerank_reader use `storerank sql`, and one that deploy/monitor.sql made ' +
      '`storerank status --check`.',
    isSetting: true,
  },
  {
    // The server is a standby, or its operator made its disk read-only.
    code: /^25006$/,
    what: 'The database of DATABASE_URL takes no changes, as a standby does that follows another server',
    remedy: 'status, plan, report, export and sql work on it; what writes needs the address of its primary.',
  },
  {
    // Of queries in parallel, with the code of a full disk: a container has 64 MB unless it is given more.
    code: /^53\w{3}$/,
    says: /shared memory/,
    what: 'The database server has too little shared memory',
    remedy: 'Its disk may have room: give its container more, such as shm_size: 256m.',
  },
  {
    // Of ours: the statements of a person have their own words.
    code: /^42(P01|703|883)$/,
    what: 'The database lacks what storerank has made there',
    remedy:
      '`storerank migrate` makes views and functions again, and the queue after `drop schema pgboss ' +
      'cascade`, which loses nothing. A table or a column comes back with a backup ' +
      'alone.',
    isSetting: true,
  },
  {
    code: /^53300$/,
    what: 'The database gives no more connections',
    remedy:
      '`storerank start` and `run` have as many at once as DATABASE_CONNECTIONS says, other commands four. ' +
      'Lower it, end sessions that nobody needs, or raise the limit: max_connections of the server, ' +
      '`alter role … connection limit`, `alter database … connection limit`.',
  },
  // Out of disk, memory or another resource; a full disk refuses a login by the message.
  { code: /^53\w{3}$/, ...LACKING },
  { code: /^XX000$/, says: /^could not write init file/, ...LACKING },
]

/** Of the system, and of the drivers when a connection ends under them. */
const UNREACHABLE =
  /^(ECONN\w+|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE|CONNECT_TIMEOUT|CONNECTION_\w+)$/
/**
 * SQLSTATE: connection exceptions, also of a worker of Citus; a login that is refused, or a database that is
 * not there, while an administrator works on it; a standby; too many connections; the server starts, stops or
 * has crashed.
 */
const NOT_NOW = /^(08\w{3}|28\w{3}|3D000|25006|53300|57P0[1-5])$/
/** What pg says of a connection that has ended, without a code. */
const PG_LOST = /^(Connection terminated|Client has encountered a connection error)/

/** What stands in an error of the system, of Postgres or of a driver. */
interface Facts {
  readonly code?: unknown
  readonly syscall?: string
  readonly path?: string
}

/**
 * Whether an error says that the database, or a part of it, cannot be reached at this moment, or that this
 * machine makes no connection: without a network, a free file, or the socket file of a server that starts.
 */
export function isOutage(error: Error): boolean {
  const { code, syscall } = error as Facts
  if (typeof code !== 'string') return PG_LOST.test(error.message)
  return UNREACHABLE.test(code) || NOT_NOW.test(code) || syscall === 'connect'
}

/**
 * The sentence for what the database's drivers or the file system threw, wrapped or not; null for anything
 * else. What is a sentence already stays as it is, unless the database is below it.
 */
export function describeTrouble(error: unknown): StorerankError | null {
  let isTold = false
  for (let each = error; each instanceof Error; each = each.cause) {
    isTold ||= each instanceof StorerankError
    const trouble = describeDatabase(each) ?? (isTold ? null : describeMachine(each))
    if (trouble !== null) return trouble
  }
  return null
}

function describeDatabase(error: Error): StorerankError | null {
  const { code, syscall } = error as Facts
  const known = OF_DATABASE.find(
    (row) => row.code.test(String(code)) && (row.says?.test(error.message) ?? true),
  )
  const options = { cause: error }
  if (known !== undefined) {
    const Kind = known.isSetting ? ConfigurationError : UnavailableError
    return new Kind(`${known.what}: ${error.message.replace(/\.$/, '')}. ${known.remedy}`, options)
  }
  if (!isOutage(error)) return null
  // A name with several addresses fails with all of their errors and no message.
  const said = error.message || String(code)
  const found = findReason([said], syscall === 'connect' ? [...OF_NETWORK, ...OF_FILES] : OF_NETWORK)
  const why = found === null ? said : `${found.reason} (${said})`
  return new UnavailableError(
    `The database cannot be reached: ${why}. Check that the server runs and that DATABASE_URL names it.`,
    options,
  )
}

/** What a file system, or the machine itself, does not let us do. */
function describeMachine(error: Error): StorerankError | null {
  const { code, syscall, path = '' } = error as Facts
  const found = findReason([String(code)], OF_FILES)
  if (syscall === undefined || found === null) return null
  const reason = `${found.reason} (${code})`
  const refused = `${syscall}${path && ` of ${path}`}`
  const message =
    syscall === 'mkdtemp'
      ? `The folder of temporary files cannot be used for ${path}: ${reason}. Set TMPDIR to one that can.`
      : `The machine that runs storerank refuses ${refused}: ${reason}. ${found.remedy}`
  return new ConfigurationError(message, { cause: error })
}

/** Why something of this machine cannot be read, written or listened on, as what follows a colon. */
export function whyNot(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const found = findReason([String((error as Facts).code)], [...OF_FILES, ...OF_NETWORK])
  return found === null ? error.message : `${found.reason} (${found.sign})`
}

/** What keeps another party from being reached. */
export interface Obstacle {
  /** With its code, as what follows a colon. */
  readonly reason: string
  /** A sentence. */
  readonly remedy: string
}

export function findObstacle(error: unknown): Obstacle {
  const signs = listSigns(error)
  const last = signs.at(-1) ?? ''
  const [, status] = /^Proxy response \((\d+)\)/.exec(last) ?? []
  if (status !== undefined)
    return {
      reason: `the proxy of HTTPS_PROXY refused it with HTTP ${status}`,
      remedy: 'Check the login in HTTPS_PROXY, and that the proxy connects to that host.',
    }
  const found = findReason(signs, OF_NETWORK)
  const [code] = /\b[A-Z][A-Z_]{3,}\b/.exec(found?.sign ?? '') ?? []
  const reason =
    found === null ? shorten(last) || 'no reason is known' : found.reason + (code ? ` (${code})` : '')
  const isOfProxy = signs.includes('proxy') || signs.includes('ProxyConnectionError')
  return {
    reason: isOfProxy ? `of the proxy of HTTPS_PROXY, ${reason}` : reason,
    remedy: found?.remedy ?? 'See its own log.',
  }
}

/**
 * A sentence names the party, its reason and a remedy, and nothing of the address, which may be a secret.
 * @param party as the subject of a sentence: "The receiver"
 */
export function describeUnreachable(party: string, error: unknown): string {
  const { reason, remedy } = findObstacle(error)
  return `${party} could not be reached: ${reason}. ${remedy}`
}

/** The first row that fits, with the sign that it was found by. */
function findReason(signs: readonly string[], rows: readonly Reason[]): (Obstacle & { sign: string }) | null {
  for (const [pattern, reason, remedy] of rows) {
    const sign = signs.find((each) => pattern.test(each))
    if (sign !== undefined) return { sign, reason, remedy }
  }
  return null
}

/** The codes of an error and of its causes, and then their messages. */
function listSigns(error: unknown): string[] {
  const errors: unknown[] = [error]
  for (let n = 0; n < errors.length && n < MOST_CAUSES; n += 1) {
    const { cause, errors: several = [] } = (errors[n] ?? {}) as { cause?: unknown; errors?: unknown[] }
    errors.push(...several, ...(cause === undefined ? [] : [cause]))
  }
  const found = errors.filter((each): each is Error & { code?: unknown } => each instanceof Error)
  const codes = found.flatMap(({ code, name }) => [code, name === 'Error' ? undefined : name])
  return [...codes.filter((code) => typeof code === 'string'), ...found.map(({ message }) => message)]
}
