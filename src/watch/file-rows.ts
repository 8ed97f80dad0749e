/**
 * The rows of a CSV file of watches, or of alerts. The header decides what the file is for; a row that does
 * not fit it is a misfit with its line, and the others go on. Separated by comma, semicolon or tab.
 */
import { pipeline, Readable } from 'node:stream'
import { type Info, parse } from 'csv-parse'
import { ConfigurationError } from '../errors.ts'
import { didYouMean } from '../suggest.ts'
import { unescapeFormula } from './cells.ts'
import { ALERTS, fileColumnsOf, WATCHES, type Watch } from './kinds.ts'

/** A row of the file: its cells that say something, by column of the table. */
export interface FileRow {
  readonly file: string
  readonly line: number
  readonly watch: Watch
  readonly cells: ReadonlyMap<string, string>
}

export interface RefusedRow {
  readonly file: string
  readonly line: number
  /** The keyword, app, collection, rule or channel; empty when the row does not say. */
  readonly subject: string
  readonly reason: string
}

/** A keyword, a note and fifty tags, each as long as it may be. */
const LONGEST_ROW_BYTES = 262_144
/** As Excel begins a file whose separator is not that of the country. */
const SEPARATOR_LINE = /^\ufeff?sep=(.)\r?\n?$/i

interface CsvRecord {
  readonly record: readonly string[]
  readonly info: Info
  readonly raw: string
}

/** What the file is for, and its rows one by one. */
export interface FileRows {
  readonly watches: readonly Watch[]
  readonly rows: AsyncIterable<FileRow | RefusedRow>
}

/** @throws ConfigurationError when the header is not that of a watchlist */
export async function readFileRows(file: string, text: AsyncIterable<string>): Promise<FileRows> {
  const records = parseRecords(file, text)
  const first = await records.next()
  if (first.done) throw new ConfigurationError(`There is nothing in ${file}.`)
  if ('reason' in first.value) {
    throw new ConfigurationError(`The first line of ${file} cannot be read: ${first.value.reason}.`)
  }
  const header = first.value.record.map(normalizeName)
  while (header.length > 1 && header.at(-1) === '') header.pop()
  if (header.length === 1 && /[,;\t]/.test(header[0] ?? '')) {
    throw new ConfigurationError(
      `The first line of ${file} stands in quotes as a whole, so that it is one cell: take them off each ` +
        'line.',
    )
  }
  const watches = chooseWatches(file, header)
  return { watches, rows: readRows(file, records, header, watches) }
}

/** `Location Code` and `location-code` are location_code. */
function normalizeName(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, '_')
}

async function* parseRecords(
  file: string,
  text: AsyncIterable<string>,
): AsyncGenerator<CsvRecord | RefusedRow, undefined> {
  const { delimiter, skippedLines, rest } = await peekHeader(text)
  let broken: { code?: string; lines?: number } | undefined
  // The parser throws what keeps the file from being read.
  const parser = pipeline(
    Readable.from(rest),
    parse({
      bom: true,
      delimiter,
      // Files that were put together have several.
      record_delimiter: ['\r\n', '\n', '\r'],
      trim: true,
      info: true,
      raw: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      relax_column_count: true,
      // Such rows are refused one by one (`isWellQuoted`): the parser itself loses its place in the file
      // after the first.
      relax_quotes: true,
      max_record_size: LONGEST_ROW_BYTES,
      skip_records_with_error: true,
      on_skip: (error) => {
        broken = error as { code?: string; lines?: number }
        return undefined
      },
    }),
    () => {},
  )
  const isWellQuoted = quoteRule(delimiter)
  for await (const each of parser) {
    const { record, info, raw } = each as CsvRecord
    const line = info.lines + skippedLines
    if (/[\ufffd\0]/.test(raw)) {
      const reason =
        'it has bytes that are no letters of UTF-8, or the sign � of a letter that was lost; where all of the ' +
        'file is in another encoding, name it: --encoding'
      yield { file, line, subject: '', reason }
    } else if (raw.includes('"') && !isWellQuoted.test(raw.trim())) {
      yield {
        file,
        line,
        subject: '',
        reason: 'its quotes do not match: a cell with quotes in it is written "say ""hi"""',
      }
    } else yield { record, info: { ...info, lines: line }, raw }
  }
  if (broken === undefined) return
  const line = (broken.lines ?? 0) + skippedLines
  const reason =
    'a quote before it is not closed, or it is longer than 262,144 bytes: nothing after it could be read'
  yield { file, line, subject: '', reason }
}

/** Looks at the first line without losing it. */
async function peekHeader(
  text: AsyncIterable<string>,
): Promise<{ delimiter: string; skippedLines: number; rest: AsyncIterable<string> }> {
  const chunks = text[Symbol.asyncIterator]()
  let head = ''
  let next = await chunks.next()
  while (!next.done) {
    head += next.value
    if (/[\r\n]/.test(head) || head.length > LONGEST_ROW_BYTES) break
    next = await chunks.next()
  }
  const end = head.search(/[\r\n]|$/)
  const line = head.slice(0, end + 2)
  const [, separator] = SEPARATOR_LINE.exec(line) ?? []
  const start = separator === undefined ? 0 : line.length
  async function* rest() {
    yield head.slice(start)
    for (let more = await chunks.next(); !more.done; more = await chunks.next()) yield more.value
  }
  const delimiter = separator ?? findDelimiter(head.slice(0, end))
  return { delimiter, skippedLines: separator === undefined ? 0 : 1, rest: rest() }
}

/** Names of columns have none of them. What stands behind the last name is left over from empty columns. */
function findDelimiter(line: string): string {
  const names = line.replace(/[\s;,]+$/, '')
  return /[;\t]/.exec(names)?.[0] ?? (names.includes(',') ? ',' : (/[;\t]/.exec(line)?.[0] ?? ','))
}

/** A line of cells that have no quote, or begin and end with one and have only pairs within. */
function quoteRule(delimiter: string): RegExp {
  const mark = delimiter === '\t' ? '\\t' : delimiter
  const cell = `(?:[^"${mark}]*|[^\\S${mark}]*"(?:[^"]|"")*"[^\\S${mark}]*)`
  return new RegExp(`^${cell}(?:${mark}${cell})*$`)
}

function chooseWatches(file: string, header: readonly string[]): readonly Watch[] {
  const alerts = ALERTS.filter(({ subject }) => header.includes(subject))
  const watches: readonly Watch[] =
    alerts.length > 0 ? alerts : WATCHES.filter(({ subject }) => header.includes(subject))
  if (watches.length === 0) {
    const subjects = WATCHES.map(({ subject }) => subject)
    const near = header.map((name) => didYouMean(name, subjects, 2)).find((text) => text !== '') ?? ''
    throw new ConfigurationError(
      `The first line of ${file} must name the columns, and among them one of keyword, app_id and ` +
        'collection: by that one it is known what is watched. Of a file of alerts it names rule or ' +
        `channel.${near}`,
    )
  }
  const columns = [...new Set(watches.flatMap(fileColumnsOf))]
  const unknown = header.find((name) => name !== '' && !columns.includes(name))
  if (unknown !== undefined) {
    const tables = watches.map(({ table }) => table).join(' and ')
    const beginning = columns.find((name) => name.startsWith(unknown) || unknown.startsWith(name))
    const meant =
      didYouMean(unknown, columns) || (beginning === undefined ? '' : ` Did you mean ${beginning}?`)
    throw new ConfigurationError(
      `A file for ${tables} has no column ${JSON.stringify(unknown)}.${meant} Columns: ` +
        `${columns.join(', ')}.`,
    )
  }
  const twice = header.find((name, index) => name !== '' && header.indexOf(name) !== index)
  if (twice !== undefined) throw new ConfigurationError(`The column ${twice} is in ${file} twice.`)
  return watches
}

async function* readRows(
  file: string,
  records: AsyncIterable<CsvRecord | RefusedRow>,
  header: readonly string[],
  watches: readonly Watch[],
): AsyncGenerator<FileRow | RefusedRow> {
  for await (const record of records) {
    if ('reason' in record) yield record
    // Of files that were put together each has it.
    else if (String(record.record.map(normalizeName)) !== String(header))
      yield fitRow(file, record, header, watches)
  }
}

/** A refusal where it is not known what the row watches, or it says what its kind of watch has not. */
function fitRow(
  file: string,
  { record, info: { lines: line } }: CsvRecord,
  header: readonly string[],
  watches: readonly Watch[],
): FileRow | RefusedRow {
  const cells = new Map(
    header.flatMap((name, index) => (record[index] ? [[name, unescapeFormula(record[index])]] : [])),
  )
  const all = watches.filter(({ subject }) => cells.has(subject))
  // A rule may name the channel that tells it.
  const named = cells.has('rule') ? all.filter((each) => each.subject === 'rule') : all
  const subject = named.map((each) => cells.get(each.subject)).join(', ')
  const refuse = (reason: string) => ({ file, line, subject, reason })
  // Spreadsheets fill a table up with empty cells.
  const isLonger = record.slice(header.length).some((cell) => cell !== '') || cells.has('')
  if (record.length < header.length || isLonger) {
    return refuse(`it has ${record.length} cells, and the first line has ${header.length}`)
  }
  const [watch, other] = watches.length === 1 ? watches : named
  if (watch === undefined || other !== undefined) {
    return refuse(`it must name one of ${watches.map((each) => each.subject).join(', ')}, and one alone`)
  }
  const foreign = [...cells.keys()].find((name) => !fileColumnsOf(watch).includes(name))
  if (foreign !== undefined) return refuse(`${watch.table} has no column ${foreign}`)
  if (watch.key === watch.subject) return { file, line, watch, cells }
  const renamed = [...cells].map(([name, cell]) => [name === watch.subject ? watch.key : name, cell] as const)
  return { file, line, watch, cells: new Map(renamed) }
}
