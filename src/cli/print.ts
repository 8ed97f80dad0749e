/**
 * The printer of documents, through a pager where they are long. Text from outside never steers the
 * terminal; JSON and CSV stay exact.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stringify } from 'csv-stringify/sync'
import stringWidth from 'string-width'
import wrapAnsi from 'wrap-ansi'
import { formatInstant } from '../instant.ts'
import { toPrintable } from '../log.ts'
import type { Document, Output, Part, Table, Text } from './document.ts'

/** `expanded`: each row of a table as a block, a line for each column. */
export type Format = 'text' | 'expanded' | 'json' | 'csv'

/** Longer than whatever identifies a row: a keyword has 700 characters at most. */
const MAX_CELL_CHARACTERS = 1000
/** A column is never narrower than this, even where the table then gets wider than the terminal. */
const MIN_COLUMN_WIDTH = 6
/** A space on both sides and the line before it; one more line ends the table. */
const COLUMN_FRAME_WIDTH = 3
/** Where LESS is unset: leave at once what fits one screen, cut no line, and leave the text on the screen. */
const LESS_OPTIONS = '-FRSX'
/** What a shell says of a command that it does not find, or may not run. */
const NO_SUCH_PROGRAM = [126, 127]

/** Prints a document. @param pager the command line of one for the shell; null: none */
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

function drawTable({ rows, columns, right }: Table, width: number): string {
  if (columns.length === 0 || rows.length === 0) return '(no rows)\n'
  const cells = [columns.map(formatCell), ...rows.map((row) => columns.map((key) => formatCell(row[key])))]
  const widths = fitColumns(cells, width)
  const isRight = columns.map((key) => right.includes(key) || isNumeric(rows.map((row) => row[key])))
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
    const texts = cells.map((lines, index) => pad(lines[nth] ?? '', widths[index] ?? 0, isRight[index]))
    return `│ ${texts.join(' │ ')} │\n`
  }).join('')
}

function pad(text: string, width: number, isRight = false): string {
  const space = ' '.repeat(Math.max(0, width - stringWidth(text)))
  return isRight ? space + text : text + space
}

function wrapCell(text: string, width: number): string[] {
  if (stringWidth(text) <= width) return [text]
  const cut = text.length > MAX_CELL_CHARACTERS ? `${text.slice(0, MAX_CELL_CHARACTERS)}…` : text
  return wrapAnsi(cut, width, { hard: true }).split('\n')
}

/** The widths that fit the terminal: the widest columns give way first, and words are broken last. */
function fitColumns(cells: readonly (readonly string[])[], terminalWidth: number): number[] {
  const widest = (split: (cell: string) => readonly string[]) =>
    (cells[0] ?? []).map((_, index) =>
      cells.reduce(
        (most, row) => Math.max(most, ...split(row[index] ?? '').map((text) => stringWidth(text))),
        0,
      ),
    )
  const widths = widest((cell) => [cell])
  if (terminalWidth === Number.POSITIVE_INFINITY) return widths
  const words = widest((cell) => cell.split(' '))
  let excess = widths.reduce((sum, width) => sum + width + COLUMN_FRAME_WIDTH, 1) - terminalWidth
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
  const width = Math.max(...columns.map((key) => stringWidth(formatCell(key))))
  const blocks = rows.map((row, index) => {
    const lines = columns.map((key) => `${pad(formatCell(key), width)} │ ${formatCell(row[key])}`.trimEnd())
    return `─── row ${index + 1} ───\n${lines.join('\n')}\n`
  })
  return blocks.join('')
}

/** Integers of the database come as numbers where they fit, else as strings. */
function printJson(value: unknown, stdout: Output): void {
  const narrow = (item: bigint) => (Number.isSafeInteger(Number(item)) ? Number(item) : String(item))
  const text = JSON.stringify(value, (_key, item) => (typeof item === 'bigint' ? narrow(item) : item), 2)
  // JSON leaves DEL and the C1 controls as they are, and a terminal obeys some of them.
  stdout.write(
    `${text.replace(/[\u007f-\u009f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`)}\n`,
  )
}

/**
 * The tables of a document with an empty line between them. The data stays exact, also where a spreadsheet
 * takes a cell for a formula. Only a terminal gets control characters as visible signs.
 */
function printCsv(parts: readonly Part[], stdout: Output): void {
  const texts = flatten(parts).flatMap((part) => {
    if (typeof part === 'string' || part.kind !== 'table') return []
    const { columns, rows } = part
    return [stringify([columns, ...rows.map((row) => columns.map((key) => exactText(row[key])))])]
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

function isNumeric(values: readonly unknown[]): boolean {
  const given = values.filter((value) => value !== null && value !== undefined)
  return given.length > 0 && given.every((value) => typeof value === 'number' || typeof value === 'bigint')
}

/** Whether a text needs more lines or columns than the terminal has. */
export function isLarger(text: string, { rows = 24, columns = 80 }: Output): boolean {
  const lines = text.split('\n')
  return lines.length >= (rows || 24) || lines.some((line) => line.length > (columns || 80))
}

/** Shows a text by a pager on the terminal of this process; false where that is not installed. */
export async function showByPager(text: string, pager: string): Promise<boolean> {
  if (process.platform === 'win32') return false
  const child = spawn('/bin/sh', ['-c', `LESS="\${LESS-${LESS_OPTIONS}}" ${pager}`], {
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  // A person who leaves early closes the pipe.
  child.stdin.on('error', () => {})
  child.stdin.end(text)
  const [code] = await once(child, 'close')
  return !NO_SUCH_PROGRAM.includes(code)
}
