/** All that a search or a list of apps gives, beyond the ranks that `parseSearchResult` reads. */

import { z } from 'zod'

import {
  optionalCode,
  optionalCount,
  optionalFlag,
  orNull,
  readWith,
  wireRecord,
  wireText,
} from './fields.ts'
import { type Price, price, type Rating, rating } from './rating-and-price.ts'
import {
  parseSearchResult,
  readItem,
  readRanks,
  type SearchItem,
  type SearchResult,
} from './search-result.ts'

/** One ranked app (docs/service.md: app_searches advanced result). */
export interface RankedItem extends SearchItem {
  /** `…_search_organic`, or of a chart also `…_list_organic`, with the store in front. */
  readonly type: string
  /** Alignment, `left`; null when missing. */
  readonly position: string | null
  /** Reviews of all time; null when missing. */
  readonly reviewsCount: number | null
  /** Null when missing. */
  readonly rating: Rating | null
  /** Null when missing. */
  readonly isFree: boolean | null
  /** Null when missing. */
  readonly price: Price | null
  /** Page of the developer in the store; android_store only, else null. */
  readonly developerUrl: string | null
}

/** What a search and a chart share. */
interface RankedPage {
  /** Domain of the store; null when missing. */
  readonly seDomain: string | null
  /** As in the locations list; null when missing. */
  readonly locationCode: number | null
  /** As in the languages list; null when missing. */
  readonly languageCode: string | null
  /** Organic items only, in the order sent; an app that comes twice is here once, at its best rank. */
  readonly items: readonly RankedItem[]
}

/** Everything that an app_searches task gives. */
export interface AppSearchesResult extends Omit<SearchResult, 'items'>, RankedPage {}

/** Everything that an app_list task gives: the apps of a collection. */
export interface AppListResult extends Omit<SearchResult, 'items' | 'keyword'>, RankedPage {
  /** As posted; null when missing. */
  readonly collection: string | null
}

const name = wireText(500)

const page = wireRecord({
  se_domain: name,
  location_code: optionalCode,
  language_code: name,
  items: z.array(z.unknown()).nullish().transform(orNull),
})

const details = wireRecord({
  type: z.string(),
  position: name,
  reviews_count: optionalCount,
  rating,
  is_free: optionalFlag,
  price,
  developer_url: wireText(2_000),
})

/**
 * Reads all of `result[0]` of an app_searches task.
 * @throws UnreadableError as `parseSearchResult` does
 */
export function parseAppSearchesResult(result: unknown): AppSearchesResult {
  const search = parseSearchResult(result)
  const { items, ...rest } = readWith(page, result)
  return { ...search, ...rest, ...readRanks(items ?? [], readRankedItem) }
}

/**
 * Reads all of `result[0]` of an app_list task; its ranks alone are read by `parseSearchResult`.
 * @throws UnreadableError as `parseSearchResult` does
 */
export function parseAppListResult(result: unknown): AppListResult {
  const { keyword, ...list } = parseAppSearchesResult(result)
  return { ...list, collection: keyword }
}

function readRankedItem(value: unknown, index: number): RankedItem | null {
  const item = readItem(value, index)
  return item === null ? null : { ...item, ...readWith(details, value, ['items', index]) }
}
