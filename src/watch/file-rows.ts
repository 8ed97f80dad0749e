/**
 * The rows of a CSV file of watches, or of alerts. Its form decides what it is for; a row that does not fit
 * it is refused with its line, and the others go on. Separated by comma, semicolon or tab.
 */
import { pipeline, Readable } from 'node:stream'
import { type Info, parse } from 'csv-parse'
import { ConfigurationError } from '../errors.ts'
import { type Form, type FormContext, findForm, HEADER_WITHIN } from './form.ts'
import type { Lacking, Understanding } from './understand.ts'
import { fitRecord, type RefusedRow } from './understand.ts'

/** A keyword, a note and fifty tags, each as long as it may be. */
const LONGEST_ROW_BYTES = 262_144
/** As Excel begins a file whose separator is not that of the country. */
const SEPARATOR_LINE = /^\ufeff?sep=(.)$/i
const LOST_LETTER =
  'it has bytes that are no letters of UTF-8, or the sign � of a letter that was lost; where all of the ' +
  'file is in another encoding, name it: --encoding'
const STRAY_QUOTE = 'its quotes do not match: a cell with quotes in it is written "say ""hi"""'
const OPEN_QUOTE =
  'a quote before it is not closed, or it is longer than 262,144 bytes: nothing after it could be read'

interface Line {
  readonly line: number
  readonly cells: readonly string[]
  readonly raw: string
}

export interface FileContext extends FormContext {
  readonly understanding: Understanding
}

/** @throws ConfigurationError when it is not known what the file is about, or for whom */
export async function readFileRows(file: string, text: AsyncIterable<string>, context: FileContext) {
  const records = parseRecords(file, text)
  const head: (Line | RefusedRow)[] = []
  while (head.length < HEADER_WITHIN) {
    const { done, value } = await records.next()
    if (done) break
    head.push(value)
  }
  const [first] = head
  if (first === undefined) throw new ConfigurationError(`There is nothing in ${file}.`)
  if ('reason' in first)
    throw new ConfigurationError(`The first line of ${file} cannot be read: ${first.reason}.`)
  const [only = '', other] = first.cells
  if (other === undefined && /[,;\t]/.test(only) && /^"/.test(first.raw.trim())) {
    throw new ConfigurationError(
      `The first line of ${file} stands in quotes as a whole, so that it is one cell: take them off each ` +
        'line.',
    )
  }
  const readable = head.flatMap((each) => ('reason' in each ? [] : [each.cells]))
  const form = findForm(file, readable, context)
  refuseLacking(file, form, context.understanding.lacking)
  const above = readable.slice(0, form.headerLines)
  // Of files that were put together each has it.
  const header = above.at(-1)?.join('\n')
  async function* rows() {
    for await (const each of chain(head, records)) {
      if ('reason' in each) yield each
      else if (!above.includes(each.cells) && each.cells.join('\n') !== header)
        yield* fitRecord({ file, line: each.line }, each.cells, form, context.understanding)
    }
  }
  return { watches: form.watches, told: form.told, rows: rows() }
}

async function* chain<Item>(first: Iterable<Item>, rest: AsyncIterable<Item>): AsyncGenerator<Item> {
  yield* first
  yield* rest
}

function refuseLacking(file: string, { watches, columns, told }: Form, given: Lacking): void {
  const isHistory = watches.some(({ table }) => table === 'imported_rank')
  if (!isHistory && !watches.some(({ table }) => table === 'keyword_watch')) return
  const has = (...names: string[]) =>
    columns.some((column) => column !== null && names.includes('name' in column ? column.name : 'country'))
  const lacking = [
    (given.project ?? given.onlyProject) === undefined && !has('project') && 'the project: --project NAME',
    given.store === undefined && !has('store', 'app_id') && 'the store: --store ios or --store android',
    given.country === undefined &&
      !has('country', 'location_code', 'location_name') &&
      'the country: --country US, or several, as US,GB',
    isHistory && given.app === undefined && !has('app_id') && 'the app: --app ID',
    isHistory && !has('day') && 'the day: --map "…=day"',
    isHistory && !has('rank') && 'the rank: --map "…=rank"',
  ].filter((each) => each !== false)
  if (lacking.length === 0) return
  const sentences = [`${file} does not say some of what it needs. Give ${lacking.join('; ')}.`, ...told]
  throw new ConfigurationError(sentences.join(' '))
}

async function* parseRecords(
  file: string,
  text: AsyncIterable<string>,
): AsyncGenerator<Line | RefusedRow, undefined> {
  const { head, rest } = await peek(text)
  const first = head.slice(0, head.search(/[\r\n]|$/))
  const [, separator] = SEPARATOR_LINE.exec(first) ?? []
  const delimiter = separator ?? findDelimiter(first) ?? delimiterOf(head)
  let broken: { lines?: number } | undefined
  const parser = pipeline(
    Readable.from(chain([head], rest)),
    parse({
      bom: true,
      delimiter,
      // Files that were put together have several.
      record_delimiter: ['\r\n', '\n', '\r'],
      from_line: separator === undefined ? 1 : 2,
      trim: true,
      info: true,
      raw: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      relax_column_count: true,
      // Such rows are refused one by one (`quoteRule`): the parser itself loses its place in the file after
      // the first.
      relax_quotes: true,
      max_record_size: LONGEST_ROW_BYTES,
      skip_records_with_error: true,
      on_skip: (error) => {
        broken = error as { lines?: number }
        return undefined
      },
    }),
    () => {},
  )
  const isWellQuoted = quoteRule(delimiter)
  const refuse = (line: number, reason: string) => ({ file, line, subject: '', reason })
  for await (const each of parser) {
    const { record: cells, info, raw } = each as { record: string[]; info: Info; raw: string }
    if (/[\ufffd\0]/.test(raw)) yield refuse(info.lines, LOST_LETTER)
    else if (raw.includes('"') && !isWellQuoted.test(raw.trim())) yield refuse(info.lines, STRAY_QUOTE)
    else yield { line: info.lines, cells, raw }
  }
  if (broken !== undefined) yield refuse(broken.lines ?? 0, OPEN_QUOTE)
}

async function peek(text: AsyncIterable<string>) {
  const rest = text[Symbol.asyncIterator]()
  let head = ''
  while (head.length <= LONGEST_ROW_BYTES && (head.match(/[\r\n]+/g) ?? []).length <= HEADER_WITHIN) {
    const { done, value } = await rest.next()
    if (done) break
    head += value
  }
  return { head, rest: { [Symbol.asyncIterator]: () => rest } }
}

/** Names of columns have none of them. What stands behind the last name is left over from empty columns. */
function findDelimiter(line: string): string | null {
  const names = line.replace(/[\s;,]+$/, '')
  return /[;\t]/.exec(names)?.[0] ?? (names.includes(',') ? ',' : (/[;\t]/.exec(line)?.[0] ?? null))
}

/** Below a title: that of two lines one below the other, because a keyword may have a comma. */
function delimiterOf(text: string): string {
  const found = text.split(/[\r\n]+/).map(findDelimiter)
  return found.find((each, index) => each !== null && each === found[index + 1]) ?? ','
}

/** A line of cells that have no quote, or begin and end with one and have only pairs within. */
function quoteRule(delimiter: string): RegExp {
  const mark = delimiter === '\t' ? '\\t' : delimiter
  const cell = `(?:[^"${mark}]*|[^\\S${mark}]*"(?:[^"]|"")*"[^\\S${mark}]*)`
  return new RegExp(`^${cell}(?:${mark}${cell})*$`)
}
