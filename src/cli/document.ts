/** What a command says at its end, apart from how it is printed (print.ts). */
import { formatCount } from '../text/words.ts'

/** A stream to print on; `columns` is the width of the terminal when it is one. */
export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

export interface Document {
  readonly parts: readonly Part[]
  /** What `--json` prints instead. */
  readonly data?: unknown
  /** Sentences for stderr, behind all else: why a person should look twice. */
  readonly warnings?: readonly string[]
  /** Default: 0. */
  readonly exitCode?: number
  /** Goes through the pager where it is larger than the terminal; `wide`: with tables that do not fit. */
  readonly paged?: 'wide' | 'fitting'
}

/**
 * A sentence, a heading, a table, or several of these; null and false are nothing. Where a sentence is longer
 * than the line of a terminal, its other lines are indented as the first one.
 */
export type Part = string | Text | Table | null | false | readonly Part[]

export interface Text {
  readonly kind: 'heading' | 'verbatim'
  readonly text: string
}

export interface Table {
  readonly kind: 'table'
  readonly rows: readonly Row[]
  /** The keys in their order. */
  readonly columns: readonly string[]
  /** Keys whose texts are aligned to the right, as numbers are anyway. */
  readonly right: readonly string[]
}

export type Row = Readonly<Record<string, unknown>>

/** Begins a chapter, with an empty line before it. */
export function heading(text: string): Text {
  return { kind: 'heading', text }
}

/** What people copy, and no terminal may break: a command, an address. */
export function verbatim(text: string): Text {
  return { kind: 'verbatim', text }
}

/** Where only the first of them are shown; nothing where all are. */
export function more(hidden: number, where = ''): Part {
  return hidden > 0 && `… and ${formatCount(hidden)} more${where}`
}

/** A table with a line for each row; by default it has the columns of the first one. */
export function table(
  rows: readonly object[],
  { columns = Object.keys(rows[0] ?? {}), right = [] }: Partial<Pick<Table, 'columns' | 'right'>> = {},
): Table {
  return { kind: 'table', rows: rows as readonly Row[], columns, right }
}
