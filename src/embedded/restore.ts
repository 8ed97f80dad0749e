/**
 * Puts a dump (dump.ts) into an empty database of the same tables, in one transaction, and compares what it
 * adds up to before it commits. The owner of the tables may do it: what triggers and foreign keys would do
 * to the rows is in the rows already, so both are set aside meanwhile.
 */
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { endsSession } from '../db/driver.ts'
import { oneRow } from '../db/one-row.ts'
import type { Session } from '../db/session.ts'
import { sql } from '../db/sql.ts'
import { ConfigurationError, UnavailableError } from '../errors.ts'
import {
  END,
  FORMAT,
  HEADER,
  type Header,
  listTables,
  openDumpSession,
  ROWS,
  readMigrations,
  type Sums,
  sumRows,
  type Table,
} from './dump.ts'

/** Rows go to the server in pieces of about this size. */
const PIECE_BYTES = 65_536
const END_OF_ROWS = Buffer.from('\\.\n')
/** The only statements that a file may hold beside its rows. */
const STATEMENTS = [
  /^select setval\('public\."\w+"', \d+, (?:true|false)\);$/,
  /^select ensure_history_partitions\('[\d :.+-]+', '[\d :.+-]+'\);$/,
]
const COPY = /^copy public\."\w+" \((?:"\w+"(?:, )?)+\) from stdin;$/
/** Where one of them has a row, somebody has worked in the database. */
const WATCHES = ['keyword_watch', 'app_watch', 'chart_watch', 'watch_period']
const TELLING = ['project', ...WATCHES, 'task', 'charge', 'ranking']

/** SQLSTATE: a statement before it in the same transaction has failed. */
const TRANSACTION_ABORTED = '25P02'

const LOST = 'The connection to the database was lost. Nothing was changed: run it again.'
const UNKNOWN =
  'The connection to the database was lost, and whether all is restored is not known: run it again, ' +
  'and it says so.'

/**
 * Puts a dump into a database that has the tables and nothing in them.
 * @returns how many tables and rows it has now, by what was compared
 * @throws ConfigurationError when the file is no whole dump, is of other tables, or the database is in use;
 *   nothing has changed then
 * @throws UnavailableError when the session was lost and nothing was changed
 */
export async function restoreDatabase(
  url: string,
  file: AsyncIterable<Buffer>,
): Promise<Pick<Filling, 'tables' | 'rows'>> {
  const session = openDumpSession(url)
  const filling: Filling = { transaction: null, tables: 0, rows: 0 }
  try {
    await restore(session, file, filling)
  } catch (error) {
    if (!endsSession(error)) throw error
    const committed = await isCommitted(url, filling).catch(() => null)
    if (committed !== true) throw new UnavailableError(committed === null ? UNKNOWN : LOST, { cause: error })
  } finally {
    await session.end()
  }
  return filling
}

interface Filling {
  /** By which the server knows it; null before it began. */
  transaction: string | null
  tables: number
  rows: number
}

async function restore(session: Session, file: AsyncIterable<Buffer>, filling: Filling): Promise<void> {
  const lines = linesOf(file)
  const first = await lines.next()
  await refuseUnfit(session, first.done ? '' : first.value.toString())
  await session`begin`
  const { id } = oneRow(await session<{ id: string }[]>`select pg_current_xact_id()::text as id`)
  filling.transaction = id
  const tables = await listTables(session)
  const setBack = await setRulesAside(session, tables)
  // What `migrate` has put in comes from the dump.
  await session`truncate ${sql.join(
    tables.map(({ table }) => sql.identifier(`public.${table}`)),
    ', ',
  )}`
  const sums = await fill(session, lines)
  filling.tables = tables.length
  for (const table of tables) filling.rows += await compareRows(session, table, sums[table.table])
  for (const statement of setBack) await session.unsafe(statement)
  await session`commit`
}

/**
 * Disables the triggers of our tables, and drops their foreign keys.
 * @returns the statements that set both back: a key is compared with all rows then
 */
async function setRulesAside(session: Session, tables: readonly Table[]): Promise<string[]> {
  const keys = await session<{ drop: string; add: string }[]>`
    select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
      format('alter table %s add constraint %I %s', conrelid::regclass, conname,
        pg_get_constraintdef(oid)) as add
    from pg_constraint
    where contype = 'f' and connamespace = 'public'::regnamespace and conparentid = 0`
  for (const { drop } of keys) await session.unsafe(drop)
  const turn = (how: string) => tables.map(({ table }) => `alter table public."${table}" ${how} trigger user`)
  for (const statement of turn('disable')) await session.unsafe(statement)
  return [...turn('enable'), ...keys.map(({ add }) => add)]
}

/** @returns how many rows there are */
async function compareRows(session: Session, table: Table, wanted: Sums[string] = ['0', '0']) {
  const [count, sum] = await sumRows(session, table)
  if (count === wanted[0] && sum === wanted[1]) return Number(count)
  throw new ConfigurationError(
    `The rows of ${table.table} are not those of the dump: ${count} here, ${wanted[0]} there, and they ` +
      'add up to something else. Nothing was changed.',
  )
}

/** The answer to COMMIT may be what was lost. */
async function isCommitted(url: string, { transaction }: Filling): Promise<boolean> {
  if (transaction === null) return false
  const session = openDumpSession(url)
  try {
    const [row] = await session<{ status: string }[]>`select pg_xact_status(${transaction}::xid8) as status`
    return row?.status === 'committed'
  } finally {
    await session.end()
  }
}

/** @returns what its rows add up to */
async function fill(session: Session, lines: AsyncGenerator<Buffer>): Promise<Sums> {
  let sums: Sums = {}
  for await (const line of lines) {
    const text = line.toString()
    if (text === END) return sums
    if (text.startsWith(ROWS)) {
      sums = JSON.parse(text.slice(ROWS.length))
      continue
    }
    const statement = text.trimEnd()
    if (COPY.test(statement)) await copyRows(session, statement.slice(0, -1), lines)
    else if (STATEMENTS.some((known) => known.test(statement))) await session.unsafe(statement)
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
  const send = () => {
    const sent = new Promise<void>((done) => writable.write(Buffer.concat(piece), () => done()))
    piece = []
    bytes = 0
    return Promise.race([sent, failed])
  }
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    if (next.value.equals(END_OF_ROWS)) {
      if (bytes > 0) await send()
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
