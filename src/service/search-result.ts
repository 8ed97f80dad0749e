/** The results of app_searches and app_list: which apps the store ranks for a keyword, or in a collection. */
import { z } from 'zod'
import {
  cleanText,
  ifReadable,
  objectOf,
  optionalCount,
  optionalFlag,
  optionalName,
  optionalUrl,
  PAGE,
  readCode,
  readCount,
  readNumber,
  readSpending,
  readWith,
  textIfReadable,
  unreadable,
  wireRecord,
} from './fields.ts'
import type { Store } from './functions.ts'
import {
  APP_ID_RULE,
  describeMiscount,
  isOrganic,
  isTyped,
  readAppId,
  readItems,
  readListedAppId,
  storeOfType,
  type TypedItem,
} from './items.ts'
import { price, rating } from './results.ts'

/** An app as a search or a chart shows it. */
export type RankedApp = ReturnType<typeof readNewApp>
/** What a search or a chart says of an app in numbers; one that cannot be read is null. */
export type ListedNumbers = ReturnType<typeof readNumbers>
/** An advertisement: which app stands there, and at which place among all results, from 1. */
export type PaidApp = { readonly place: number; readonly app: RankedApp }
/** The ranks of a search or a chart, as the collector stores them. */
export type SearchResult = ReturnType<typeof parseSearchResult>
export type AppSearchesResult = ReturnType<typeof parseAppSearchesResult>
/** One ranked app with all that the service says of it. */
export type RankedItem = AppSearchesResult['items'][number]
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
  ...PAGE,
  seResultsCount: ifReadable(readCount),
  itemsCount: ifReadable(readCount),
})

/**
 * Reads `result[0]` of an app_searches or app_list task. Organic items are ranked, advertisements given
 * apart, others (bundles) passed over.
 * @param asked the store that was asked, and not the one that each item names: others break the contract
 * @throws UnreadableError with the path of the field, also when no item can be read
 */
export function parseSearchResult(result: unknown, asked: Store | null = null) {
  const { sent, items, ...search } = readSearch(result, (item, index) => readItem(item, index, asked))
  const apps: (RankedApp | null)[] = []
  const absolute: number[] = []
  for (const item of items) {
    while (apps.length < item.rank) absolute.push(apps.push(null))
    apps[item.rank - 1] = item.app
    absolute[item.rank - 1] = item.absolute
  }
  return {
    ...search,
    /** `apps[i]` has the organic rank i + 1; null is a hole. */
    apps,
    /** Their places among all results, from 1; null where each is the organic rank. */
    absolute: absolute.some((rank, index) => rank !== index + 1) ? absolute : null,
    /** From top to bottom. */
    paid: sent.flatMap((item, index) => readPaid(item, index, asked) ?? []),
  }
}

/** An advertisement; one that cannot be read is passed over, as no rank hangs on it. */
function readPaid(sent: unknown, index: number, asked: Store | null): PaidApp | null {
  if (!isTyped(sent) || !sent.type.endsWith('_paid')) return null
  const appId = readListedAppId(sent, asked)
  const place = readRank(sent.rank_absolute)
  if (appId === null || place === null) return null
  try {
    return { place, app: readApp(sent, appId, index) }
  } catch {
    return null
  }
}

/** As `parseSearchResult`, with all that the result says. */
export function parseAppSearchesResult(result: unknown) {
  const { sent, items, ...search } = readSearch(result, readRankedItem)
  return { ...search, items: items.map(({ app: { numbers, ...app }, ...item }) => ({ ...item, ...app })) }
}

/** As `parseAppSearchesResult`, of a chart. */
export function parseAppListResult(result: unknown) {
  const { keyword, ...list } = parseAppSearchesResult(result)
  return {
    ...list,
    /** As posted. */
    collection: keyword,
  }
}

type ReadItem<Read> = (sent: unknown, index: number) => Read | null

/** @param read gives null for an item that is not ranked */
function readSearch<Read extends Item>(result: unknown, read: ReadItem<Read>) {
  const { seResultsCount, ...page } = readWith(searchPage, result)
  const sent = itemsOf(result, page.itemsCount)
  const { isWhole, ...ranks } = readRanks(sent, read)
  return {
    ...page,
    ...ranks,
    sent,
    /** How many results the store says there are; null also when it says 0 and gives some. */
    resultsCount: seResultsCount === 0 && sent.length > 0 ? null : seResultsCount,
    /** How many items of any type are billed: those of the answer, or more where the service counts more. */
    itemsCount: Math.max(sent.length, page.itemsCount ?? 0),
    /** Why the list is not whole by what it says itself, items or ranks, as a sentence; null when it is. */
    shortfall: describeMiscount(sent.length, page.itemsCount) ?? (isWhole ? null : describeHoles(sent)),
  }
}

function itemsOf(result: unknown, counted: number | null): readonly unknown[] {
  const items = objectOf(result).items ?? null
  if (items === null && counted !== 0) throw unreadable(['items'], 'it is missing, and items_count is not 0')
  if (items === null) return []
  if (Array.isArray(items) && items.length <= MAX_ITEMS) return items
  throw unreadable(['items'], `it is no list of at most ${MAX_ITEMS}`)
}

/** In the order sent, an app at its best rank. Of apps that claim one rank none is ranked. */
function readRanks<Read extends Item>(sent: readonly unknown[], read: ReadItem<Read>) {
  const all = readItems(sent, read)
  const holders: string[] = []
  const disputed = new Set<number>()
  for (const { rank, app } of all.items) {
    holders[rank] ??= app.appId
    if (holders[rank] !== app.appId) disputed.add(rank)
  }
  const readUndisputed = (value: unknown, index: number) => {
    const item = read(value, index)
    if (item === null || !disputed.has(item.rank)) return item
    throw unreadable(['items', index, 'rank_group'], `two apps claim rank ${item.rank}`)
  }
  const { items, refused } = disputed.size > 0 ? readItems(sent, readUndisputed) : all
  const bestByApp = new Map<string, Read>()
  for (const item of items) {
    const before = bestByApp.get(item.app.appId)
    if (before === undefined || item.rank < before.rank) bestByApp.set(item.app.appId, item)
  }
  const last = holders.length - 1
  return {
    items: [...bestByApp.values()],
    refused,
    /** Whether each rank down to the last one has an app of its own, as in most answers. */
    isWhole: refused.length === 0 && last <= bestByApp.size,
  }
}

type Item = NonNullable<ReturnType<typeof readItem>>

/** By hand and not by a schema, which takes longer for the apps of a search than `JSON.parse` does. */
function readItem(sent: unknown, index: number, asked: Store | null = null) {
  if (!isTyped(sent)) throw unreadable(['items', index, 'type'], 'an item must name its type')
  if (!isOrganic(sent)) return null
  const appId = readListedAppId(sent, asked) ?? refuse(index, 'app_id', ruleOfId(sent, asked))
  return {
    /** Place among the organic results, from 1. */
    rank: readRank(sent.rank_group) ?? refuse(index, 'rank_group', RANK_RULE),
    /** Place among all results, from 1. */
    absolute: readRank(sent.rank_absolute) ?? refuse(index, 'rank_absolute', RANK_RULE),
    app: readApp(sent, appId, index),
  }
}

const MAX_REMEMBERED = 100_000
/**
 * Apps as they were read last. One that has not changed is the same object in all results that name it: the
 * garbage collector copies what a batch of results holds until it is stored.
 */
const lastRead = new Map<string, RankedApp>()

function readApp(sent: Readonly<Record<string, unknown>>, appId: string, index: number): RankedApp {
  const before = lastRead.get(appId)
  if (before !== undefined && isSame(sent, before)) return before
  if (lastRead.size >= MAX_REMEMBERED) lastRead.clear()
  const app = readNewApp(sent, appId, index)
  lastRead.set(appId, app)
  return app
}

function isSame(sent: Readonly<Record<string, unknown>>, app: RankedApp): boolean {
  const { votes, rating, priceMicros, currency } = readNumbers(sent)
  return (
    (sent.title ?? null) === app.title &&
    (sent.developer ?? null) === app.developer &&
    (sent.icon ?? null) === app.icon &&
    (sent.url ?? null) === app.url &&
    votes === app.numbers.votes &&
    rating === app.numbers.rating &&
    priceMicros === app.numbers.priceMicros &&
    currency === app.numbers.currency
  )
}

function readNewApp(sent: Readonly<Record<string, unknown>>, appId: string, index: number) {
  const readText = (field: string, maxLength: number): string | null => {
    const text = sent[field] ?? null
    if (text === null) return null
    return typeof text === 'string' ? cleanText(text, maxLength) : refuse(index, field, 'it is no text')
  }
  return {
    appId,
    title: readText('title', MAX_NAME_LENGTH),
    /** Name of the developer; null in ios_store, which gives none here. */
    developer: readText('developer', MAX_NAME_LENGTH),
    icon: readText('icon', MAX_URL_LENGTH),
    url: readText('url', MAX_URL_LENGTH),
    numbers: readNumbers(sent),
  }
}

/** No item is refused for them. */
function readNumbers(sent: Readonly<Record<string, unknown>>) {
  const rating = objectOf(sent.rating)
  const { current, currency } = objectOf(sent.price)
  const stars = readNumber(rating.value)
  const best = readNumber(rating.rating_max) ?? 5
  return {
    /** How many people have voted; of an item that counts reviews alone, how many reviews. */
    votes: readCode(rating.votes_count) ?? readCode(sent.reviews_count),
    /** In hundredths of a star, up to 500. */
    rating: stars === null || stars < 0 || stars > best ? null : Math.round((stars / best) * 500),
    /** What it costs now, in millionths of `currency`; 0 when it is free. */
    priceMicros: sent.is_free === true ? 0 : readSpending(current),
    currency: typeof currency === 'string' && /^[A-Z]{3}$/.test(currency) ? currency : null,
  }
}

const details = wireRecord({
  /** `…_search_organic`, or of a chart also `…_list_organic`, with the store in front. */
  type: z.string(),
  position: optionalName,
  reviewsCount: optionalCount,
  rating,
  isFree: optionalFlag,
  price,
  developerUrl: optionalUrl,
})

function readRankedItem(sent: unknown, index: number) {
  const item = readItem(sent, index)
  return item && { ...item, ...readWith(details, sent, ['items', index]) }
}

function refuse(index: number, field: string, rule: string): never {
  throw unreadable(['items', index, field], rule)
}

function ruleOfId({ type, app_id }: TypedItem, asked: Store | null): string {
  const isOfAny = readAppId(app_id, storeOfType(type)) !== null
  return asked !== null && isOfAny ? `it is no app of ${asked}` : APP_ID_RULE
}

function readRank(value: unknown): number | null {
  const rank = readCount(value)
  return rank !== null && rank >= 1 && rank <= MAX_RANK ? rank : null
}

/** A sentence about ranks that no organic item claims; one that cannot be read may be in any of them. */
function describeHoles(sent: readonly unknown[]): string | null {
  const ranks = new Set<number>()
  let unread = 0
  for (const item of sent) {
    const isRanked = isOrganic(item)
    const rank = isRanked ? readRank(item.rank_group) : null
    if (rank !== null) ranks.add(rank)
    else if (isRanked || !isTyped(item)) unread += 1
  }
  const holes = Math.max(0, ...ranks) - ranks.size - unread
  if (holes <= 0) return null
  return `The answer has no app at ${holes} of the ranks (rank_group) above its last one: these are lacking.`
}
