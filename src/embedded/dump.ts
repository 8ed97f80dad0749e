/**
 * The data of a database as one file, for what brings no pg_dump, as the packages of the embedded server, and
 * for a server of another version: plain SQL as pg_dump writes it, with the rows as COPY writes them, and at
 * its end what they add up to. The tables themselves are not in it: `migrate` makes them (restore.ts).
 */
import { oneRow } from '../db/one-row.ts'
import { openSession, type Session } from '../db/session.ts'
import { sql } from '../db/sql.ts'
import { TABLE_NAMES } from '../db/table-names.ts'

/** That of 0.2, 1, has other tables. */
export const FORMAT = 2
export const HEADER = '-- storerank dump '
export const ROWS = '-- rows '
export const END = '-- end of the dump\n'

export interface Header {
  readonly format: number
  readonly version: string
  readonly migrations: readonly string[]
  /** Tables of the database that are not in it, as people made them. */
  readonly without?: readonly string[]
}

/** How many rows a table has, and their sum. */
export type Sums = Record<string, readonly [count: string, sum: string]>

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

export function openDumpSession(url: string): Session {
  return openSession(url, { name: 'storerank dump', settings: WRITTEN_ALIKE })
}

export async function readMigrations(session: Session): Promise<string[]> {
  const rows = await session<{ hash: string }[]>`
    select hash from drizzle.__drizzle_migrations order by created_at, id`
  return rows.map(({ hash }) => hash)
}

/** A table and its columns, but those that are computed. */
export interface Table {
  readonly table: string
  readonly columns: readonly string[]
}

/**
 * The tables of storerank: without partitions, whose rows come with their table, and locks, which are those
 * of a moment. Of an earlier state of storerank, whose tables this one does not know, all.
 */
export async function listTables(session: Session): Promise<Table[]> {
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
export async function sumRows(
  session: Session,
  { table, columns }: Table,
): Promise<readonly [string, string]> {
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
