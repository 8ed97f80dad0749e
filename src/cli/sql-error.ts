/** What Postgres says of a person's query that failed, and what the person most likely meant. */
import type { SqlRunner } from '../db/database.ts'
import type { DatabaseError } from '../db/driver.ts'
import { sql } from '../db/sql.ts'
import { didYouMean } from '../suggest.ts'
import { splitList } from '../watch/spellings.ts'

/** Enough to see what there is: the views that people read. */
const NAMES_SHOWN = 60

type Hint = (error: DatabaseError, query: string, db: SqlRunner) => Promise<string>

/** A sentence, or nothing, by SQLSTATE. */
const HINTS: Readonly<Record<string, Hint>> = {
  /** No such table. */
  '42P01': async (error, _, db) => nameTables(quotedName(error), await listRelations(db)),
  /** No such column. */
  42703: (error, query, db) => nameColumns(quotedName(error), query, db),
  /** No SQL, but perhaps the name of a table. */
  42601: async (_, query, db) =>
    (await listRelations(db)).some((relation) => relation.name === query.trim())
      ? `Did you mean "select * from ${query.trim()}"?`
      : '',
  /** A transaction that is read-only. */
  25006: async (_, _query, db) => {
    const [row] = await db<{ is: boolean }[]>`select pg_is_in_recovery() as is`
    return row?.is
      ? 'This database takes no changes: it is a standby that follows another server. Write on its primary.'
      : ''
  },
  /** A value that is none of its type. */
  '22P02': async ({ message }, query) => explainValue(message, query),
  /** A key that another row has. */
  23505: (error, _, db) => nameTwin(error, db),
}

/** Postgres says most of it best: message, detail and hint. Of a key it says more than its values. */
export async function explainError(error: unknown, query: string, db: SqlRunner): Promise<string> {
  if (!(error instanceof Error)) return String(error)
  const refused = error as DatabaseError
  const { code, table_name: table, detail, hint, message } = refused
  const twin = valuesOfTwin(refused)
    ?.split(', ')
    .filter((value) => value !== '' && value !== '0')
  const said =
    twin === undefined
      ? [`The database refused it: ${message}`, detail, hint]
      : [`The database refused it: ${table} has such a row already: ${twin.join(', ')}.`]
  // Within a transaction that has failed, nothing can be asked.
  const meant = hint === undefined && (await HINTS[code]?.(refused, query, db).catch(() => ''))
  return [...said, meant].filter(Boolean).join('\n')
}

function valuesOfTwin({ code, detail = '' }: DatabaseError): string | undefined {
  return code === '23505' ? /\)=\((.*)\) already exists\.$/s.exec(detail)?.[1] : undefined
}

function quotedName({ message }: DatabaseError): string {
  const [, quoted, column] = /"([^"]+)"|column ([\w.]+)/.exec(message) ?? []
  return quoted ?? column ?? ''
}

/** A list that is written as a text, and the id of an app where its number in the dictionary is meant. */
function explainValue(message: string, query: string): string {
  const [, list] = /^malformed array literal: "(.*)"$/s.exec(message) ?? []
  if (list !== undefined) {
    const items = splitList(list).map((item) => `'${item.replaceAll("'", "''")}'`)
    return `A list is written array[${items.join(', ')}].`
  }
  const isNumber = /^invalid input syntax for type integer/.test(message)
  return isNumber && /\bapp\s*(=|in\b)/i.test(query)
    ? 'app is the number of an app in the dictionary; its id in the store is app_id.'
    : ''
}

interface Relation {
  readonly name: string
  readonly isView: boolean
}

function nameTables(name: string, relations: readonly Relation[]): string {
  const near = didYouMean(
    name.replace(/^public\./, ''),
    relations.map((relation) => relation.name),
  )
  if (near !== '') return near.trim()
  const views = relations.filter(({ isView }) => isView).map((view) => view.name)
  return `Views: ${views.slice(0, NAMES_SHOWN).join(', ')}.`
}

/** Partitions and what pg-boss keeps are nothing that a person asks for. */
async function listRelations(db: SqlRunner): Promise<Relation[]> {
  return db<Relation[]>`
    select relname::text as name, relkind = 'v' as "isView" from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm')
      and not relispartition order by 1`
}

/** Among the columns of the tables that the query names. */
async function nameColumns(name: string, query: string, db: SqlRunner): Promise<string> {
  const column = name.split('.').at(-1) ?? name
  const words = query.toLowerCase().match(/\w+/g) ?? []
  const rows = await db<{ name: string }[]>`
    select distinct attname::text as name from pg_attribute join pg_class c on c.oid = attrelid
    where relnamespace = 'public'::regnamespace and relname = any(${words}::text[]) and attnum > 0
      and not attisdropped
    order by 1`
  const columns = rows.map((row) => row.name)
  if (columns.length === 0) return ''
  return didYouMean(column, columns).trim() || `Columns: ${columns.join(', ')}.`
}

/** The row that has the key already, by its id: Postgres says the values of the key, and not which row. */
async function nameTwin(error: DatabaseError, db: SqlRunner): Promise<string> {
  const { table_name: table, constraint_name: index } = error
  const values = valuesOfTwin(error)
  if (table === undefined || index === undefined || values === undefined) return ''
  const [key] = await db<{ form: string | null; columns: string | null }[]>`
    select string_agg('%s', ', ') as form,
      string_agg(pg_get_indexdef(indexrelid, n, true), ', ' order by n) as columns
    from pg_index cross join generate_series(1, indnkeyatts) n where indexrelid = to_regclass(${index})`
  const [twin] = await db<{ id: string | null }[]>`
    select to_jsonb(t) ->> 'id' as id from ${sql.identifier(table)} t
    where format(${key?.form ?? ''}, ${sql.raw(key?.columns ?? 'null')}) = ${values} limit 1`
  return twin === undefined || twin.id === null
    ? ''
    : `The row that has it is: select * from ${table} where id = ${twin.id};`
}
