/** A source in the bytes of a format, batch by batch: nothing is held but what is being written. */
import { csvHead, csvRows } from './csv.ts'
import { ParquetFile } from './parquet.ts'
import { openSource, type Source } from './source.ts'

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
  let rows = 0
  const counted = countRows(source, (count) => {
    rows += count
  })
  return { chunks: ENCODERS[format](counted), rows: () => rows, close: source.close }
}

function countRows(
  { columns, batches }: Source,
  count: (rows: number) => void,
): Pick<Source, 'columns' | 'batches'> {
  return {
    columns,
    batches: (async function* () {
      for await (const batch of batches) {
        count(batch.length)
        yield batch
      }
    })(),
  }
}

type Encoder = (source: Pick<Source, 'columns' | 'batches'>) => AsyncIterable<string | Uint8Array>

const ENCODERS: Readonly<Record<ExportFormat, Encoder>> = {
  async *csv({ columns, batches }) {
    yield csvHead(columns)
    for await (const batch of batches) yield csvRows(columns, batch)
  },
  async *jsonl({ batches }) {
    for await (const batch of batches) yield batch.map(([line]) => `${escapeControls(line ?? '')}\n`).join('')
  },
  async *parquet({ columns, batches }) {
    const file = new ParquetFile(columns)
    for await (const batch of batches) {
      const bytes = file.add(batch)
      if (bytes.length > 0) yield bytes
    }
    yield file.end()
  },
}

/** JSON leaves DEL and the C1 controls as they are, and a terminal obeys some of them. */
function escapeControls(line: string): string {
  return line.replace(/[\u007f-\u009f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`)
}
