/**
 * The data of a database as one file, for the embedded server, whose packages bring no pg_dump: plain SQL as
 * pg_dump writes it, with the rows as COPY writes them. The tables themselves are not in it: `migrate` makes
 * them. A restore goes into an empty database of the same tables only, in one transaction. Its session may
 * write nothing else: when it is lost, the driver would send what comes next on another one, where each
 * statement is committed at once.
 */
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { endsSession } from '../db/driver.ts'
import { openSession as open, type Session } from '../db/session.ts'
import { sql } from '../db/sql.ts'
import { ConfigurationError, UnavailableError } from '../errors.ts'

const FORMAT = 1
const HEADER = '-- storerank dump '
const END = '-- end of the dump\n'
/** Rows go to the server in pieces of about this size. */
const PIECE_BYTES = 65_536
/** The only statements that a file may hold beside its rows. */
const STATEMENTS = [
  /^select setval\('public\."\w+"', \d+, (?:true|false)\);$/,
  /^select ensure_history_partitions\('[\d :.+-]+', '[\d :.+-]+'\);$/,
]
const COPY = /^copy public\."\w+" \((?:"\w+"(?:, )?)+\) from stdin;$/
/** Where one of them has a row, somebody has worked in the database. */
const TELLING = [
  'project',
  'keyword_watch',
  'app_watch',
  'chart_watch',
  'watch_period',
  'task',
  'charge',
  'ranking',
]

/** SQLSTATE: a statement before it in the same transaction has failed. */
const TRANSACTION_ABORTED = '25P02'

const LOST = 'The connection to the database was lost. Nothing was changed: run it again.'
const UNKNOWN =
  'The connection to the database was lost, and whether all is restored is not known: run it again, ' +
  'and it says so.'

interface Header {
  readonly format: number
  readonly version: string
  readonly migrations: readonly string[]
}

/** The file, piece by piece: what the database had at one instant. `tables` counts up meanwhile. */
export async function* dumpDatabase(url: string, version: string): AsyncGenerator<Buffer> {
  const session = openSession(url)
  try {
    await session`begin isolation level repeatable read read only`
    const header: Header = { format: FORMAT, version, migrations: await readMigrations(session) }
    yield Buffer.from(`${HEADER}${JSON.stringify(header)}\n`)
    for (const table of ['ranking', 'app_snapshot', 'page']) {
      const [range] = await session<{ first: string | null; last: string | null }[]>`
        select min(slot)::text as first, max(slot)::text as last from ${sql.identifier(table)}`
      if (range?.first)
        yield Buffer.from(`select ensure_history_partitions('${range.first}', '${range.last}');\n`)
    }
    for (const { table, columns } of await listTables(session)) {
      const names = columns.map((name) => `"${name}"`).join(', ')
      yield Buffer.from(`copy public."${table}" (${names}) from stdin;\n`)
      yield* await session.copyOut(`copy (select ${names} from public."${table}") to stdout`)
      yield Buffer.from('\\.\n')
    }
    for (const sequence of await listSequences(session)) yield Buffer.from(sequence)
    yield Buffer.from(END)
  } finally {
    await session.end()
  }
}

/**
 * Puts a dump into a database that has the tables and nothing in them.
 * @returns how many tables were filled
 * @throws ConfigurationError when the file is no whole dump, is of other tables, or the database is in use;
 *   nothing has changed then
 * @throws UnavailableError when the session was lost and nothing was changed
 */
export async function restoreDatabase(url: string, file: AsyncIterable<Buffer>): Promise<number> {
  const lost = Promise.withResolvers<never>()
  lost.promise.catch(() => {})
  let isLost = false
  const session = openSession(url, { default_transaction_read_only: 'on' }, () => {
    isLost = true
    lost.reject(new UnavailableError(LOST))
  })
  const filling: Filling = { transaction: null, tables: 0 }
  try {
    await Promise.race([restore(session, file, filling), lost.promise])
  } catch (error) {
    if (!isLost && !endsSession(error)) throw error
    const committed = await isCommitted(url, filling).catch(() => null)
    if (committed === true) return filling.tables
    throw new UnavailableError(committed === null ? UNKNOWN : LOST, { cause: error })
  } finally {
    await session.end()
  }
  return filling.tables
}

interface Filling {
  /** By which the server knows it; null before it began. */
  transaction: string | null
  tables: number
}

async function restore(session: Session, file: AsyncIterable<Buffer>, filling: Filling): Promise<void> {
  const lines = linesOf(file)
  const first = await lines.next()
  await refuseUnfit(session, first.done ? '' : first.value.toString())
  await session`begin read write`
  const [row] = await session<{ id: string }[]>`select pg_current_xact_id()::text as id`
  filling.transaction = row?.id ?? null
  await session`set local session_replication_role = replica`
  await emptyTables(session)
  await fill(session, lines, filling)
}

/** The answer to COMMIT may be what was lost. */
async function isCommitted(url: string, { transaction }: Filling): Promise<boolean> {
  if (transaction === null) return false
  const session = openSession(url)
  try {
    const [row] = await session<{ status: string }[]>`select pg_xact_status(${transaction}::xid8) as status`
    return row?.status === 'committed'
  } finally {
    await session.end()
  }
}

async function fill(session: Session, lines: AsyncGenerator<Buffer>, filling: Filling): Promise<void> {
  for await (const line of lines) {
    const text = line.toString()
    if (text === END) {
      await session`commit`
      return
    }
    const statement = text.trimEnd()
    if (COPY.test(statement)) {
      await copyRows(session, statement.slice(0, -1), lines)
      filling.tables += 1
    } else if (STATEMENTS.some((known) => known.test(statement))) await session.unsafe(statement)
    else throw new ConfigurationError('The file is damaged, or no dump of storerank. Nothing was changed.')
  }
  throw new ConfigurationError('The file ends too early: it is no whole dump. Nothing was changed.')
}

async function copyRows(session: Session, statement: string, lines: AsyncGenerator<Buffer>): Promise<void> {
  const writable = await session.copyIn(statement)
  const failed = once(writable, 'error').then(([error]) => Promise.reject(error))
  failed.catch(() => {})
  let piece: Buffer[] = []
  let bytes = 0
  const send = async () => {
    if (bytes > 0) {
      const sent = new Promise<void>((done) => writable.write(Buffer.concat(piece), () => done()))
      await Promise.race([sent, failed])
    }
    piece = []
    bytes = 0
  }
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    if (next.value.length === 3 && next.value.toString() === '\\.\n') {
      await send()
      writable.end()
      // By then the driver has taken the end of the COPY, and takes the next statement.
      await setImmediate()
      await Promise.race([refuseMisfits(session, statement), failed])
      return
    }
    piece.push(next.value)
    bytes += next.value.length
    if (bytes > PIECE_BYTES) await send()
  }
}

/** postgres.js 3.4.9 does not tell what COPY refuses at its end, but the next statement is refused then. */
async function refuseMisfits(session: Session, statement: string): Promise<void> {
  await session`select`.catch((cause: Error & { code?: string }) => {
    if (cause.code !== TRANSACTION_ABORTED) throw cause
    const table = /"(\w+)"/.exec(statement)?.[1]
    throw new ConfigurationError(
      `The rows of ${table} in the file do not fit: it is damaged. Nothing was changed.`,
    )
  })
}

async function refuseUnfit(session: Session, line: string): Promise<void> {
  if (!line.startsWith(HEADER)) throw new ConfigurationError('The file is no dump of storerank.')
  const { format, version, migrations }: Header = JSON.parse(line.slice(HEADER.length))
  if (format !== FORMAT || String(migrations) !== String(await readMigrations(session))) {
    throw new ConfigurationError(
      `The dump was made by storerank ${version} with other tables than this one has: restore it with ` +
        'that version, and update then. Nothing was changed.',
    )
  }
  for (const table of TELLING) {
    const [used] = await session`select from ${sql.identifier(table)} limit 1`
    if (used === undefined) continue
    throw new ConfigurationError(
      `The database is not empty: ${table} has rows. A dump is restored into a new one: set ` +
        'STORERANK_HOME to another folder. Nothing was changed.',
    )
  }
}

/** What `migrate` has put in comes from the dump. */
async function emptyTables(session: Session): Promise<void> {
  const names = (await listTables(session)).map(({ table }) => `public."${table}"`)
  await session.unsafe(`truncate ${names.join(', ')}`)
}

function openSession(
  url: string,
  settings: Readonly<Record<string, string>> = {},
  onLost: () => void = () => {},
): Session {
  return open(url, {
    name: 'storerank dump',
    settings: { TimeZone: 'UTC', DateStyle: 'ISO', ...settings },
    onClose: onLost,
  })
}

async function readMigrations(session: Session): Promise<string[]> {
  const rows = await session<
    { hash: string }[]
  >`select hash from drizzle.__drizzle_migrations order by created_at, id`
  return rows.map(({ hash }) => hash)
}

/**
 * Without partitions, whose rows come with their table, locks, which are those of a moment, and columns that
 * are computed.
 */
async function listTables(session: Session): Promise<{ table: string; columns: string[] }[]> {
  return session<{ table: string; columns: string[] }[]>`
    select c.relname::text as table, (select json_agg(a.attname order by a.attnum) from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname <> 'named_lock'
    order by 1`
}

async function listSequences(session: Session): Promise<string[]> {
  const names = await session<{ name: string }[]>`
    select relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'S'
      order by 1`
  const statements: string[] = []
  for (const { name } of names) {
    const [at] = await session<{ last: string; isCalled: boolean }[]>`
      select last_value::text as last, is_called as "isCalled" from ${sql.identifier(name)}`
    if (at !== undefined) statements.push(`select setval('public."${name}"', ${at.last}, ${at.isCalled});\n`)
  }
  return statements
}

/** Lines with their line feed, by bytes: in a row of COPY every other line break is escaped. */
async function* linesOf(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of file) {
    let text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (let end = text.indexOf(10); end >= 0; end = text.indexOf(10)) {
      yield text.subarray(0, end + 1)
      text = text.subarray(end + 1)
    }
    rest = text
  }
  if (rest.length > 0) yield rest
}
