/** The printer of documents. Text from outside never steers the terminal; JSON and CSV stay exact. */
import { stringify } from 'csv-stringify/sync'
import stringWidth from 'string-width'
import wrapAnsi from 'wrap-ansi'
import { formatInstant } from '../instant.ts'
import { toPrintable } from '../log.ts'
import type { Column, Document, Output, Part, Row, Table, Text } from './document.ts'
import { isLarger, showByPager } from './pager.ts'

/** `expanded`: each row of a table as a block, a line for each column. */
export type Format = 'text' | 'expanded' | 'json' | 'csv'

/** Longer than whatever identifies a row: a keyword has 700 characters at most. */
const MAX_CELL_CHARACTERS = 1000
/** A column is never narrower than this, even where the table then gets wider than the terminal. */
const MIN_COLUMN_WIDTH = 6
/** A space on both sides and the line before it; one more line ends the table. */
const COLUMN_FRAME_WIDTH = 3

/**
 * Prints a document.
 * @param pager the command line of a pager; null: none
 */
export async function print(
  { parts, data, paged }: Document,
  format: Format,
  { stdout, pager }: { readonly stdout: Output; readonly pager: string | null },
): Promise<void> {
  if (format === 'json') printJson(data, stdout)
  else if (format === 'csv') printCsv(parts, stdout)
  else {
    const width = widthOf(stdout)
    const fitting = drawParts(parts, format, width)
    const isPaged = paged !== undefined && stdout.isTTY && pager !== null && isLarger(fitting, stdout)
    const text = isPaged && paged === 'wide' ? drawParts(parts, format, Number.POSITIVE_INFINITY) : fitting
    if (!isPaged || !(await showByPager(text, pager))) stdout.write(fitting)
  }
}

/** How many columns a line may have: any number but on a terminal. A pseudo-terminal without a size has 0. */
export function widthOf({ isTTY, columns }: Pick<Output, 'isTTY' | 'columns'>): number {
  return isTTY ? columns || 80 : Number.POSITIVE_INFINITY
}

/** The parts as text, no wider than the terminal. */
export function drawParts(parts: readonly Part[], format: 'text' | 'expanded', width: number): string {
  const texts = flatten(parts).map((part) => {
    if (typeof part === 'string') return `${wrapText(toPrintable(part), width)}\n`
    if (part.kind === 'table') return format === 'text' ? drawTable(part, width) : drawExpanded(part)
    const text = toPrintable(part.text)
    return part.kind === 'verbatim' ? `${text}\n` : `\n${wrapText(text, width)}\n`
  })
  return texts.join('')
}

function flatten(parts: readonly Part[]): (string | Text | Table)[] {
  return parts.flatMap((part) => {
    if (part === null || part === false) return []
    return typeof part === 'string' || 'kind' in part ? [part] : flatten(part)
  })
}

/** Each line of a text on as many lines as it needs, all indented as it is. */
function wrapText(text: string, width: number): string {
  if (width === Number.POSITIVE_INFINITY) return text
  return text
    .split('\n')
    .map((whole) => {
      const indent = /^ */.exec(whole)?.[0] ?? ''
      const lines = wrapAnsi(whole.slice(indent.length), Math.max(width - indent.length, 1), { hard: true })
      return indent + lines.replaceAll('\n', `\n${indent}`)
    })
    .join('\n')
}

function drawTable({ rows, columns }: Table, width: number): string {
  if (columns.length === 0 || rows.length === 0) return '(no rows)\n'
  const cells = [
    columns.map(({ key }) => formatCell(key)),
    ...rows.map((row) => columns.map(({ key }) => formatCell(row[key]))),
  ]
  const widths = fitColumns(cells, width)
  const isRight = columns.map((column) => column.align === 'right' || isNumeric(rows, column))
  const [titles = '', ...records] = cells.map((row) => drawRecord(row, widths, isRight))
  const rule = (left: string, middle: string, right: string) =>
    `${left}${widths.map((each) => '─'.repeat(each + 2)).join(middle)}${right}\n`
  const body = rule('├', '┼', '┤') + records.join('')
  return rule('┌', '┬', '┐') + titles + body + rule('└', '┴', '┘')
}

/** One row of a table, on as many lines as its longest cell needs. */
function drawRecord(row: readonly string[], widths: readonly number[], isRight: readonly boolean[]): string {
  const cells = row.map((cell, index) => wrapCell(cell, widths[index] ?? MIN_COLUMN_WIDTH))
  const height = Math.max(...cells.map((lines) => lines.length))
  return Array.from({ length: height }, (_, nth) => {
    const texts = cells.map((lines, index) => {
      const text = lines[nth] ?? ''
      const space = ' '.repeat(Math.max(0, (widths[index] ?? 0) - stringWidth(text)))
      return isRight[index] ? ` ${space}${text} ` : ` ${text}${space} `
    })
    return `│${texts.join('│')}│\n`
  }).join('')
}

function wrapCell(text: string, width: number): string[] {
  if (stringWidth(text) <= width) return [text]
  const cut = text.length > MAX_CELL_CHARACTERS ? `${text.slice(0, MAX_CELL_CHARACTERS)}…` : text
  return wrapAnsi(cut, width, { hard: true }).split('\n')
}

/** The widths that fit the terminal: the widest columns give way first, and words are broken last. */
function fitColumns(cells: readonly (readonly string[])[], terminalWidth: number): number[] {
  const widest = (index: number, texts: (cell: string) => readonly string[]) =>
    cells.reduce(
      (most, row) => Math.max(most, ...texts(row[index] ?? '').map((text) => stringWidth(text))),
      0,
    )
  const count = cells[0]?.length ?? 0
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

function drawExpanded({ rows, columns }: Table): string {
  if (columns.length === 0 || rows.length === 0) return '(no rows)\n'
  const titles = columns.map(({ key }) => formatCell(key))
  const width = Math.max(...titles.map((title) => stringWidth(title)))
  const blocks = rows.map((row, index) => {
    const lines = columns.map(({ key }, nth) => {
      const title = titles[nth] ?? ''
      return `${title}${' '.repeat(width - stringWidth(title))} │ ${formatCell(row[key])}`.trimEnd()
    })
    return `─── row ${index + 1} ───\n${lines.join('\n')}\n`
  })
  return blocks.join('')
}

/** Integers of the database come as numbers where they fit, else as strings. */
function printJson(value: unknown, stdout: Output): void {
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
 * The tables of a document with an empty line between them, each with a header. The data stays exact, also
 * where a spreadsheet would take a cell for a formula: a changed title is worse than a warning of the
 * spreadsheet. Only a terminal gets control characters as visible signs.
 */
function printCsv(parts: readonly Part[], stdout: Output): void {
  const texts = flatten(parts).flatMap((part) => {
    if (typeof part === 'string' || part.kind !== 'table') return []
    const keys = part.columns.map(({ key }) => key)
    return [stringify([keys, ...part.rows.map((row) => keys.map((key) => exactText(row[key])))])]
  })
  const text = texts.join('\n')
  stdout.write(stdout.isTTY ? toPrintable(text) : text)
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

function isNumeric(rows: readonly Row[], { key }: Column): boolean {
  const values = rows.map((row) => row[key]).filter((value) => value !== null && value !== undefined)
  return values.length > 0 && values.every((value) => typeof value === 'number' || typeof value === 'bigint')
}
