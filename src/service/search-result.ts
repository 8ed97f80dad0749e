/** The result of an app_searches task: which apps the store ranks for a keyword. */

import { z } from 'zod'

import { APP_ID_RULE, isOfOtherStore, readAppId, readAskedAppId, storeOfType } from './app-id.ts'
import { cleanText, isObject, readCount, readTimestamp, readWith, unreadable } from './fields.ts'
import type { Store } from './functions.ts'
import { describeUncounted, type ReadItems, type RefusedItem, readItems } from './refused-items.ts'
import { type ItemMarks, SentItems, withParsedItems } from './sent-items.ts'

/** One ranked app. */
export interface SearchItem {
  /** Place among the organic results, from 1 (`rank_group`). */
  readonly rank: number
  /** Place among all results, from 1 (`rank_absolute`). */
  readonly absolute: number
  /** Id of the app in the store. */
  readonly appId: string
  /** At most 500 characters; null when missing. */
  readonly title: string | null
  /** Name of the developer; null in ios_store, which gives none here. */
  readonly developer: string | null
  /** URL of the icon; null when missing. */
  readonly icon: string | null
  /** Page of the app in the store; null when missing. */
  readonly url: string | null
}

/** The ranks of a search or a chart, as the collector stores them. */
export interface SearchResult {
  /** As sent back, which is how a person typed it; null when missing. */
  readonly keyword: string | null
  /** Where a person can check the data; null when the service gives none. */
  readonly checkUrl: string | null
  /** When the store was asked, UTC; null when missing. */
  readonly datetime: Date | null
  /**
   * How many results the store says there are; null when missing, or when it says 0 and gives some, as in
   * android_store.
   */
  readonly resultsCount: number | null
  /**
   * How many items of any type came back, which are billed: those of the answer, or more where the service
   * counts more.
   */
  readonly itemsCount: number
  /** Organic items only, in the order sent; an app that comes twice is here once, at its best rank. */
  readonly items: readonly SearchItem[]
  /** Items that break the contract, and are therefore not in `items`. */
  readonly refused: readonly RefusedItem[]
}

/** Ranks of apps that the reader knew already, so that nothing else of them was read. */
export interface KnownRanks {
  /**
   * `ids[i]` is the app at organic rank i + 1, by the number that `FindKnownApp` gave for it; 0 where no such
   * app is.
   */
  readonly ids: readonly number[]
  /** Absolute ranks beside them; i + 1 where no such app is. */
  readonly absolute: readonly number[]
}

/** As `SearchResult`, with the apps that were known aside: they are not in `items`. */
export interface RankedSearch extends SearchResult {
  readonly known: KnownRanks
  /**
   * What the list lacks by what it says itself: items that it counts, ranks between others. A sentence; null
   * when it is whole.
   */
  readonly shortfall: string | null
}

/** The largest depth is 1,000; paid items and bundles come on top. */
const MAX_ITEMS = 5_000
/** Ranks are stored as smallint. */
const MAX_RANK = 32_767
const RANK_RULE = `a rank is a whole number from 1 to ${MAX_RANK}`
const MAX_NAME_LENGTH = 500
const MAX_URL_LENGTH = 2_000

/** Says what is wrong with a page whose list of items cannot be read. */
const searchPage = z.looseObject({ items: z.array(z.unknown()).max(MAX_ITEMS).nullish() })

const optionalText = z.string().nullish()
const numberOrText = z.union([z.number(), z.string()])

/** Kinds only; `readItem` adds the rules. */
const organicItem = z.object({
  rank_group: numberOrText,
  rank_absolute: numberOrText,
  app_id: numberOrText,
  title: optionalText,
  developer: optionalText,
  icon: optionalText,
  url: optionalText,
})

/**
 * The number above 0 of an app whose texts are known already, so that they need not be read; null for any
 * other text. Each app has its own number.
 */
export type FindKnownApp = (appId: string) => number | null

const KNOWS_NONE: FindKnownApp = () => null
const NO_RANKS: KnownRanks = { ids: [], absolute: [] }

/**
 * Reads `result[0]` of an app_searches task. Items that are not organic (paid, bundles) are not ranked;
 * unknown fields are ignored.
 * @throws UnreadableError with the path of the field that breaks the contract, also when no item can be read
 */
export function parseSearchResult(result: unknown): SearchResult {
  const { known: _, shortfall: __, ...search } = parseRankedSearch(result, KNOWS_NONE)
  return search
}

/**
 * As `parseSearchResult`, without an object for each app that is known. When the items need a closer look all
 * of them are in `items`.
 * @param result as `JSON.parse` or `parseSparingly` gives it
 * @param store that was asked: items of the other one break the contract; without it, each is of the store
 *   that its type names
 * @throws as `parseSearchResult` does
 */
export function parseRankedSearch(
  result: unknown,
  findKnown: FindKnownApp,
  store: Store | null = null,
): RankedSearch {
  const page: Page = isPage(result) ? result : readWith(searchPage, withParsedItems(result))
  const counted = readCount(page.items_count)
  if (page.items == null && counted !== 0) {
    throw unreadable(['items'], 'it is missing, and items_count is not 0')
  }
  const sent = page.items ?? []
  const found = readCount(page.se_results_count)
  const ranks = readUsual(sent, findKnown, store) ?? readAll(sent, store)
  return {
    keyword: textIfReadable(page.keyword, MAX_NAME_LENGTH * 2),
    checkUrl: textIfReadable(page.check_url, MAX_URL_LENGTH),
    datetime: readTimestamp(page.datetime),
    resultsCount: found === 0 && sent.length > 0 ? null : found,
    itemsCount: Math.max(sent.length, counted ?? 0),
    items: ranks.items,
    refused: ranks.refused,
    known: ranks.known,
    shortfall: describeUncounted(sent.length, counted ?? 0) ?? describeHoles(ranks.holes),
  }
}

function describeHoles(holes: number): string | null {
  if (holes === 0) return null
  return `The answer has no app at ${holes} of the ranks (rank_group) above its last one: these are lacking.`
}

type Sent = readonly unknown[] | SentItems
type Page = Readonly<Record<string, unknown>> & { readonly items?: Sent | null | undefined }

function isPage(result: unknown): result is Page {
  if (!isObject(result)) return false
  const { items } = result
  if (items == null) return true
  return (Array.isArray(items) || items instanceof SentItems) && items.length <= MAX_ITEMS
}

function textIfReadable(value: unknown, maxLength: number): string | null {
  return typeof value === 'string' ? cleanText(value, maxLength) : null
}

interface Ranks extends Pick<RankedSearch, 'items' | 'refused' | 'known'> {
  /** How many ranks above the last one no item claims. */
  readonly holes: number
}

function readAll(sent: Sent, store: Store | null): Ranks {
  const items = sent instanceof SentItems ? sent.parseAll() : sent
  const read = readRanks(items, (value, index) => readItem(value, index, store))
  return { ...read, known: NO_RANKS, holes: countHoles(items) }
}

/** An item whose rank cannot be read may be in any of the holes, and is told of by itself. */
function countHoles(items: readonly unknown[]): number {
  const organic = items.filter(
    (item) => isObject(item) && typeof item.type === 'string' && item.type.endsWith('_organic'),
  )
  const ranks = (organic as { rank_group: number | string }[]).map((item) => readRank(item.rank_group))
  const read = new Set(ranks.filter((rank) => rank !== null))
  const unread = items.length - organic.length + ranks.filter((rank) => rank === null).length
  return Math.max(0, Math.max(0, ...read) - read.size - unread)
}

/**
 * The usual case, at a tenth of the cost: each item keeps the contract, they come in the order of their
 * ranks, and no app comes twice. Null in every other case, which `readRanks` reads; where both can read they
 * agree.
 */
function readUsual(sent: Sent, findKnown: FindKnownApp, asked: Store | null): Ranks | null {
  const usual = new UsualRanks(findKnown, asked)
  const isUsual = sent instanceof SentItems ? usual.addSent(sent) : usual.addAll(sent)
  return isUsual && usual.isEachOnce() ? usual : null
}

class UsualRanks implements Ranks {
  readonly items: SearchItem[] = []
  readonly refused = []
  readonly known = { ids: [] as number[], absolute: [] as number[] }
  readonly #findKnown: FindKnownApp
  readonly #asked: Store | null
  #ranked = 0
  #type = ''
  /** Of the items of that type; null when they are not ranked. */
  #store: Store | null = null

  constructor(findKnown: FindKnownApp, asked: Store | null) {
    this.#findKnown = findKnown
    this.#asked = asked
  }

  get holes(): number {
    return this.known.ids.length - this.#ranked
  }

  /** Adds items. False when one is not as usual. */
  addAll(sent: readonly unknown[]): boolean {
    for (const item of sent) {
      if (!this.#add(item)) return false
    }
    return true
  }

  /** False when it is not as usual. */
  #add(sent: unknown): boolean {
    if (!isObject(sent) || typeof sent.type !== 'string') return false
    const store = this.#storeOf(sent.type)
    if (store === null) return true
    const appId = this.#readId(sent.app_id, sent.type, store)
    if (appId === null || !isUsual(sent) || sent.rank_group <= this.known.ids.length) return false
    const id = this.#findKnown(appId)
    this.#place(sent.rank_group, id ?? 0, id === null ? sent.rank_group : sent.rank_absolute)
    if (id === null) {
      this.items.push({ rank: sent.rank_group, absolute: sent.rank_absolute, appId, ...readTexts(sent) })
    }
    return true
  }

  /** Adds items of which only those are parsed whose app is not known. False when one is not as usual. */
  addSent(sent: SentItems): boolean {
    for (let place = 0; place < sent.length; place += 1) {
      const marks = sent.marksOf(place)
      const store = this.#storeOf(marks.type)
      if (store !== null && !this.#addKnown(marks, store) && !this.#add(sent.parse(place))) return false
    }
    return true
  }

  #addKnown({ appId, rank, absolute }: ItemMarks, store: Store): boolean {
    const id = this.#readId(appId, this.#type, store) === null ? null : this.#findKnown(appId)
    if (id === null || !isRank(rank) || !isRank(absolute) || rank <= this.known.ids.length) return false
    this.#place(rank, id, absolute)
    return true
  }

  #readId(value: unknown, type: string, store: Store): string | null {
    return this.#asked === null ? readAppId(value, store) : readIdOfAsked(value, type, this.#asked)
  }

  #storeOf(type: string): Store | null {
    if (type !== this.#type) {
      this.#type = type
      this.#store = type.endsWith('_organic') ? storeOfType(type) : null
    }
    return this.#store
  }

  #place(rank: number, id: number, absolute: number): void {
    const { ids, absolute: ranks } = this.known
    while (ids.length < rank - 1) ranks.push(ids.push(0))
    ids.push(id)
    ranks.push(absolute)
    this.#ranked += 1
  }

  isEachOnce(): boolean {
    const { ids } = this.known
    const known = ids.includes(0) ? ids.filter((id) => id > 0) : ids
    return areDistinct(known) && areDistinct(this.items.map(({ appId }) => appId))
  }
}

function areDistinct(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length
}

type SentText = string | null | undefined

type SentTexts = Readonly<Partial<Record<'title' | 'developer' | 'icon' | 'url', SentText>>>

interface UsualItem extends SentTexts {
  readonly rank_group: number
  readonly rank_absolute: number
}

/** Its ranks are numbers and its texts are texts. */
function isUsual(sent: object): sent is UsualItem {
  const { rank_group, rank_absolute, title, developer, icon, url } = sent as Readonly<Record<string, unknown>>
  return (
    isRank(rank_group) &&
    isRank(rank_absolute) &&
    isText(title) &&
    isText(developer) &&
    isText(icon) &&
    isText(url)
  )
}

function isText(value: unknown): value is SentText {
  return typeof value === 'string' || value == null
}

function isRank(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_RANK
}

function readTexts({ title, developer, icon, url }: SentTexts) {
  return {
    title: readText(title, MAX_NAME_LENGTH),
    developer: readText(developer, MAX_NAME_LENGTH),
    icon: readText(icon, MAX_URL_LENGTH),
    url: readText(url, MAX_URL_LENGTH),
  }
}

/**
 * Reads the ranked items. Where two apps claim one rank neither is ranked, because which of them has it is
 * not known.
 * @param read gives null for an item that is not ranked
 * @throws as `readItems` does
 */
export function readRanks<Item extends SearchItem>(
  sent: readonly unknown[],
  read: (value: unknown, index: number) => Item | null,
): ReadItems<Item> {
  const appByRank = new Map<number, string>()
  const disputed = new Set<number>()
  const organic = readItems(sent, (value, index) => {
    const item = read(value, index)
    if (item === null) return null
    const holder = appByRank.get(item.rank) ?? item.appId
    if (holder !== item.appId) disputed.add(item.rank)
    appByRank.set(item.rank, holder)
    return { item, index }
  })
  const ranked = readItems(organic.items, ({ item, index }) => {
    if (disputed.has(item.rank)) refuse(['items', index, 'rank_group'], `two apps claim rank ${item.rank}`)
    return item
  })
  const bestByApp = new Map<string, Item>()
  for (const item of ranked.items) {
    const best = bestByApp.get(item.appId)
    if (best === undefined || item.rank < best.rank) bestByApp.set(item.appId, item)
  }
  return { items: [...bestByApp.values()], refused: [...organic.refused, ...ranked.refused] }
}

/** Null for an item that is not ranked. */
export function readItem(value: unknown, index: number, asked: Store | null = null): SearchItem | null {
  const at = ['items', index]
  if (!isObject(value) || typeof value.type !== 'string') {
    throw unreadable([...at, 'type'], 'an item must name its type')
  }
  if (!value.type.endsWith('_organic')) return null
  const item = readWith(organicItem, value, at)
  const id = readAppId(item.app_id, storeOfType(value.type))
  const appId = asked === null ? id : readIdOfAsked(item.app_id, value.type, asked)
  return {
    rank: readRank(item.rank_group) ?? refuse([...at, 'rank_group'], RANK_RULE),
    absolute: readRank(item.rank_absolute) ?? refuse([...at, 'rank_absolute'], RANK_RULE),
    appId: appId ?? refuse([...at, 'app_id'], id !== null ? `it is no app of ${asked}` : APP_ID_RULE),
    ...readTexts(item),
  }
}

function readIdOfAsked(value: unknown, type: string, asked: Store): string | null {
  return isOfOtherStore(type, asked) ? null : readAskedAppId(value, asked)
}

function readRank(value: unknown): number | null {
  const rank = readCount(value)
  return rank !== null && rank >= 1 && rank <= MAX_RANK ? rank : null
}

function refuse(path: readonly PropertyKey[], rule: string): never {
  throw unreadable(path, rule)
}

function readText(text: SentText, maxLength: number): string | null {
  return text == null ? null : cleanText(text, maxLength)
}
