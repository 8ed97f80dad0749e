/** The readers of results. A field that the service leaves out is null. */

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
export type { ListedNumbers } from './listed-numbers.ts'
export type { Price, Rating } from './rating-and-price.ts'
export type { RefusedItem } from './refused-items.ts'
export {
  type AppReviewsResult,
  parseReviewsResult,
  type Review,
  type ReviewResponse,
} from './reviews-result.ts'
export {
  type AppListResult,
  type AppSearchesResult,
  parseAppListResult,
  parseAppSearchesResult,
  parseSearchResult,
  type RankedApp,
  type RankedItem,
  type SearchResult,
} from './search-result.ts'
