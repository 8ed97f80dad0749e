/** A line of a file as rows of the tables: several where it names several countries, stores, or an app. */

import type { Form } from './form.ts'
import { fileColumnsOf, type Watch } from './kinds.ts'
import { appOf, truthOf, unescapeFormula } from './spellings.ts'
import type { Understanding } from './understand.ts'

/** A row of the file: its cells that say something, by column of the table. */
export interface FileRow {
  readonly file: string
  readonly line: number
  readonly watch: Watch
  readonly cells: ReadonlyMap<string, string>
  /** An app that a row about a keyword names beside it: it is added where its project has no row of it. */
  readonly isMentioned?: true
}

export interface RefusedRow {
  readonly file: string
  readonly line: number
  /** The keyword, app, collection, rule or channel; empty when the row does not say. */
  readonly subject: string
  readonly reason: string
}

/** The rows of a line: several where it names several countries or stores. */
export function fitRecord(
  at: Pick<FileRow, 'file' | 'line'>,
  record: readonly string[],
  { watches, columns }: Form,
  understanding: Understanding,
): (FileRow | RefusedRow)[] {
  const cells = new Map(
    columns.flatMap((column, index) => {
      const cell = record[index]
      return column !== null && 'name' in column && cell ? [[column.name, unescapeFormula(cell)]] : []
    }),
  )
  // Spreadsheets fill a table up with empty cells.
  if (record.length < columns.length || record.slice(columns.length).some((cell) => cell !== '')) {
    const subject = watches.map((each) => cells.get(each.subject) ?? '').find((text) => text !== '') ?? ''
    const reason = `it has ${record.length} cells, and the first line has ${columns.length}`
    return [{ ...at, subject, reason }]
  }
  const inCountries = columns.flatMap((column, index) =>
    column === null || 'name' in column ? [] : [{ ...column, cell: unescapeFormula(record[index] ?? '') }],
  )
  if (inCountries.length === 0) return fitCells(at, cells, watches, understanding)
  return inCountries.flatMap(({ country, language, cell }) => {
    const keyword = keywordOfMark(cell, cells.get('keyword'))
    if (keyword === null) return []
    const ofOne = new Map([...cells, ['keyword', keyword], ['country', country]])
    if (language !== null && !ofOne.has('language_code')) ofOne.set('language_code', language)
    return fitCells(at, ofOne, watches, understanding)
  })
}

/** In the column of a country stands the keyword there, or whether that of the line is meant. */
function keywordOfMark(cell: string, ofLine: string | undefined): string | null {
  if (/^[-–—]?$/.test(cell)) return null
  if (ofLine === undefined) return cell
  const said = truthOf(cell)
  return said === null ? cell : said ? ofLine : null
}

/** A refusal where it is not known what the row watches, or it says what its kind of watch has not. */
function fitCells(
  at: Pick<FileRow, 'file' | 'line'>,
  cells: ReadonlyMap<string, string>,
  watches: readonly Watch[],
  understanding: Understanding,
): (FileRow | RefusedRow)[] {
  const all = watches.filter(({ subject }) => cells.has(subject))
  // A rule may name the channel that tells it.
  const named = cells.has('rule') ? all.filter((each) => each.subject === 'rule') : all
  const subject = named.map((each) => cells.get(each.subject)).join(', ')
  const refuse = (reason: string): RefusedRow[] => [{ ...at, subject, reason }]
  const [watch, ...others] = watches.length === 1 ? watches : named
  const mentioned = watch?.table === 'keyword_watch' ? others.find(isApp) : undefined
  if (watch === undefined || others.some((other) => other !== mentioned))
    return refuse(`it must name one of ${watches.map((each) => each.subject).join(', ')}, and one alone`)
  const own = mentioned === undefined ? cells : pick(cells, (name) => !OF_MENTIONED.includes(name))
  const foreign = [...own.keys()].find((name) => name !== 'country' && !fileColumnsOf(watch).includes(name))
  if (foreign !== undefined) return refuse(`${watch.table} has no column ${foreign}`)
  if (watch.table === 'alert_channel' || watch.table === 'alert_rule') {
    const renamed = [...cells].map(
      ([name, cell]) => [name === watch.subject ? watch.key : name, cell] as const,
    )
    return [{ ...at, watch, cells: new Map(renamed) }]
  }
  const rows = understanding.read(cells, asksInPlace(watch, cells)).map(
    (each): FileRow => ({
      ...at,
      watch,
      cells: mentioned === undefined ? each : pick(each, (name) => !OF_MENTIONED.includes(name)),
    }),
  )
  if (mentioned === undefined || appOf(cells.get('app_id') ?? '') === null) return rows
  const ofApp = pick(cells, (name) => ['project', 'store', ...OF_MENTIONED].includes(name))
  const apps = understanding
    .read(ofApp, false)
    .map((each): FileRow => ({ ...at, watch: mentioned, cells: each, isMentioned: true }))
  return [...rows, ...apps]
}

/** What a row about a keyword says of the app that it names beside it. */
const OF_MENTIONED = ['app_id', 'label', 'role']
const isApp = ({ table }: Watch) => table === 'app_watch'

function pick(cells: ReadonlyMap<string, string>, isWanted: (name: string) => boolean): Map<string, string> {
  return new Map([...cells].filter(([name]) => isWanted(name)))
}

/** An app alone is ranked wherever its project looks; its page and its reviews are read in a place. */
function asksInPlace({ table }: Watch, cells: ReadonlyMap<string, string>): boolean {
  return table !== 'app_watch' || ['info', 'reviews'].some((name) => truthOf(cells.get(name) ?? '') === true)
}
