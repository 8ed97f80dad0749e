/**
 * How a file is to be read, by its first lines: a table whose header names columns in any of their spellings,
 * a plain list of keywords, or a matrix of keywords and countries. What it has beside is left out, and named.
 */
import { ConfigurationError } from '../errors.ts'
import { didYouMean, suggest } from '../suggest.ts'
import { ALERTS, fileColumnsOf, HISTORY, WATCHES, type Watch } from './kinds.ts'
import type { Places } from './places.ts'
import { HEADERS, meantBy, nameOf } from './spellings.ts'

/** What a column of the file says: a column of the table, or who is found in one country. */
export type Column =
  | { readonly name: string }
  | { readonly country: string; readonly language: string | null }
  /** Left out. */
  | null

export interface Form {
  readonly watches: readonly Watch[]
  readonly columns: readonly Column[]
  /** Lines before the first row: the header, and what stands above it; 0 for a plain list. */
  readonly headerLines: number
  /** Sentences on how it is read; none where each column has its own name. */
  readonly told: readonly string[]
}

/** Beside the columns of the tables: a place in any spelling. */
const OF_FILES = ['country']
const SUBJECTS = ['keyword', 'app_id', 'collection', 'rule', 'channel']

export interface FormContext {
  readonly places: Places
  /** `Term=keyword`, where a person says what a column is; `Term=` leaves it out. */
  readonly map: readonly string[]
  /** Of ranks that another tool measured, and not of watches. */
  readonly isHistory?: boolean
}

/** A header stands within the first lines: tools write a title above it. */
export const HEADER_WITHIN = 10

/**
 * @param head the first records of the file
 * @throws ConfigurationError where it is not known what the rows are about
 */
export function findForm(
  file: string,
  head: readonly (readonly string[])[],
  { map, places, isHistory = false }: FormContext,
): Form {
  const mapped = readMap(map)
  const nameIn = (cell: string) => mapped.get(nameOf(cell)) ?? columnOf(nameOf(cell))
  for (const [above, record] of head.entries()) {
    const cells = withoutEmptyEnd(record)
    const names = cells.map(nameIn)
    const known = names.filter((name) => name !== null && name !== '')
    const isNamed = cells.some((cell) => mapped.has(nameOf(cell)) || SUBJECTS.includes(nameOf(cell)))
    const isHeader =
      names.some((name) => SUBJECTS.includes(name ?? '')) &&
      (isNamed || known.length > 1 || (above === 0 && known[0] === 'keyword' && cells.length === 1))
    const inCountries = cells.map((cell) => placeOfHeader(cell, places))
    const isMatrix = cells.length > 1 && inCountries.every((place) => place !== null)
    if (isHeader || isMatrix) return readHeader(file, cells, names, inCountries, { above, mapped, isHistory })
  }
  return readList(file, head, mapped)
}

function withoutEmptyEnd(record: readonly string[]): readonly string[] {
  return record.slice(0, record.findLastIndex((cell) => cell !== '') + 1)
}

/** The column by its own name, or by what it is called elsewhere. */
function columnOf(name: string): string | null {
  return OWN.has(name) ? name : (SYNONYMS.get(name) ?? null)
}

const OWN = new Set([...[...WATCHES, ...ALERTS, HISTORY].flatMap(fileColumnsOf), ...OF_FILES])
const SYNONYMS = meantBy(HEADERS, nameOf)

function readMap(map: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    map.map((each) => {
      const at = each.lastIndexOf('=')
      const [header, column] = [nameOf(each.slice(0, at)), nameOf(each.slice(at + 1))]
      const meant = column === '' ? '' : columnOf(column)
      if (at > 0 && meant !== null) return [header, meant] as const
      throw new ConfigurationError(
        `--map ${JSON.stringify(each)} must name a column of the file and what it is, such as ` +
          `--map "Term=keyword".${didYouMean(column, [...OWN])}`,
      )
    }),
  )
}

/** `Deutsch (DE)`, `Japan` and `en-US`; null where it is no country. */
function placeOfHeader(
  header: string,
  places: Places,
): { readonly country: string; readonly language: string | null } | null {
  const [, outer = '', inner = ''] = /^(.*\S)\s*[([（]([^()[\]]+)[)\]）]$/.exec(header.trim()) ?? []
  const named = places.isoOf(inner)
  if (named !== null) return { country: inner, language: places.isoOf(outer) === named ? null : outer }
  const [, language = '', region = ''] = /^([a-z]{2,3})[-_]([A-Z]{2})$/i.exec(header.trim()) ?? []
  if (places.isoOf(region) !== null) return { country: region, language: `${language}-${region}` }
  return places.isoOf(header) === null ? null : { country: header.trim(), language: null }
}

function refuseLost(file: string, cells: readonly string[], mapped: HeaderContext['mapped']): void {
  const lost = [...mapped.keys()].find((header) => !cells.some((cell) => nameOf(cell) === header))
  if (lost !== undefined) {
    throw new ConfigurationError(
      `${file} has no column ${JSON.stringify(lost)}, which --map names. Its columns: ${cells.join(', ')}.`,
    )
  }
}

/** Which column of the file each name is of; its own name goes before what it is called elsewhere. */
function takeColumns(
  file: string,
  cells: readonly string[],
  names: readonly (string | null)[],
  allowed: ReadonlySet<string>,
): ReadonlyMap<string, number> {
  const taken = new Map<string, number>()
  for (const [index, cell] of cells.entries()) {
    const name = names[index] ?? ''
    if (!allowed.has(name)) continue
    const before = taken.get(name)
    if (before === undefined || (nameOf(cell) === name && nameOf(cells[before] ?? '') !== name))
      taken.set(name, index)
    else if (nameOf(cell) === nameOf(cells[before] ?? ''))
      throw new ConfigurationError(`The column ${cell} is in ${file} twice.`)
  }
  return taken
}

interface HeaderContext {
  readonly above: number
  readonly mapped: ReadonlyMap<string, string>
  readonly isHistory: boolean
}

function readHeader(
  file: string,
  cells: readonly string[],
  names: readonly (string | null)[],
  inCountries: readonly ReturnType<typeof placeOfHeader>[],
  { above, mapped, isHistory }: HeaderContext,
): Form {
  refuseLost(file, cells, mapped)
  const subjects = names.filter((name) => SUBJECTS.includes(name ?? ''))
  const alerts = ALERTS.filter(({ subject }) => cells.some((cell) => nameOf(cell) === subject))
  if (alerts.length > 0) return readAlerts(file, cells, alerts, above)
  const isMatrix = subjects.length === 0
  const found = WATCHES.filter(({ subject }) => subjects.includes(subject))
  const watches = isHistory ? [HISTORY] : isMatrix ? [WATCHES[0]] : found
  const allowed = new Set([...watches.flatMap(fileColumnsOf), ...OF_FILES])
  const taken = takeColumns(file, cells, names, allowed)
  const marks = inCountries.filter((place, index) => place !== null && names[index] === null).length
  const hasMarks = isMatrix || (marks > 1 && subjects.includes('keyword') && !taken.has('country'))
  const columns = cells.map((_, index): Column => {
    const name = names[index] ?? ''
    if (taken.get(name) === index) return { name }
    return hasMarks && (isMatrix || names[index] === null) ? (inCountries[index] ?? null) : null
  })
  return { watches, columns, headerLines: above + 1, told: tellColumns(file, cells, columns, above) }
}

function tellColumns(
  file: string,
  cells: readonly string[],
  columns: readonly Column[],
  above: number,
): string[] {
  const shown = columns.flatMap((column, index) => {
    const cell = cells[index] ?? ''
    if (column === null || ('name' in column && column.name === nameOf(cell))) return []
    if ('name' in column) return [`${JSON.stringify(cell)} is ${column.name}`]
    return [`${JSON.stringify(cell)} is a country`]
  })
  const out = columns.flatMap((column, index) => {
    const cell = cells[index] ?? ''
    if (column !== null || cell === '') return []
    const near = OWN.has(nameOf(cell)) ? null : suggest(nameOf(cell), [...OWN], 2)
    return [`${JSON.stringify(cell)}${near === null ? '' : ` (did you mean ${near}?)`}`]
  })
  return [
    ...(above === 0 ? [] : [`${file}: what stands above the header is left out.`]),
    ...(shown.length === 0 ? [] : [`${file}: ${shown.join(', ')}.`]),
    ...(out.length === 0 ? [] : [`${file}: left out: ${out.join(', ')}.`]),
  ]
}

/** Nobody else writes files of alerts: what is no column of theirs is a mistake. */
function readAlerts(file: string, cells: readonly string[], watches: readonly Watch[], above: number): Form {
  const names = cells.map(nameOf)
  const columns = [...new Set(watches.flatMap(fileColumnsOf))]
  const unknown = names.find((name) => name !== '' && !columns.includes(name))
  if (unknown !== undefined) {
    const tables = watches.map(({ table }) => table).join(' and ')
    throw new ConfigurationError(
      `A file for ${tables} has no column ${JSON.stringify(unknown)}.${didYouMean(unknown, columns)} ` +
        `Columns: ${columns.join(', ')}.`,
    )
  }
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index)
  if (twice !== undefined) throw new ConfigurationError(`The column ${twice} is in ${file} twice.`)
  const named = names.map((name): Column => (name === '' ? null : { name }))
  return { watches, columns: named, headerLines: above + 1, told: [] }
}

/** Each line is a keyword, where none has more than one cell. */
function readList(
  file: string,
  head: readonly (readonly string[])[],
  mapped: ReadonlyMap<string, string>,
): Form {
  const [first = []] = head
  const only = withoutEmptyEnd(first)[0] ?? ''
  const near = withoutEmptyEnd(first)
    .map((cell) => didYouMean(nameOf(cell), SUBJECTS, 2))
    .find((text) => text !== '')
  const isList = head.every((record) => withoutEmptyEnd(record).length === 1)
  if (isList && near === undefined && !OWN.has(nameOf(only)) && mapped.size === 0) {
    const told = [`${file} has no header: each line is a keyword, and the first is ${JSON.stringify(only)}.`]
    return { watches: [WATCHES[0]], columns: [{ name: 'keyword' }], headerLines: 0, told }
  }
  throw new ConfigurationError(
    `The first line of ${file} must name the columns, and among them one of keyword, app_id and ` +
      'collection: by that one it is known what is watched. Of a file of alerts it names rule or channel.' +
      `${near ?? ''} Its columns: ${first.join(', ')}. --map says what one of them is: --map "Term=keyword".`,
  )
}
