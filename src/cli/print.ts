/**
 * What commands print on stdout: tables for people, JSON and CSV for programs. A table never lets text from outside
 * steer the terminal; JSON and CSV keep the data exact.
 */
import { stringify } from 'csv-stringify/sync'
import { getBorderCharacters, table } from 'table'
import { toPrintable } from '../log.ts'
import { formatCount } from '../report/words.ts'

export { formatCount, formatMicros } from '../report/words.ts'

/** A stream to print on; `columns` is the width of the terminal when it is one. */
export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

export type Row = Readonly<Record<string, unknown>>

export interface Column {
  readonly key: string
  /** Default: the key. */
  readonly title?: string
  /** Default: right when every value is a number. */
  readonly align?: 'left' | 'right'
}

/** Longer than whatever identifies a row: a keyword has 700 characters at most. */
const MAX_CELL_CHARACTERS = 1000
/** A column is never narrower than this, even where the table then gets wider than the terminal. */
const MIN_COLUMN_WIDTH = 6
/** A space on both sides and the line before it; one more line ends the table. */
const COLUMN_FRAME_WIDTH = 3

/** Prints a table as wide as it needs to be; on a terminal, long cells take several lines so that the table fits it. */
export function printTable(rows: readonly Row[], columns: readonly Column[], { stdout }: { stdout: Output }) {
  stdout.write(drawTable(rows, columns, widthOf(stdout)))
}

/** How many columns a line may have. A pseudo-terminal without a size has 0. */
export function widthOf({ isTTY, columns }: Pick<Output, 'isTTY' | 'columns'>): number {
  return isTTY ? columns || 80 : Number.POSITIVE_INFINITY
}

/** The table as text, no wider than the terminal. */
export function drawTable(rows: readonly Row[], columns: readonly Column[], terminalWidth: number): string {
  if (columns.length === 0 || rows.length === 0) return '(no rows)\n'
  const cells = [
    columns.map(({ key, title }) => formatCell(title ?? key)),
    ...rows.map((row) => columns.map(({ key }) => formatCell(row[key]))),
  ]
  const widths = fitColumns(cells, terminalWidth)
  return table(
    cells.map((row) => row.map((cell, index) => wrapCell(cell, widths[index] ?? MIN_COLUMN_WIDTH))),
    {
      border: getBorderCharacters('norc'),
      columns: columns.map((column) => ({ alignment: column.align ?? defaultAlignment(rows, column) })),
      drawHorizontalLine: (line, rowCount) => line <= 1 || line === rowCount,
    },
  )
}

/** Each row as a block of its own, a line for each column: for rows that are wider than any terminal. */
export function drawExpanded(rows: readonly Row[], columns: readonly Column[]): string {
  if (columns.length === 0 || rows.length === 0) return '(no rows)\n'
  const titles = columns.map(({ key, title }) => formatCell(title ?? key))
  const width = titles.reduce((widest, title) => Math.max(widest, measureWidth(title)), 0)
  const blocks = rows.map((row, index) => {
    const lines = columns.map(({ key }, nth) => {
      const title = titles[nth] ?? ''
      return `${title}${' '.repeat(width - measureWidth(title))} │ ${formatCell(row[key])}`.trimEnd()
    })
    return `─── row ${index + 1} ───\n${lines.join('\n')}\n`
  })
  return blocks.join('')
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

/** The widths with which the table fits the terminal: the widest columns give way first, and words are broken last. */
function fitColumns(cells: readonly (readonly string[])[], terminalWidth: number): number[] {
  const count = cells[0]?.length ?? 0
  const widest = (index: number, texts: (cell: string) => readonly string[]) =>
    cells.reduce(
      (most, row) => Math.max(most, ...texts(row[index] ?? '').map(measureWidth)),
      MIN_COLUMN_WIDTH,
    )
  const widths = Array.from({ length: count }, (_, index) => widest(index, (cell) => [cell]))
  if (terminalWidth === Number.POSITIVE_INFINITY) return widths
  const words = widths.map((_, index) => widest(index, (cell) => cell.split(' ')))
  let excess =
    widths.reduce((sum, width) => sum + width, 0) - (terminalWidth - count * COLUMN_FRAME_WIDTH - 1)
  for (const least of [words, widths.map(() => MIN_COLUMN_WIDTH)]) {
    while (excess > 0) {
      const shrinkable = widths.map((width, index) => (width > (least[index] ?? 0) ? width : 0))
      const most = Math.max(...shrinkable)
      if (most === 0) break
      widths[shrinkable.indexOf(most)] = most - 1
      excess -= 1
    }
  }
  return widths
}

/**
 * An upper bound of the columns that a text takes on a terminal: all that may be wide or an emoji counts two. Dashes, quotes, arrows,
 * lines and blocks (U+2010 to U+22FF, U+2500 to U+259F) are never wide.
 */
function measureWidth(text: string): number {
  let width = 0
  for (const character of text)
    width += /[\u1100-\u200f\u2300-\u24ff\u25a0-\u{10ffff}]/u.test(character) ? 2 : 1
  return width
}

function wrapCell(text: string, maxWidth: number): string {
  const isLong = text.length > MAX_CELL_CHARACTERS && measureWidth(text) > maxWidth
  return wrapToWidth(isLong ? `${text.slice(0, MAX_CELL_CHARACTERS)}…` : text, maxWidth)
}

/** Breaks lines between words, and within a word that is longer than a line. */
export function wrapToWidth(text: string, maxWidth: number): string {
  if (measureWidth(text) <= maxWidth) return text
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/(?<= )/)) {
    if (line !== '' && measureWidth(line + word.trimEnd()) > maxWidth) {
      lines.push(line.trimEnd())
      line = ''
    }
    for (const { segment } of new Intl.Segmenter().segment(word)) {
      if (line !== '' && segment !== ' ' && measureWidth(line + segment) > maxWidth) {
        lines.push(line)
        line = ''
      }
      line += segment
    }
  }
  return [...lines, line.trimEnd()].join('\n')
}

/** Of tasks that wait for another attempt, without a full stop. */
export function describeAttempts(waiting: number, nextAt: Date | null): string {
  const [wait, first] =
    waiting === 1
      ? ['1 task that the store failed waits', '']
      : [`${formatCount(waiting)} tasks that the store failed wait`, 'the first ']
  return `${wait} for another attempt${nextAt === null ? '' : `, ${first}at ${formatInstant(nextAt)}`}`
}
