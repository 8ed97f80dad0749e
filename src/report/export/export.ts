/** A source in the bytes of a format, batch by batch: nothing is held but what is being written. */
import { stringify } from 'csv-stringify/sync'
import { escapeFormula } from '../../watch/spellings.ts'
import { openParquet } from './parquet.ts'
import { type Cells, type Column, openSource } from './source.ts'

export const EXPORT_FORMATS = ['csv', 'jsonl', 'parquet'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export interface Export {
  readonly chunks: AsyncIterable<string | Uint8Array>
  /** Counts up while the chunks are read. */
  rows(): number
  close(): Promise<void>
}

/**
 * Opens an export of a view, or of SQL that selects.
 * @throws ConfigurationError when there is no such view, or Postgres refuses the SQL
 */
export async function openExport(
  url: string,
  what: string,
  {
    format,
    isWide = false,
    signal,
  }: { readonly format: ExportFormat; readonly isWide?: boolean; readonly signal: AbortSignal },
): Promise<Export> {
  const source = await openSource(url, what, { isJson: format === 'jsonl', isWide, signal })
  const { head, add, end } = ENCODERS[format](source.columns)
  let rows = 0
  const chunks = (async function* () {
    if (head !== undefined) yield head
    for await (const batch of source.batches) {
      rows += batch.length
      const chunk = add(batch)
      if (chunk.length > 0) yield chunk
    }
    if (end !== undefined) yield end()
  })()
  return { chunks, rows: () => rows, close: async () => source[Symbol.asyncDispose]() }
}

interface Encoder {
  readonly head?: string
  add(batch: readonly Cells[]): string | Uint8Array
  end?(): Uint8Array
}

const ENCODERS: Readonly<Record<ExportFormat, (columns: readonly Column[]) => Encoder>> = {
  csv: (columns) => ({ head: csvHead(columns), add: (batch) => csvRows(columns, batch) }),
  jsonl: () => ({ add: (batch) => batch.map(([line]) => `${escapeControls(line ?? '')}\n`).join('') }),
  parquet: (columns) => openParquet(columns),
}

/** JSON leaves DEL and the C1 controls as they are, and a terminal obeys some of them. */
function escapeControls(line: string): string {
  return line.replace(/[\u007f-\u009f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`)
}

/** Numbers, truth values, times. Of every other type a cell may begin like a formula. */
const HARMLESS_TYPES = new Set([16, 20, 21, 23, 26, 700, 701, 1082, 1083, 1114, 1184, 1186, 1266, 1700, 2950])

function csvHead(columns: readonly Column[]): string {
  return stringify([columns.map(({ name }) => escapeFormula(name))])
}

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
