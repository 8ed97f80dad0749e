/**
 * The readers of results: of ranks and details alone as they are stored, and of everything that a result
 * holds.
 */

export { type HtmlPage, type HtmlResult, parseHtmlResult } from './html-result.ts'
export {
  type AppInfo,
  type AppInfoItem,
  type AppInfoResult,
  type InfoResult,
  type LinkedApp,
  parseAppInfoResult,
  parseInfoResult,
} from './info-result.ts'
export {
  type AppListResult,
  type AppSearchesResult,
  parseAppListResult,
  parseAppSearchesResult,
  type RankedItem,
} from './ranked-result.ts'
export type { Price, Rating } from './rating-and-price.ts'
export type { RefusedItem } from './refused-items.ts'
export {
  type AppReviewsResult,
  parseReviewsResult,
  type Review,
  type ReviewResponse,
} from './reviews-result.ts'
export { parseSearchResult, type SearchItem, type SearchResult } from './search-result.ts'
