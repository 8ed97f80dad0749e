/** The results of app_searches and app_list: which apps the store ranks for a keyword, or in a collection. */

import { z } from 'zod'

import { APP_ID_RULE, isOrganic, readAppId, readListedAppId, storeOfType } from './app-id.ts'
import {
  cleanText,
  ifReadable,
  isObject,
  optionalCount,
  optionalFlag,
  optionalName,
  optionalUrl,
  PLACE,
  readCount,
  readWith,
  textIfReadable,
  unreadable,
  wireRecord,
  wireTimestamp,
} from './fields.ts'
import type { Store } from './functions.ts'
import { price, rating } from './rating-and-price.ts'
import { describeUncounted, type ReadItems, readItems } from './refused-items.ts'

/** One ranked app. */
export type SearchItem = NonNullable<ReturnType<typeof readItem>>
/** The ranks of a search or a chart, as the collector stores them. */
export type SearchResult = ReturnType<typeof parseSearchResult>
/** One ranked app with all that the service says of it. */
export type RankedItem = NonNullable<ReturnType<typeof readRankedItem>>
/** Everything that an app_searches task gives. */
export type AppSearchesResult = ReturnType<typeof parseAppSearchesResult>
/** Everything that an app_list task gives: the apps of a collection. */
export type AppListResult = ReturnType<typeof parseAppListResult>

/** The largest depth is 1,000; paid items and bundles come on top. */
const MAX_ITEMS = 5_000
/** Ranks are stored as smallint. */
const MAX_RANK = 32_767
const RANK_RULE = `a rank is a whole number from 1 to ${MAX_RANK}`
const MAX_NAME_LENGTH = 500
const MAX_URL_LENGTH = 2_000

const searchPage = wireRecord({
  /** As sent back, which is how a person typed it. */
  keyword: textIfReadable(1_000),
  ...PLACE,
  /** Where a person can check the data. */
  checkUrl: textIfReadable(MAX_URL_LENGTH),
  /** When the store was asked, UTC. */
  datetime: wireTimestamp,
  seResultsCount: ifReadable(readCount),
  itemsCount: ifReadable(readCount),
})

/**
 * Reads `result[0]` of an app_searches or app_list task. Items that are not organic (paid, bundles) are not
 * ranked; unknown fields are ignored.
 * @param asked the store that was asked: items of the other one break the contract; without it, each is of
 *   the store that its type names
 * @throws UnreadableError with the path of the field that breaks the contract, also when no item can be read
 */
export function parseSearchResult(result: unknown, asked: Store | null = null) {
  return readSearch(result, (sent, index) => readItem(sent, index, asked))
}

/**
 * Reads all of `result[0]` of an app_searches task.
 * @throws UnreadableError as `parseSearchResult` does
 */
export function parseAppSearchesResult(result: unknown) {
  return readSearch(result, readRankedItem)
}

/**
 * Reads all of `result[0]` of an app_list task.
 * @throws UnreadableError as `parseSearchResult` does
 */
export function parseAppListResult(result: unknown) {
  const { keyword, ...list } = parseAppSearchesResult(result)
  return {
    ...list,
    /** As posted. */
    collection: keyword,
  }
}

/** @param read gives null for an item that is not ranked */
function readSearch<Item extends SearchItem>(
  result: unknown,
  read: (sent: unknown, index: number) => Item | null,
) {
  const { seResultsCount, ...page } = readWith(searchPage, result)
  const sent = itemsOf(result, page.itemsCount)
  const counted = page.itemsCount ?? 0
  const ranks = readRanks(sent, read)
  return {
    ...page,
    /** How many results the store says there are; null also when it says 0 and gives some. */
    resultsCount: seResultsCount === 0 && sent.length > 0 ? null : seResultsCount,
    /**
     * How many items of any type came back, which are billed: those of the answer, or more where the service
     * counts more.
     */
    itemsCount: Math.max(sent.length, counted),
    /** What the list lacks by what it says itself, items or ranks, as a sentence; null when it is whole. */
    shortfall: describeUncounted(sent.length, counted) ?? describeHoles(countHoles(sent, ranks)),
    ...ranks,
  }
}

function itemsOf(result: unknown, counted: number | null): readonly unknown[] {
  const items = (result as { items?: unknown }).items ?? null
  if (items === null && counted !== 0) throw unreadable(['items'], 'it is missing, and items_count is not 0')
  if (items === null) return []
  if (Array.isArray(items) && items.length <= MAX_ITEMS) return items
  throw unreadable(['items'], `it is no list of at most ${MAX_ITEMS}`)
}

/**
 * Reads the ranked items, in the order sent; an app that comes twice is given once, at its best rank. Where
 * two apps claim one rank neither is ranked, because which of them has it is not known.
 * @throws as `readItems` does
 */
function readRanks<Item extends SearchItem>(
  sent: readonly unknown[],
  read: (sent: unknown, index: number) => Item | null,
): ReadItems<Item> {
  const appByRank = new Map<number, string>()
  const disputed = new Set<number>()
  const places: number[] = []
  const organic = readItems(sent, (value, index) => {
    const item = read(value, index)
    if (item === null) return null
    const holder = appByRank.get(item.rank)
    if (holder === undefined) appByRank.set(item.rank, item.appId)
    else if (holder !== item.appId) disputed.add(item.rank)
    places.push(index)
    return item
  })
  const ranked = readItems(disputed.size === 0 ? [] : organic.items, (item, place) => {
    if (!disputed.has(item.rank)) return item
    throw unreadable(['items', places[place] ?? 0, 'rank_group'], `two apps claim rank ${item.rank}`)
  })
  const bestByApp = new Map<string, Item>()
  for (const item of disputed.size === 0 ? organic.items : ranked.items) {
    const best = bestByApp.get(item.appId)
    if (best === undefined || item.rank < best.rank) bestByApp.set(item.appId, item)
  }
  return { items: [...bestByApp.values()], refused: [...organic.refused, ...ranked.refused] }
}

type Texts = Readonly<Record<'appId' | 'title' | 'developer' | 'icon' | 'url', string | null>>

const MAX_REMEMBERED = 100_000
/**
 * Apps as they were read first: their texts are those of later items too, so that a batch of results holds
 * each once. What it holds is copied by the garbage collector until it is stored.
 */
const lastRead = new Map<string, Texts & { readonly appId: string }>()

function remember(app: Texts & { readonly appId: string }): void {
  if (lastRead.size >= MAX_REMEMBERED) lastRead.clear()
  lastRead.set(app.appId, app)
}

/** By hand and not by a schema: a schema takes longer for the apps of a search than `JSON.parse` does. */
function readItem(sent: unknown, index: number, asked: Store | null = null) {
  if (!isOrganic(sent)) {
    if (isObject(sent) && typeof sent.type === 'string') return null
    throw unreadable(['items', index, 'type'], 'an item must name its type')
  }
  const appId =
    readListedAppId(sent.app_id, sent.type, asked) ?? refuse(index, 'app_id', ruleOfId(sent, asked))
  const before = lastRead.get(appId)
  const item = {
    /** Place among the organic results, from 1 (`rank_group`). */
    rank: readRank(sent.rank_group) ?? refuse(index, 'rank_group', RANK_RULE),
    /** Place among all results, from 1 (`rank_absolute`). */
    absolute: readRank(sent.rank_absolute) ?? refuse(index, 'rank_absolute', RANK_RULE),
    /** Id of the app in the store. */
    appId: before?.appId ?? appId,
    title: readText(sent.title, before?.title, MAX_NAME_LENGTH, index, 'title'),
    /** Name of the developer; null in ios_store, which gives none here. */
    developer: readText(sent.developer, before?.developer, MAX_NAME_LENGTH, index, 'developer'),
    icon: readText(sent.icon, before?.icon, MAX_URL_LENGTH, index, 'icon'),
    /** Page of the app in the store. */
    url: readText(sent.url, before?.url, MAX_URL_LENGTH, index, 'url'),
  }
  if (before === undefined) remember(item)
  return item
}

const details = wireRecord({
  /** `…_search_organic`, or of a chart also `…_list_organic`, with the store in front. */
  type: z.string(),
  /** Alignment, `left`. */
  position: optionalName,
  /** Reviews of all time. */
  reviewsCount: optionalCount,
  rating,
  isFree: optionalFlag,
  price,
  /** Page of the developer in the store; android_store only. */
  developerUrl: optionalUrl,
})

function readRankedItem(sent: unknown, index: number) {
  const item = readItem(sent, index)
  return item === null ? null : { ...item, ...readWith(details, sent, ['items', index]) }
}

function refuse(index: number, field: string, rule: string): never {
  throw unreadable(['items', index, field], rule)
}

/** @param before the same text as it was read last */
function readText(
  text: unknown,
  before: string | null | undefined,
  maxLength: number,
  index: number,
  field: string,
): string | null {
  if (text == null) return null
  if (typeof text !== 'string') return refuse(index, field, 'it is no text')
  return text === before ? before : cleanText(text, maxLength)
}

function ruleOfId({ type, app_id }: Record<string, unknown>, asked: Store | null): string {
  const isOfAny = readAppId(app_id, storeOfType(String(type))) !== null
  return asked !== null && isOfAny ? `it is no app of ${asked}` : APP_ID_RULE
}

function readRank(value: unknown): number | null {
  const rank = readCount(value)
  return rank !== null && rank >= 1 && rank <= MAX_RANK ? rank : null
}

/**
 * How many ranks above the last one no item claims. An item whose rank cannot be read may be in any of the
 * holes, and is told of by itself.
 */
function countHoles(sent: readonly unknown[], { items, refused }: ReadItems<SearchItem>): number {
  const lastOf = items.reduce((last, { rank }) => Math.max(last, rank), 0)
  if (refused.length === 0 && lastOf === items.length) return 0
  const organic = sent.filter(isOrganic)
  const ranks = new Set(organic.map((item) => readRank(item.rank_group)).filter((rank) => rank !== null))
  const unread =
    sent.length - organic.length + organic.filter((item) => readRank(item.rank_group) === null).length
  return Math.max(0, Math.max(0, ...ranks) - ranks.size - unread)
}

function describeHoles(holes: number): string | null {
  if (holes === 0) return null
  return `The answer has no app at ${holes} of the ranks (rank_group) above its last one: these are lacking.`
}
