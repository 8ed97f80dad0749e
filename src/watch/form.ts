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

interface Cell {
  readonly text: string
  readonly own: string
  /** The column that it names; empty where a person leaves it out, null where it names none. */
  readonly name: string | null
  /** The country that it names, and the language. */
  readonly place: { readonly country: string; readonly language: string | null } | null
}

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
  for (const [above, record] of head.entries()) {
    const cells = withoutEmptyEnd(record).map((text): Cell => {
      const own = nameOf(text)
      return { text, own, name: mapped.get(own) ?? columnOf(own), place: placeOfHeader(text, places) }
    })
    const known = cells.filter(({ name }) => name)
    const isNamed = cells.some(({ own }) => mapped.has(own) || SUBJECTS.includes(own))
    const isHeader =
      known.some(isSubject) &&
      (isNamed || known.length > 1 || (above === 0 && known[0]?.name === 'keyword' && cells.length === 1))
    const isMatrix = cells.length > 1 && cells.every(({ place }) => place !== null)
    if (!isHeader && !isMatrix) continue
    refuseLost(file, cells, mapped)
    const form = readAlerts(file, cells) ?? readHeader(file, cells, isHistory)
    const told = above === 0 ? [] : [`${file}: what stands above the header is left out.`]
    return { ...form, headerLines: above + 1, told: [...told, ...tellColumns(file, cells, form.columns)] }
  }
  return readList(file, head, mapped)
}

function isSubject({ name }: Cell): boolean {
  return SUBJECTS.includes(name ?? '')
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
function placeOfHeader(header: string, places: Places): Cell['place'] {
  const [, outer = '', inner = ''] = /^(.*\S)\s*[([（]([^()[\]]+)[)\]）]$/.exec(header.trim()) ?? []
  const named = places.isoOf(inner)
  if (named !== null) return { country: inner, language: places.isoOf(outer) === named ? null : outer }
  const [, language = '', region = ''] = /^([a-z]{2,3})[-_]([A-Z]{2})$/i.exec(header.trim()) ?? []
  if (places.isoOf(region) !== null) return { country: region, language: `${language}-${region}` }
  return places.isoOf(header) === null ? null : { country: header.trim(), language: null }
}

function refuseLost(file: string, cells: readonly Cell[], mapped: ReadonlyMap<string, string>): void {
  const lost = [...mapped.keys()].find((header) => !cells.some(({ own }) => own === header))
  if (lost === undefined) return
  const columns = cells.map(({ text }) => text).join(', ')
  throw new ConfigurationError(
    `${file} has no column ${JSON.stringify(lost)}, which --map names. Its columns: ${columns}.`,
  )
}

/** Which cell says a column; its own name goes before what it is called elsewhere. */
function takeColumns(file: string, cells: readonly Cell[], allowed: readonly string[]) {
  const taken = new Map<string | null, Cell>()
  for (const cell of cells) {
    if (!allowed.includes(cell.name ?? '')) continue
    const before = taken.get(cell.name)
    if (before?.own === cell.own) throw new ConfigurationError(`The column ${cell.text} is in ${file} twice.`)
    if (before === undefined || cell.own === cell.name) taken.set(cell.name, cell)
  }
  return taken
}

function readHeader(file: string, cells: readonly Cell[], isHistory: boolean) {
  const subjects = cells.filter(isSubject).map(({ name }) => name)
  const isMatrix = subjects.length === 0
  const found = WATCHES.filter(({ subject }) => subjects.includes(subject))
  const watches = isHistory ? [HISTORY] : isMatrix ? [WATCHES[0]] : found
  const taken = takeColumns(file, cells, [...watches.flatMap(fileColumnsOf), ...OF_FILES])
  const marks = cells.filter(({ name, place }) => name === null && place !== null).length
  const hasMarks = isMatrix || (marks > 1 && subjects.includes('keyword') && !taken.has('country'))
  const columns = cells.map((cell): Column => {
    const { name, place } = cell
    if (name !== null && taken.get(name) === cell) return { name }
    return hasMarks && (isMatrix || name === null) ? place : null
  })
  return { watches, columns }
}

/** Nobody else writes files of alerts: what is no column of theirs is a mistake. */
function readAlerts(file: string, cells: readonly Cell[]) {
  const watches = ALERTS.filter(({ subject }) => cells.some(({ own }) => own === subject))
  if (watches.length === 0) return null
  const columns = [...new Set(watches.flatMap(fileColumnsOf))]
  const unknown = cells.find(({ own }) => own !== '' && !columns.includes(own))?.own
  if (unknown !== undefined) {
    const tables = watches.map(({ table }) => table).join(' and ')
    throw new ConfigurationError(
      `A file for ${tables} has no column ${JSON.stringify(unknown)}.${didYouMean(unknown, columns)} ` +
        `Columns: ${columns.join(', ')}.`,
    )
  }
  takeColumns(
    file,
    cells.map((cell) => ({ ...cell, name: cell.own })),
    columns,
  )
  return { watches, columns: cells.map(({ own }): Column => (own === '' ? null : { name: own })) }
}

/** What each column was taken for, where its name does not say it. */
function tellColumns(file: string, cells: readonly Cell[], columns: readonly Column[]): string[] {
  const taken = cells.flatMap(({ text, own }, index) => {
    const column = columns[index]
    if (!column || ('name' in column && column.name === own)) return []
    return [`${JSON.stringify(text)} is ${'name' in column ? column.name : 'a country'}`]
  })
  const out = cells.flatMap(({ text, own }, index) => {
    if (columns[index] || text === '') return []
    const near = OWN.has(own) ? null : suggest(own, [...OWN], 2)
    return [`${JSON.stringify(text)}${near === null ? '' : ` (did you mean ${near}?)`}`]
  })
  return [
    ...(taken.length === 0 ? [] : [`${file}: ${taken.join(', ')}.`]),
    ...(out.length === 0 ? [] : [`${file}: left out: ${out.join(', ')}.`]),
  ]
}

function readList(file: string, head: readonly (readonly string[])[], mapped: ReadonlyMap<string, string>) {
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
