/**
 * What commands print on stdout: tables for people, JSON and CSV for programs. A table never lets text from outside
 * steer the terminal; JSON and CSV keep the data exact.
 */
import { stringify } from 'csv-stringify/sync'
import { getBorderCharacters, table } from 'table'
import { toPrintable } from '../log.ts'

export { formatCount, formatMicros } from '../report/words.ts'

/** A stream to print on; `columns` is the width of the terminal when it is one. */
export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }

export type Row = Readonly<Record<string, unknown>>

export interface Column {
  readonly key: string
  /** Default: the key. */
  readonly title?: string
  /** Default: right when every value is a number. */
  readonly align?: 'left' | 'right'
}

/** A column is never cut below this, even where the table then gets wider than the terminal. */
const MIN_COLUMN_WIDTH = 6
/** A space on both sides and the line before it; one more line ends the table. */
const COLUMN_FRAME_WIDTH = 3

/** Prints a table as wide as it needs to be; on a terminal, long cells are cut so that each row fits one line. */
export function printTable(rows: readonly Row[], columns: readonly Column[], { stdout }: { stdout: Output }) {
  if (columns.length === 0 || rows.length === 0) {
    stdout.write('(no rows)\n')
    return
  }
  const cells = [
    columns.map(({ key, title }) => formatCell(title ?? key)),
    ...rows.map((row) => columns.map(({ key }) => formatCell(row[key]))),
  ]
  // A pseudo-terminal without a size has 0 columns.
  const maxWidth = stdout.isTTY ? fitColumns(cells, stdout.columns || 80) : Number.POSITIVE_INFINITY
  stdout.write(
    table(
      cells.map((row) => row.map((cell) => cutToWidth(cell, maxWidth))),
      {
        border: getBorderCharacters('norc'),
        columns: columns.map((column) => ({ alignment: column.align ?? defaultAlignment(rows, column) })),
        drawHorizontalLine: (line, rowCount) => line <= 1 || line === rowCount,
      },
    ),
  )
}

/** Prints JSON. Integers of the database come as numbers where they fit, else as strings. */
export function printJson(value: unknown, { stdout }: { stdout: Output }) {
  const text = JSON.stringify(
    value,
    (_key, item) => (typeof item === 'bigint' ? narrowBigint(item) : item),
    2,
  )
  // JSON leaves DEL and the C1 controls as they are, and a terminal obeys some of them.
  stdout.write(
    `${text.replace(/[\u007f-\u009f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`)}\n`,
  )
}

/**
 * Prints CSV with a header. The data stays exact, also where a spreadsheet would take a cell for a formula: a changed
 * title is worse than a warning of the spreadsheet. Only a terminal gets control characters as visible signs.
 */
export function printCsv(rows: readonly Row[], columns: readonly Column[], { stdout }: { stdout: Output }) {
  const records = rows.map((row) => columns.map(({ key }) => exactText(row[key])))
  const text = stringify([columns.map(({ key, title }) => title ?? key), ...records])
  stdout.write(stdout.isTTY ? toPrintable(text) : text)
}

/** An instant in UTC to the second, in a form that Postgres reads too: `2026-01-31 04:05:06Z`. */
export function formatInstant(instant: Date): string {
  return `${instant.toISOString().slice(0, 19).replace('T', ' ')}Z`
}

function formatCell(value: unknown): string {
  const text = value instanceof Date ? formatInstant(value) : exactText(value)
  return toPrintable(text)
    .replace(/\r?\n|[\u2028\u2029]/g, '␊')
    .replaceAll('\t', '␉')
}

function exactText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  if (typeof value === 'object')
    return JSON.stringify(value, (_key, item) => (typeof item === 'bigint' ? String(item) : item))
  return String(value)
}

function narrowBigint(value: bigint): number | string {
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
}

function defaultAlignment(rows: readonly Row[], { key }: Column): 'left' | 'right' {
  const values = rows.map((row) => row[key]).filter((value) => value !== null && value !== undefined)
  const isNumeric =
    values.length > 0 && values.every((value) => typeof value === 'number' || typeof value === 'bigint')
  return isNumeric ? 'right' : 'left'
}

/** The greatest width of a cell with which the table fits the terminal: the widest columns give way first. */
function fitColumns(cells: readonly (readonly string[])[], terminalWidth: number): number {
  const widths = (cells[0] ?? []).map((_, index) =>
    cells.reduce((widest, row) => Math.max(widest, measureWidth(row[index] ?? '')), 0),
  )
  const available = terminalWidth - widths.length * COLUMN_FRAME_WIDTH - 1
  let max = Math.max(...widths)
  while (max > MIN_COLUMN_WIDTH && widths.reduce((sum, width) => sum + Math.min(width, max), 0) > available)
    max--
  return max
}

/** An upper bound of the columns that a text takes on a terminal: all that may be wide or an emoji counts two. */
function measureWidth(text: string): number {
  let width = 0
  for (const character of text) width += (character.codePointAt(0) ?? 0) >= 0x1100 ? 2 : 1
  return width
}

function cutToWidth(text: string, maxWidth: number): string {
  if (measureWidth(text) <= maxWidth) return text
  let kept = ''
  let width = measureWidth('…')
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    width += measureWidth(segment)
    if (width > maxWidth) break
    kept += segment
  }
  return `${kept}…`
}
