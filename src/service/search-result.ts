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
import { isSameNumbers, readNumbers } from './listed-numbers.ts'
import { price, rating } from './rating-and-price.ts'
import { describeMiscount, type ReadItems, readItems } from './refused-items.ts'

/** An app as a search or a chart shows it. */
export type RankedApp = ReturnType<typeof readApp>
/** An advertisement: which app stands there, and at which place among all results, from 1. */
export type PaidApp = { readonly place: number; readonly app: RankedApp }
/** The ranks of a search or a chart, as the collector stores them. */
export type SearchResult = ReturnType<typeof parseSearchResult>
/** Everything that an app_searches task gives. */
export type AppSearchesResult = ReturnType<typeof parseAppSearchesResult>
/** One ranked app with all that the service says of it. */
export type RankedItem = AppSearchesResult['items'][number]
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
 * Reads `result[0]` of an app_searches or app_list task. Items that are not organic are not ranked:
 * advertisements are given apart, others (bundles) are passed over; unknown fields are ignored.
 * @param asked the store that was asked: items of the other one break the contract; without it, each is of
 *   the store that its type names
 * @throws UnreadableError with the path of the field that breaks the contract, also when no item can be read
 */
export function parseSearchResult(result: unknown, asked: Store | null = null) {
  const { items, ...search } = readSearch(result, (sent, index) => readItem(sent, index, asked))
  return { ...search, ...listByRank(items), paid: readPaid(result, asked) }
}

/** The advertisements, from top to bottom; one that cannot be read is passed over, as no rank hangs on it. */
function readPaid(result: unknown, asked: Store | null): PaidApp[] {
  const { items } = result as { items?: unknown }
  return (Array.isArray(items) ? items : []).flatMap((sent: unknown, index): PaidApp[] => {
    if (!isObject(sent) || typeof sent.type !== 'string' || !sent.type.endsWith('_paid')) return []
    const appId = readListedAppId(sent.app_id, sent.type, asked)
    const place = readRank(sent.rank_absolute)
    if (appId === null || place === null) return []
    return [{ place, app: readRemembered(sent, appId, index) }]
  })
}

function listByRank(items: readonly Item[]) {
  const apps: (RankedApp | null)[] = []
  const absolute: number[] = []
  for (const item of items) {
    while (apps.length < item.rank) absolute.push(apps.push(null))
    apps[item.rank - 1] = item.app
    absolute[item.rank - 1] = item.absolute
  }
  return {
    /** `apps[i]` has the organic rank i + 1; null is a hole. */
    apps,
    /** Their places among all results, from 1; null where each is the organic rank. */
    absolute: absolute.some((rank, index) => rank !== index + 1) ? absolute : null,
  }
}

/**
 * Reads all of `result[0]` of an app_searches task.
 * @throws UnreadableError as `parseSearchResult` does
 */
export function parseAppSearchesResult(result: unknown) {
  const { items, ...search } = readSearch(result, readRankedItem)
  return { ...search, items: items.map(({ app: { numbers, ...app }, ...item }) => ({ ...item, ...app })) }
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
function readSearch<Read extends Item>(result: unknown, read: (sent: unknown, index: number) => Read | null) {
  const { seResultsCount, ...page } = readWith(searchPage, result)
  const sent = itemsOf(result, page.itemsCount)
  const ranks = readRanks(sent, read)
  return {
    ...page,
    /** How many results the store says there are; null also when it says 0 and gives some. */
    resultsCount: seResultsCount === 0 && sent.length > 0 ? null : seResultsCount,
    /**
     * How many items of any type came back, which are billed: those of the answer, or more where the service
     * counts more.
     */
    itemsCount: Math.max(sent.length, page.itemsCount ?? 0),
    /** Why the list is not whole by what it says itself, items or ranks, as a sentence; null when it is. */
    shortfall: describeMiscount(sent.length, page.itemsCount) ?? describeHoles(countHoles(sent, ranks)),
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
function readRanks<Read extends Item>(
  sent: readonly unknown[],
  read: (sent: unknown, index: number) => Read | null,
): ReadItems<Read> {
  const all = readItems(sent, read)
  const disputed = findDisputed(all.items)
  const { items, refused } = disputed.size === 0 ? all : readItems(sent, readUndisputed)
  const bestByApp = new Map<string, Read>()
  for (const item of items) {
    const best = bestByApp.get(item.app.appId)
    if (best === undefined || item.rank < best.rank) bestByApp.set(item.app.appId, item)
  }
  return { items: [...bestByApp.values()], refused }

  function readUndisputed(value: unknown, index: number): Read | null {
    const item = read(value, index)
    if (item !== null && disputed.has(item.rank)) {
      throw unreadable(['items', index, 'rank_group'], `two apps claim rank ${item.rank}`)
    }
    return item
  }
}

/** The ranks that two apps claim. */
function findDisputed(items: readonly Item[]): ReadonlySet<number> {
  const holders: string[] = []
  const disputed = new Set<number>()
  for (const { rank, app } of items) {
    holders[rank] ??= app.appId
    if (holders[rank] !== app.appId) disputed.add(rank)
  }
  return disputed
}

const MAX_REMEMBERED = 100_000
/**
 * Apps as they were read last. One that has not changed is the same object in all results that name it: the
 * garbage collector copies what a batch of results holds until it is stored.
 */
const lastRead = new Map<string, RankedApp>()

function remember(app: RankedApp): RankedApp {
  if (lastRead.size >= MAX_REMEMBERED) lastRead.clear()
  lastRead.set(app.appId, app)
  return app
}

type Item = NonNullable<ReturnType<typeof readItem>>

/** By hand and not by a schema: a schema takes longer for the apps of a search than `JSON.parse` does. */
function readItem(sent: unknown, index: number, asked: Store | null = null) {
  if (!isOrganic(sent)) {
    if (isObject(sent) && typeof sent.type === 'string') return null
    throw unreadable(['items', index, 'type'], 'an item must name its type')
  }
  const appId =
    readListedAppId(sent.app_id, sent.type, asked) ?? refuse(index, 'app_id', ruleOfId(sent, asked))
  return {
    /** Place among the organic results, from 1 (`rank_group`). */
    rank: readRank(sent.rank_group) ?? refuse(index, 'rank_group', RANK_RULE),
    /** Place among all results, from 1 (`rank_absolute`). */
    absolute: readRank(sent.rank_absolute) ?? refuse(index, 'rank_absolute', RANK_RULE),
    app: readRemembered(sent, appId, index),
  }
}

function readRemembered(sent: Record<string, unknown>, appId: string, index: number): RankedApp {
  const before = lastRead.get(appId)
  return before !== undefined && isSame(sent, before) ? before : remember(readApp(sent, appId, index))
}

function isSame(sent: Record<string, unknown>, before: RankedApp): boolean {
  return (
    (sent.title ?? null) === before.title &&
    (sent.developer ?? null) === before.developer &&
    (sent.icon ?? null) === before.icon &&
    (sent.url ?? null) === before.url &&
    isSameNumbers(sent, before.numbers)
  )
}

function readApp(sent: Record<string, unknown>, appId: string, index: number) {
  const readText = (field: string, maxLength: number): string | null => {
    const text = sent[field] ?? null
    if (text === null) return null
    return typeof text === 'string' ? cleanText(text, maxLength) : refuse(index, field, 'it is no text')
  }
  return {
    /** Id of the app in the store. */
    appId,
    title: readText('title', MAX_NAME_LENGTH),
    /** Name of the developer; null in ios_store, which gives none here. */
    developer: readText('developer', MAX_NAME_LENGTH),
    icon: readText('icon', MAX_URL_LENGTH),
    /** Page of the app in the store. */
    url: readText('url', MAX_URL_LENGTH),
    numbers: readNumbers(sent),
  }
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

function ruleOfId({ type, app_id }: Record<string, unknown>, asked: Store | null): string {
  const isOfAny = readAppId(app_id, storeOfType(String(type))) !== null
  return asked !== null && isOfAny ? `it is no app of ${asked}` : APP_ID_RULE
}

function readRank(value: unknown): number | null {
  const rank = readCount(value)
  return rank !== null && rank >= 1 && rank <= MAX_RANK ? rank : null
}

/**
 * How many ranks above the last one no organic item claims: paid items and others have ranks of their own.
 * An item whose type or rank cannot be read may be in any of the holes, and is told of by itself.
 */
function countHoles(sent: readonly unknown[], { items, refused }: ReadItems<Item>): number {
  const lastOf = items.reduce((last, { rank }) => Math.max(last, rank), 0)
  if (refused.length === 0 && lastOf === items.length) return 0
  const organic = sent.filter(isOrganic)
  const ranks = new Set(organic.map((item) => readRank(item.rank_group)).filter((rank) => rank !== null))
  const typed = sent.filter((item) => isObject(item) && typeof item.type === 'string')
  const unread =
    sent.length - typed.length + organic.filter((item) => readRank(item.rank_group) === null).length
  return Math.max(0, Math.max(0, ...ranks) - ranks.size - unread)
}

function describeHoles(holes: number): string | null {
  if (holes === 0) return null
  return `The answer has no app at ${holes} of the ranks (rank_group) above its last one: these are lacking.`
}
