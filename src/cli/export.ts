/** What `storerank export` does: a view, a SELECT, watches or rules, to a file or stdout, of any size. */
import { extname, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Database } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { toPrintable } from '../log.ts'
import { type Export, type ExportFormat, openExport } from '../report/export/export.ts'
import { writeWholeFile } from '../report/write-file.ts'
import { countOf } from '../text/words.ts'
import { openWatchExport } from '../watch/export.ts'
import { ALERTS, WATCHES, type Watch } from '../watch/kinds.ts'
import type { CommandContext } from './command.ts'
import { type Document, verbatim } from './document.ts'

const FORMATS_BY_NAME: Readonly<Record<string, ExportFormat>> = {
  '.csv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.parquet': 'parquet',
}

/** Names of what is not written: the program that they are for refuses CSV under them. */
const OTHER_FORMATS = /^\.(xlsx?|xlsm|ods|numbers|json|xml|html?|pdf|zip|gz|zst|sqlite|db)$/i

/** What is exported as the file that `storerank import` reads. */
const FILES_BY_NAME: ReadonlyMap<string, readonly Watch[]> = new Map<string, readonly Watch[]>([
  ['watches', WATCHES],
  ['alerts', ALERTS],
])

interface ExportOptions {
  /** A view, SQL, or `watches` or `alerts`. */
  readonly what: string
  /** Default: by the name of the file. */
  readonly format?: ExportFormat
  readonly out?: string
  readonly wide: boolean
}

/** @throws ConfigurationError for a format that the rows cannot have, or not there */
function chooseFormat(
  { what, format, out, wide }: ExportOptions,
  { stdout }: Pick<CommandContext, 'stdout'>,
): ExportFormat {
  const ending = extname(out ?? '')
  if (format === undefined && OTHER_FORMATS.test(ending)) {
    throw new ConfigurationError(
      `${ending} is not written: name the file .csv, which spreadsheets open, .jsonl or .parquet, or give ` +
        '--format.',
    )
  }
  const chosen = format ?? FORMATS_BY_NAME[ending.toLowerCase()] ?? 'csv'
  if (FILES_BY_NAME.has(what) && (chosen !== 'csv' || wide)) {
    throw new ConfigurationError('Watches and alerts are exported as CSV, which `storerank import` reads.')
  }
  if (chosen === 'parquet' && out === undefined && stdout.isTTY) {
    throw new ConfigurationError('Parquet is nothing for a terminal: give a file with --out.')
  }
  return chosen
}

export async function exportRows(
  db: Database,
  options: ExportOptions,
  { stdout, signal }: CommandContext,
): Promise<Document> {
  const format = chooseFormat(options, { stdout })
  const { what, out } = options
  const kinds = FILES_BY_NAME.get(what)
  const opened =
    kinds !== undefined
      ? await openWatchExport(db, kinds)
      : await openExport(db.url, what, { format, isWide: options.wide, signal })
  try {
    if (out !== undefined)
      return await toFile(opened, resolve(out), {
        isCsv: format === 'csv',
        isSecret: WITH_RECEIVERS.test(what),
      })
    await toStdout(opened, stdout)
    return { parts: [] }
  } finally {
    await opened.close()
  }
}

/** Receivers of alerts are nobody else's business, by whatever name or SQL they come. */
const WITH_RECEIVERS = /\balert(s|_channel)\b/i

async function toFile(
  opened: Export,
  file: string,
  { isCsv, isSecret }: { readonly isCsv: boolean; readonly isSecret: boolean },
): Promise<Document> {
  const chunks = isCsv ? withMark(opened.chunks) : opened.chunks
  await writeWholeFile(file, chunks, isSecret ? 'nobody' : 'by umask')
  return { parts: [countOf(opened.rows(), 'row'), verbatim(file)] }
}

/** Spreadsheets take a file without a byte order mark for one in the encoding of the country. */
async function* withMark(chunks: Export['chunks']): Export['chunks'] {
  yield '\ufeff'
  yield* chunks
}

/** A reader that has enough (`storerank export … | head`) ends it. */
async function toStdout({ chunks }: Export, stdout: CommandContext['stdout']): Promise<void> {
  const shown = stdout.isTTY ? printable(chunks) : chunks
  try {
    await pipeline(Readable.from(shown, { objectMode: false }), stdout, { end: false })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  }
}

/** Only a terminal gets control characters as visible signs; a file stays exact. */
async function* printable(chunks: Export['chunks']): Export['chunks'] {
  for await (const chunk of chunks) yield typeof chunk === 'string' ? toPrintable(chunk) : chunk
}
