/**
 * The data of a database as one file, for what brings no pg_dump, as the packages of the embedded server, and
 * for a server of another version: plain SQL as pg_dump writes it, with the rows as COPY writes them, and at
 * its end what they add up to. The tables themselves are not in it: `migrate` makes them.
 */

import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { endsSession } from '../db/driver.ts'
import { oneRow } from '../db/one-row.ts'
import { openSession, type Session } from '../db/session.ts'
import { sql } from '../db/sql.ts'
import { TABLE_NAMES } from '../db/table-names.ts'
import { ConfigurationError, UnavailableError } from '../errors.ts'

/** That of 0.2, 1, has other tables. */
const FORMAT = 2
const HEADER = '-- storerank dump '
const ROWS = '-- rows '
const END = '-- end of the dump\n'

interface Header {
  readonly format: number
  readonly version: string
  readonly migrations: readonly string[]
  /** Tables of the database that are not in it, as people made them. */
  readonly without?: readonly string[]
}

/** How many rows a table has, and their sum. */
type Sums = Record<string, readonly [count: string, sum: string]>

/**
 * The file, piece by piece: what the tables of storerank had at one instant.
 * @param onForeign told of tables beside those, which it does not carry
 */
export async function* dumpDatabase(
  url: string,
  version: string,
  onForeign: (tables: readonly string[]) => void = () => {},
): AsyncGenerator<Buffer> {
  const session = openDumpSession(url)
  try {
    await session`begin isolation level repeatable read read only`
    const tables = await listTables(session)
    const without = await listForeign(session, tables)
    if (without.length > 0) onForeign(without)
    const header: Header = { format: FORMAT, version, migrations: await readMigrations(session), without }
    yield Buffer.from(`${HEADER}${JSON.stringify(header)}\n`)
    for (const table of ['ranking', 'app_snapshot', 'page']) {
      const [range] = await session<{ first: string | null; last: string | null }[]>`
        select min(slot)::text as first, max(slot)::text as last from ${sql.identifier(table)}`
      if (range?.first)
        yield Buffer.from(`select ensure_history_partitions('${range.first}', '${range.last}');\n`)
    }
    const sums: Sums = {}
    for (const { table, columns } of tables) {
      const names = columns.map((name) => `"${name}"`).join(', ')
      yield Buffer.from(`copy public."${table}" (${names}) from stdin;\n`)
      yield* await session.copyOut(`copy (select ${names} from public."${table}") to stdout`)
      yield Buffer.from('\\.\n')
      sums[table] = await sumRows(session, { table, columns })
    }
    const sequences = await listSequences(session, tables)
    yield Buffer.from(`${sequences.join('')}${ROWS}${JSON.stringify(sums)}\n${END}`)
  } finally {
    await session.end()
  }
}

/** A backup that lacked a table without a word would be found out when it is needed. */
async function listForeign(session: Session, tables: readonly Table[]): Promise<string[]> {
  const names = [...tables.map(({ table }) => table), 'named_lock']
  const foreign = await session<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'f', 'm') and not c.relispartition and c.relpersistence <> 't'
      and n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'drizzle', 'pgboss')
      and not (n.nspname = 'public' and c.relname = any(${names}::text[]))
      and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
    order by 1`
  return foreign.map(({ name }) => name)
}

/** A sentence for the person who has them. */
export function describeForeign(tables: readonly string[]): string {
  return (
    `Not in it, because storerank did not make them: ${tables.join(', ')}. Copy them by themselves ` +
    '(`storerank export`, or pg_dump --table of the version of the server).'
  )
}

/** How values are written, on any server and for any login. */
const WRITTEN_ALIKE = {
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
}

function openDumpSession(url: string): Session {
  return openSession(url, { name: 'storerank dump', settings: WRITTEN_ALIKE })
}

async function readMigrations(session: Session): Promise<string[]> {
  const rows = await session<{ hash: string }[]>`
    select hash from drizzle.__drizzle_migrations order by created_at, id`
  return rows.map(({ hash }) => hash)
}

/** A table and its columns, but those that are computed. */
interface Table {
  readonly table: string
  readonly columns: readonly string[]
}

/**
 * The tables of storerank: without partitions, whose rows come with their table, and locks, which are those
 * of a moment. Of an earlier state of storerank, whose tables this one does not know, all.
 */
async function listTables(session: Session): Promise<Table[]> {
  const all = await session<Table[]>`
    select c.relname::text as table, (select json_agg(a.attname order by a.attnum) from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname <> 'named_lock'
    order by 1`
  const names = TABLE_NAMES.filter((name) => name !== 'named_lock')
  const isPresent = names.every((name) => all.some(({ table }) => table === name))
  return isPresent ? all.filter(({ table }) => names.includes(table)) : all
}

/** What the rows of a table are, in a number: the same rows have the same, on any server, in any order. */
async function sumRows(session: Session, { table, columns }: Table): Promise<readonly [string, string]> {
  const { count, sum } = oneRow(
    await session<{ count: string; sum: string }[]>`
    select count(*)::text as count,
      coalesce(sum(('x' || left(md5(row(${sql.identifiers(columns)})::text), 15))::bit(60)::bigint), 0)::text
        as sum
    from ${sql.identifier(`public.${table}`)}`,
  )
  return [count, sum]
}

/**
 * The statements that let the sequences of the tables count on where they are. The view pg_sequences does not
 * say where one is that has given no number yet.
 */
async function listSequences(session: Session, tables: readonly Table[]): Promise<string[]> {
  const names = await session<{ name: string }[]>`
    select s.relname::text as name from pg_class s
    join pg_depend d on d.objid = s.oid and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i')
    join pg_class c on c.oid = d.refobjid
    where s.relnamespace = 'public'::regnamespace and s.relkind = 'S'
      and c.relname = any(${tables.map(({ table }) => table)}::text[])
    order by 1`
  const statements: string[] = []
  for (const { name } of names) {
    const { last, isCalled } = oneRow(
      await session<{ last: string; isCalled: boolean }[]>`
      select last_value::text as last, is_called as "isCalled" from ${sql.identifier(`public.${name}`)}`,
    )
    statements.push(`select setval('public."${name}"', ${last}, ${isCalled});\n`)
  }
  return statements
}

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
 * Puts a dump into a database that has the tables and nothing in them, in one transaction, and compares what
 * it adds up to. The owner of the tables may do it: what triggers and foreign keys would do to the rows is in
 * the rows already, so both are set aside meanwhile.
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
  let endsWithinS: number | undefined
  try {
    await restore(session, file, filling)
  } catch (error) {
    if (!endsSession(error)) throw error
    // What was sent on a lost session is never answered.
    endsWithinS = 0
    const committed = await isCommitted(url, filling).catch(() => null)
    if (committed !== true) throw new UnavailableError(committed === null ? UNKNOWN : LOST, { cause: error })
  } finally {
    await session.end(endsWithinS)
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
  await session`begin read write`
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
