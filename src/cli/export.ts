/** `storerank export`: a view, SQL that selects, the watches, or the rules of alerts, as a file or on stdout, however many rows there are. */
import { extname, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { requireCurrentSchema } from '../db/migrate.ts'
import { ConfigurationError } from '../errors.ts'
import { toPrintable } from '../log.ts'
import { type Export, type ExportFormat, openExport } from '../report/export/export.ts'
import { writeWholeFile } from '../report/write-file.ts'
import { openWatchExport } from '../watch/export.ts'
import { ALERTS, WATCHES, type Watch } from '../watch/kinds.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { formatCount } from './print.ts'

const FORMATS_BY_NAME: Readonly<Record<string, ExportFormat>> = {
  '.csv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.parquet': 'parquet',
}

/** What is exported as the file that `storerank import` reads. */
const FILES_BY_NAME: ReadonlyMap<string, readonly Watch[]> = new Map<string, readonly Watch[]>([
  ['watches', WATCHES],
  ['alerts', ALERTS],
])

export async function run(options: CommandOptions['export'], context: CommandContext): Promise<number> {
  const format = chooseFormat(options, context)
  const kinds = FILES_BY_NAME.get(options.what)
  const session = await openDatabaseSession(context, { migrates: false })
  try {
    await requireCurrentSchema(session.db)
    const opened =
      kinds !== undefined
        ? await openWatchExport(session.db, kinds)
        : await openExport(session.db.url, options.what, { format, signal: context.signal })
    try {
      if (options.out === undefined) await toStdout(opened, context)
      else await toFile(opened, resolve(options.out), context)
    } finally {
      await opened.close()
    }
    return 0
  } finally {
    await session.close()
  }
}

function chooseFormat(
  { what, format, out }: CommandOptions['export'],
  { stdout }: CommandContext,
): ExportFormat {
  const chosen = format ?? FORMATS_BY_NAME[extname(out ?? '').toLowerCase()] ?? 'csv'
  if (FILES_BY_NAME.has(what) && chosen !== 'csv') {
    throw new ConfigurationError('Watches and alerts are exported as CSV, which `storerank import` reads.')
  }
  if (chosen === 'parquet' && out === undefined && stdout.isTTY) {
    throw new ConfigurationError('Parquet is nothing for a terminal: give a file with --out.')
  }
  return chosen
}

async function toFile(opened: Export, file: string, { stdout }: CommandContext): Promise<void> {
  await writeWholeFile(file, opened.chunks)
  stdout.write(`${formatCount(opened.rows())} rows\n${file}\n`)
}

/** A reader that has enough (`storerank export … | head`) ends it. */
async function toStdout({ chunks }: Export, { stdout }: CommandContext): Promise<void> {
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
