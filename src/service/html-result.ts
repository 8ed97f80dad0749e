/** The raw pages of a task of android_store, as the store showed them. */

import { z } from 'zod'

import { readAppId } from './app-id.ts'
import {
  ifReadable,
  optionalCode,
  optionalCount,
  readWith,
  wireRecord,
  wireText,
  wireTimestamp,
} from './fields.ts'
import { type RefusedItem, readItems } from './refused-items.ts'

/** One raw page. */
export interface HtmlPage {
  /** Serial number, from 1; null when missing. */
  readonly page: number | null
  /** When it was scanned, UTC; null when missing. */
  readonly date: Date | null
  /** The page to the byte: neither cut nor cleaned. */
  readonly html: string
}

/** Everything that a task in html form gives (spec: Html result). */
export interface HtmlResult {
  /** `app_info`, `app_list`, `app_reviews` or `organic`; null when missing. */
  readonly type: string | null
  /** Id of the app; app_info and app_reviews only, else null. */
  readonly appId: string | null
  /** The keyword of app_searches, the app collection of app_list; else null. */
  readonly keyword: string | null
  /** Domain of the store; null when missing. */
  readonly seDomain: string | null
  /** As in the locations list; null when missing. */
  readonly locationCode: number | null
  /** As in the languages list; null when missing. */
  readonly languageCode: string | null
  /** When the store was asked, UTC; null when missing. */
  readonly datetime: Date | null
  /** How many pages the service counts; null when missing. */
  readonly itemsCount: number | null
  /** The pages in the order sent. */
  readonly items: readonly HtmlPage[]
  /** Pages that break the contract, and are therefore not in `items`. */
  readonly refused: readonly RefusedItem[]
}

const MAX_PAGES = 1_000

const name = wireText(500)

const htmlPage = wireRecord({ page: optionalCount, date: wireTimestamp, html: z.string() })

const htmlResult = wireRecord({
  type: name,
  app_id: ifReadable((value) => readAppId(value, 'android_store')),
  keyword: wireText(1_000),
  se_domain: name,
  location_code: optionalCode,
  language_code: name,
  datetime: wireTimestamp,
  items_count: optionalCount,
  items: z.array(z.unknown()).max(MAX_PAGES),
})

/**
 * Reads `result[0]` of a task in html form.
 * @throws UnreadableError with the path of the field that breaks the contract, also when no page can be read
 */
export function parseHtmlResult(result: unknown): HtmlResult {
  const read = readWith(htmlResult, result)
  return { ...read, ...readItems(read.items, (item, index) => readWith(htmlPage, item, ['items', index])) }
}
