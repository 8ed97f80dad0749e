/**
 * The rows of a view, or of a person's own SELECT, in batches and as Postgres writes them: never more in
 * memory than a batch, however many there are. The session can only read, and sees one snapshot.
 */
import postgres from 'postgres'
import { beginWith, MEANING, postgresOptions, SPARING } from '../../db/connection.ts'
import { ConfigurationError } from '../../errors.ts'
import { didYouMean } from '../../suggest.ts'

export interface Column {
  /** Unique within the source. */
  readonly name: string
  /** The type's OID. */
  readonly type: number
}

/** The text of a value, null for null. */
export type Cells = readonly (string | null)[]

export interface Source {
  readonly columns: readonly Column[]
  readonly batches: AsyncIterable<readonly Cells[]>
  close(): Promise<void>
}

export interface SourceOptions {
  /** One column instead, `line`: each row as a JSON object. */
  readonly isJson: boolean
  readonly signal: AbortSignal
}

const ROWS_AT_ONCE = 1000
/** The extended protocol, which alone has cursors; the driver's types do not know the option. */
const EXTENDED = { simple: false } as object

/**
 * @param what the name of a table or view, or SQL that selects
 * @throws ConfigurationError when there is no such view, or Postgres refuses the SQL; while batches are read,
 *   also an AbortError once the signal has ended the query
 */
export async function openSource(url: string, what: string, options: SourceOptions): Promise<Source> {
  const client = postgres({
    ...postgresOptions(url),
    max: 1,
    onnotice: () => {},
    connection: {
      application_name: 'storerank export',
      options: beginWith({ ...MEANING, ...SPARING, default_transaction_read_only: 'on' }),
    },
  })
  try {
    const query = await toQuery(client, what)
    const described = await client.unsafe(`select * from (${query}\n) as q`, [], EXTENDED).describe()
    const names = uniqueNames(described.columns.map(({ name }) => name))
    const columns = described.columns.map(({ type }, n) => ({ name: names[n] ?? '', type }))
    const from = `from (${query}\n) as q (${names.map(quote).join(', ')})`
    const statement = options.isJson ? `select row_to_json(q)::text as line ${from}` : `select * ${from}`
    return {
      columns,
      batches: read(client, statement, options.signal),
      close: () => client.end({ timeout: 1 }),
    }
  } catch (error) {
    await client.end({ timeout: 1 })
    throw explain(error)
  }
}

async function* read(
  client: postgres.Sql,
  statement: string,
  signal: AbortSignal,
): AsyncIterable<readonly Cells[]> {
  signal.throwIfAborted()
  const query = client.unsafe(statement, [], EXTENDED).raw()
  // Before its first row too, which a sort may take long to give.
  const cancel = () => query.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    for await (const batch of query.cursor(ROWS_AT_ONCE)) {
      signal.throwIfAborted()
      yield (batch as unknown as (Buffer | null)[][]).map((row) =>
        row.map((value) => value?.toString() ?? null),
      )
    }
  } catch (error) {
    signal.throwIfAborted()
    throw explain(error)
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** A name is all of a table or view; anything else has to be SQL. */
async function toQuery(client: postgres.Sql, what: string): Promise<string> {
  const text = what.trim().replace(/;+$/, '')
  if (text === '') throw new ConfigurationError('There is no view and no SQL to export.')
  if (!/^\w+$/.test(text)) return text
  const relations = await client<{ name: string }[]>`
    select c.relname as name from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
      and not c.relispartition
    order by 1`
  const names = relations.map(({ name }) => name)
  if (names.includes(text)) return `select * from ${quote(text)}`
  throw new ConfigurationError(`There is no view ${JSON.stringify(text)}.${didYouMean(text, names)}`)
}

/** Two columns of one name would hide each other: the second gets a number by which no other is called. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names)
  const seen = new Set<string>()
  return names.map((name) => {
    if (!seen.has(name)) {
      seen.add(name)
      return name
    }
    let number = 2
    while (taken.has(`${name}_${number}`)) number += 1
    taken.add(`${name}_${number}`)
    return `${name}_${number}`
  })
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** What Postgres says of a statement is about what the person wrote; anything else stays as it is. */
function explain(error: unknown): unknown {
  if (!(error instanceof postgres.PostgresError)) return error
  const { message, detail, hint } = error
  const parts = [`The database refused it: ${message}.`, detail, hint].filter(Boolean)
  return new ConfigurationError(parts.join(' '), { cause: error })
}
