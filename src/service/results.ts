/** One reader per kind of result. */

export { type InfoResult, parseInfoResult } from './info-result.ts'
export { parseSearchResult, type SearchItem, type SearchResult } from './search-result.ts'
