/** A view, a SELECT, watches or rules of alerts, to a file or stdout, of any size. */
import { extname, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ConfigurationError } from '../../errors.ts'
import { toPrintable } from '../../log.ts'
import { type Export, type ExportFormat, openExport } from '../../report/export/export.ts'
import { writeWholeFile } from '../../report/write-file.ts'
import { countOf } from '../../text/words.ts'
import { openWatchExport } from '../../watch/export.ts'
import { ALERTS, WATCHES, type Watch } from '../../watch/kinds.ts'
import { argument, command, flag, type Given, option } from '../command.ts'
import { database } from '../database-session.ts'
import { type Output, verbatim } from '../document.ts'
import { oneOf } from '../option-values.ts'

const FORMATS_BY_NAME: Readonly<Record<string, ExportFormat>> = {
  '.csv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.parquet': 'parquet',
}

/** Names of what is not written: the program that they are for refuses CSV under them. */
const OTHER_FORMATS = /^\.(xlsx?|xlsm|ods|numbers|json|xml|html?|pdf|zip|gz|zst|sqlite|db)$/i

/** What is exported as the file that `storerank import` reads. */
const FILES_BY_NAME = new Map<string, readonly Watch[]>(Object.entries({ watches: WATCHES, alerts: ALERTS }))
/** Receivers of alerts are nobody else's business, by whatever name or SQL they come. */
const WITH_RECEIVERS = /\balert(s|_channel)\b/i

const options = {
  format: option(
    '<format>',
    'csv, jsonl or parquet (default: by the name of the file, else csv)',
    oneOf('format', ['csv', 'jsonl', 'parquet']),
  ),
  out: option('<file>', 'file to write, whole or not at all (default: stdout)'),
  wide: flag('a column for each value of the last but one column, with the last column below it'),
}

type Options = Given<typeof options> & { readonly what: string }

export const exportCommand = command({
  group: 'Look',
  summary: 'stream a view, a SELECT, watches or rules of alerts: to a file or stdout, of any size',
  arguments: {
    what: argument('<what>', 'a view, a SELECT, or `watches` or `alerts`, which `storerank import` reads'),
  },
  options,
  examples: ['storerank export rank_history --out ranks.parquet'],
  needs: database({ readsAnyState: true }),
  run: async (given, { stdout, signal }, { db }) => {
    const format = chooseFormat(given, stdout)
    const { what, out, wide: isWide } = given
    const kinds = FILES_BY_NAME.get(what)
    const opened =
      kinds === undefined
        ? await openExport(db.url, what, { format, isWide, signal })
        : await openWatchExport(db, kinds)
    try {
      if (out === undefined) {
        await writeToStdout(opened.chunks, stdout)
        return { parts: [] }
      }
      const file = resolve(out)
      const chunks = format === 'csv' ? withMark(opened.chunks) : opened.chunks
      await writeWholeFile(file, chunks, WITH_RECEIVERS.test(what) ? 'nobody' : 'by umask')
      return { parts: [countOf(opened.rows(), 'row'), verbatim(file)] }
    } finally {
      await opened.close()
    }
  },
})

/** @throws ConfigurationError for a format that the rows cannot have, or not there */
function chooseFormat({ what, format, out, wide }: Options, stdout: Output): ExportFormat {
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

/** Spreadsheets take a file without a byte order mark for one in the encoding of the country. */
async function* withMark(chunks: Export['chunks']): Export['chunks'] {
  yield '\ufeff'
  yield* chunks
}

/** A reader that has enough (`storerank export … | head`) ends it. */
async function writeToStdout(chunks: Export['chunks'], stdout: Output): Promise<void> {
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
