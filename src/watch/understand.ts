/** The cells of a file in the spellings of the tables, and what was taken for what. */
import type { Places } from './places.ts'
import { appOf, dayOf, numberOf, splitList, storeOf, truthOf } from './spellings.ts'

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
