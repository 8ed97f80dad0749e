/**
 * The rows of a view, or of a person's own SELECT, as Postgres writes them, or in the bytes of a format:
 * batch by batch, so that no more is in memory. The session can only read, and sees one snapshot.
 */
import { stringify } from 'csv-stringify/sync'
import { PLANNING_SETTINGS, SEMANTIC_SETTINGS } from '../../db/connection.ts'
import { isDatabaseError } from '../../db/database.ts'
import { type Cells, type Column, openSession, type Session } from '../../db/session.ts'
import { ConfigurationError } from '../../errors.ts'
import { didYouMean } from '../../suggest.ts'
import { escapeFormula } from '../../watch/spellings.ts'
import { openParquet } from './parquet.ts'

export const EXPORT_FORMATS = ['csv', 'jsonl', 'parquet'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export type Export = Awaited<ReturnType<typeof openExport>>

/**
 * `rows` counts up while the chunks are read.
 * @throws ConfigurationError when there is no such view, or Postgres refuses the SQL
 */
export async function openExport(
  url: string,
  what: string,
  { format, ...options }: Omit<SourceOptions, 'isJson'> & { readonly format: ExportFormat },
) {
  const source = await openSource(url, what, { ...options, isJson: format === 'jsonl' })
  let rows = 0
  const batches = (async function* () {
    for await (const batch of source.batches) {
      rows += batch.length
      yield batch
    }
  })()
  const chunks = ENCODERS[format](batches, source.columns)
  return { chunks, rows: () => rows, close: async () => source[Symbol.asyncDispose]() }
}

type Encoder = (batches: Source['batches'], columns: Source['columns']) => AsyncIterable<string | Uint8Array>

const ENCODERS: Readonly<Record<ExportFormat, Encoder>> = {
  async *csv(batches, columns) {
    yield stringify([columns.map(({ name }) => escapeFormula(name))])
    for await (const batch of batches) yield csvRows(columns, batch)
  },
  async *jsonl(batches) {
    for await (const batch of batches) yield batch.map(([line]) => `${escapeControls(line ?? '')}\n`).join('')
  },
  async *parquet(batches, columns) {
    const file = openParquet(columns)
    for await (const batch of batches) yield file.add(batch)
    yield file.end()
  },
}

/** JSON leaves DEL and the C1 controls as they are, and a terminal obeys some of them. */
function escapeControls(line: string): string {
  return line.replace(/[\u007f-\u009f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`)
}

/** Numbers, truth values, times. Of every other type a cell may begin like a formula. */
const HARMLESS_TYPES = new Set([16, 20, 21, 23, 26, 700, 701, 1082, 1083, 1114, 1184, 1186, 1266, 1700, 2950])

/** A null is an empty cell. */
function csvRows(columns: readonly Column[], rows: readonly Cells[]): string {
  const isHarmless = columns.map(({ type }) => HARMLESS_TYPES.has(type))
  return stringify(
    rows.map((row) =>
      row.map((cell, n) => (cell === null ? '' : isHarmless[n] ? cell : escapeFormula(cell))),
    ),
    // What stands at the edge of a cell belongs to it.
    { quoted_match: /^\s|\s$/ },
  )
}

export interface Source extends AsyncDisposable {
  /** With names that are unique. */
  readonly columns: readonly Column[]
  readonly batches: AsyncIterable<readonly Cells[]>
}

export interface SourceOptions {
  /** One column instead, `line`: each row as a JSON object. */
  readonly isJson?: boolean
  /** The last but one column becomes headings, and the last one what stands below them. */
  readonly isWide?: boolean
  readonly signal: AbortSignal
}

const ROWS_AT_ONCE = 1000
/** A table of Postgres has at most 1600. */
const MOST_HEADINGS = 1500

/**
 * @param what the name of a table or view, or SQL that selects
 * @throws ConfigurationError when there is no such view, or Postgres refuses the SQL; while batches are read,
 *   also an AbortError once the signal has ended the query
 */
export async function openSource(url: string, what: string, options: SourceOptions): Promise<Source> {
  const session = openSession(url, {
    name: 'storerank export',
    settings: { ...SEMANTIC_SETTINGS, ...PLANNING_SETTINGS, default_transaction_read_only: 'on' },
  })
  try {
    const asked = await toQuery(session, what)
    const query = options.isWide ? await widen(session, asked, options.signal) : asked
    const { columns, from } = await describe(session, query)
    const statement = options.isJson ? `select row_to_json(q)::text as line ${from}` : `select * ${from}`
    return {
      columns,
      batches: explained(session.readCells(statement, ROWS_AT_ONCE, options.signal), options.signal),
      [Symbol.asyncDispose]: () => session.end(),
    }
  } catch (error) {
    await session.end()
    throw explain(error)
  }
}

async function* explained(batches: Source['batches'], signal: AbortSignal): Source['batches'] {
  try {
    yield* batches
  } catch (error) {
    signal.throwIfAborted()
    throw explain(error)
  }
}

/** A name is all of a table or view; anything else has to be SQL. */
async function toQuery(session: Session, what: string): Promise<string> {
  const text = what.trim().replace(/;+$/, '')
  if (text === '') throw new ConfigurationError('There is no view and no SQL to export.')
  if (!/^\w+$/.test(text)) return text
  const relations = await session<{ name: string }[]>`
    select c.relname as name from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
      and not c.relispartition
    order by 1`
  const names = relations.map(({ name }) => name)
  if (names.includes(text)) return `select * from ${quote(text)}`
  throw new ConfigurationError(`There is no view ${JSON.stringify(text)}.${didYouMean(text, names)}`)
}

/** Its columns by names that are unique, and the clause that it is selected from by these. */
async function describe(session: Session, query: string) {
  const described = await session.describe(`select * from (${query}\n) as q`)
  const names = uniqueNames(described.map(({ name }) => name))
  const columns = described.map(({ type }, n) => ({ name: names[n] ?? '', type }))
  return { columns, from: `from (${query}\n) as q (${names.map(quote).join(', ')})` }
}

/** A row for each combination of the other columns, in their order, with a column for each heading. */
async function widen(session: Session, query: string, signal: AbortSignal): Promise<string> {
  const { columns, from } = await describe(session, query)
  const names = columns.map(({ name }) => name)
  const [keys, heading = '', value = ''] = [names.slice(0, -2), ...names.slice(-2).map(quote)]
  if (keys.length === 0)
    throw new ConfigurationError('--wide takes a SELECT of three columns or more: a row, a heading, a value.')
  const headings: string[] = []
  const distinct = `select h::text from (select distinct ${heading} as h ${from}) q
    where h is not null order by h`
  for await (const rows of session.readCells(distinct, ROWS_AT_ONCE, signal))
    headings.push(...rows.map(([cell]) => cell ?? ''))
  if (headings.length > MOST_HEADINGS)
    throw new ConfigurationError(`--wide would make ${headings.length} columns; ${MOST_HEADINGS} at most.`)
  const cells = headings.map(
    (text) =>
      `(array_agg(${value}) filter (where ${heading}::text = '${text.replaceAll("'", "''")}'))[1]
        as ${quote(text)}`,
  )
  const numbers = keys.map((_, n) => n + 1).join(', ')
  return `select ${[...keys.map(quote), ...cells].join(', ')} ${from} group by ${numbers} order by ${numbers}`
}

/** Two columns of one name would hide each other: the second gets a number by which no other is called. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names)
  return names.map((name, n) => {
    if (names.indexOf(name) === n) return name
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
  if (!isDatabaseError(error)) return error
  const { message, detail, hint } = error
  const parts = [`The database refused it: ${message}.`, detail, hint].filter(Boolean)
  return new ConfigurationError(parts.join(' '), { cause: error })
}
