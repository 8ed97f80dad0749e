/** Lines of a file as rows of the tables, in the spellings of these, and what was taken for what. */
import type { Form } from './form.ts'
import { fileColumnsOf, type Watch } from './kinds.ts'
import type { Places } from './places.ts'
import { appOf, dayOf, numberOf, splitList, storeOf, truthOf, unescapeFormula } from './spellings.ts'

export interface Lacking {
  readonly project?: string | undefined
  /** The one that there is, where none is said. */
  readonly onlyProject?: string | undefined
  readonly store?: string | undefined
  readonly country?: string | undefined
  readonly language?: string | undefined
  /** Of a history alone. */
  readonly app?: string | undefined
}

const TRUTH_COLUMNS = ['enabled', 'html', 'info', 'reviews']
const WHOLE_COLUMNS = ['depth', 'priority', 'reviews_depth', 'volume']
const NUMBER_COLUMNS = ['weight']
const MOST_SHOWN = 10

type Cells = ReadonlyMap<string, string>

export class Understanding {
  readonly #places: Places
  /** What is put into every row that has none of its own. */
  readonly lacking: Lacking
  /** What is to be told, by column: what stands in the file, and what it was taken for. */
  readonly #taken = new Map<string, Map<string, string>>()
  readonly #told = new Set<string>()

  constructor(places: Places, lacking: Lacking) {
    this.#places = places
    this.lacking = lacking
  }

  /** What was taken for what since it was asked last, as sentences. */
  flush(): string[] {
    const sentences = [...this.#taken].map(([column, pairs]) => {
      const all = [...pairs].map(([from, to]) => `${from} is ${to}`)
      const more = all.length > MOST_SHOWN ? `, and ${all.length - MOST_SHOWN} more` : ''
      return `${column}: ${all.slice(0, MOST_SHOWN).join(', ')}${more}.`
    })
    this.#taken.clear()
    return sentences
  }

  /**
   * One set of cells for each store and country that the row names. What is not understood stays as it is,
   * for the table to refuse.
   */
  read(cells: Cells, needsPlace: boolean): Map<string, string>[] {
    const plain = new Map([...cells].map(([name, cell]) => [name, this.#readPlain(name, cell)]))
    const { app, onlyProject, project = onlyProject } = this.lacking
    if (app !== undefined && !plain.has('app_id')) plain.set('app_id', this.#readPlain('app_id', app))
    if (!plain.has('project') && project !== undefined) {
      plain.set('project', project)
      if (project === onlyProject) this.#note('project', 'what is not said', project)
    }
    const stores = this.#stores(plain)
    if (!needsPlace) plain.delete('country')
    return stores.flatMap((store) => {
      const inStore = new Map(plain)
      if (store !== undefined) inStore.set('store', store)
      // A chart is of the android_store unless it says otherwise.
      const usual = cells.has('collection') ? 'android_store' : undefined
      return needsPlace ? this.#inPlaces(inStore, store ?? usual) : [inStore]
    })
  }

  #readPlain(name: string, cell: string): string {
    if (TRUTH_COLUMNS.includes(name)) return this.#note(name, cell, truthOf(cell)?.toString())
    if (WHOLE_COLUMNS.includes(name)) return this.#note(name, cell, numberOf(cell, true))
    if (NUMBER_COLUMNS.includes(name)) return this.#note(name, cell, numberOf(cell, false))
    if (name === 'day') return this.#note(name, cell, dayOf(cell), undefined)
    if (name === 'app_id') return this.#note(name, cell, appOf(cell)?.appId)
    return cell
  }

  /** @returns what was understood, else what stands there */
  #note(column: string, from: string, to: string | null | undefined, shown = to): string {
    if (to === null || to === undefined) return from
    if (shown !== from && !this.#told.has(`${column}\n${from}`)) {
      this.#told.add(`${column}\n${from}`)
      const pairs = this.#taken.get(column) ?? new Map<string, string>()
      this.#taken.set(column, pairs.set(from, shown ?? to))
    }
    return to
  }

  /** Undefined where neither row nor app says. */
  #stores(cells: Cells): readonly (string | undefined)[] {
    const said = cells.get('store') ?? this.lacking.store
    if (said !== undefined) {
      const all = storeOf(said) === null ? splitList(said) : [said]
      return [...new Set(all.map((each) => this.#note('store', each, storeOf(each))))]
    }
    const app = cells.get('app_id')
    return [app === undefined ? undefined : appOf(app)?.store]
  }

  #inPlaces(cells: Map<string, string>, store: string | undefined): Map<string, string>[] {
    const code = cells.get('location_code')
    const name = cells.get('location_name')
    const given = cells.get('country') ?? code ?? name ?? this.lacking.country
    cells.delete('country')
    if (given === undefined || store === undefined || (code !== undefined && name !== undefined))
      return [this.#inLanguage(cells, store, given)]
    cells.delete('location_code')
    cells.delete('location_name')
    const project = cells.get('project') ?? ''
    const isOne = /^\d+$/.test(given) || this.#places.isoOf(given) !== null
    const parts = isOne ? [given] : splitList(given)
    const all = parts.every((part) => this.#places.isoOf(part) !== null) ? parts : [given]
    return all.map((each) => {
      const column = code !== undefined || /^\d+$/.test(each) ? 'location_code' : 'location_name'
      const place = this.#places.placeOf(project, store, each) ?? ([column, each] as const)
      this.#note('country', each, place[1], this.#places.nameOf(store, place))
      return this.#inLanguage(new Map([...cells, place]), store, each)
    })
  }

  #inLanguage(cells: Map<string, string>, store: string | undefined, country?: string): Map<string, string> {
    if (store === undefined) return cells
    const said = cells.get('language_code') ?? this.lacking.language
    if (said !== undefined) {
      return cells.set('language_code', this.#note('language', said, this.#places.languageOf(store, said)))
    }
    const iso = country === undefined ? null : this.#isoOf(cells, country)
    const usual = iso === null ? null : this.#places.languageIn(store, iso)
    if (usual === null) return cells
    return cells.set('language_code', this.#note('language of', country ?? '', usual) && usual)
  }

  #isoOf(cells: Cells, country: string): string | null {
    const code = cells.get('location_code')
    return this.#places.isoOfPlace(
      code === undefined ? ['location_name', cells.get('location_name') ?? country] : ['location_code', code],
    )
  }
}

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
