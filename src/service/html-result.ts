/** The raw pages of a task of android_store, as the store showed them. */

import { z } from 'zod'

import { readAppId } from './app-id.ts'
import {
  ifReadable,
  optionalCount,
  optionalName,
  PLACE,
  readWith,
  wireRecord,
  wireText,
  wireTimestamp,
} from './fields.ts'
import { readItems } from './refused-items.ts'

/** One raw page. */
export type HtmlPage = z.output<typeof htmlPage>
/** Everything that a task in html form gives (docs/service.md: Html result). */
export type HtmlResult = ReturnType<typeof parseHtmlResult>

const MAX_PAGES = 1_000

const htmlPage = wireRecord({
  /** Serial number, from 1. */
  page: optionalCount,
  /** When it was scanned, UTC. */
  date: wireTimestamp,
  /** The page to the byte: neither cut nor cleaned. */
  html: z.string(),
})

const htmlResult = wireRecord({
  /** `app_info`, `app_list`, `app_reviews` or `organic`. */
  type: optionalName,
  /** Id of the app; app_info and app_reviews only. */
  appId: ifReadable((value) => readAppId(value, 'android_store')),
  /** The keyword of app_searches, the app collection of app_list. */
  keyword: wireText(1_000),
  ...PLACE,
  /** When the store was asked, UTC. */
  datetime: wireTimestamp,
  /** How many pages the service counts. */
  itemsCount: optionalCount,
  items: z.array(z.unknown()).max(MAX_PAGES),
})

/**
 * Reads `result[0]` of a task in html form.
 * @throws UnreadableError with the path of the field that breaks the contract, also when no page can be read
 */
export function parseHtmlResult(result: unknown) {
  const read = readWith(htmlResult, result)
  return { ...read, ...readItems(read.items, (item, index) => readWith(htmlPage, item, ['items', index])) }
}
