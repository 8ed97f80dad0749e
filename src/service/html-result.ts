/** The raw pages of a task of android_store, as the store showed them. */

import { z } from 'zod'

import {
  optionalInteger,
  orNull,
  readWith,
  wireIdentifier,
  wireRecord,
  wireText,
  wireTimestamp,
} from './fields.ts'

export interface HtmlPage {
  /** Serial number. */
  readonly page: number | null
  /** When it was scanned. */
  readonly date: Date | null
  /** The page to the byte: neither cut nor cleaned. */
  readonly html: string
}

/** spec: Html result */
export interface HtmlResult {
  /** `app_info`, `app_list` or `organic`. */
  readonly type: string | null
  /** app_info only. */
  readonly appId: string | null
  /** The keyword of app_searches, the app collection of app_list; else null. */
  readonly keyword: string | null
  /** Domain of the store. */
  readonly seDomain: string | null
  readonly locationCode: number | null
  readonly languageCode: string | null
  /** When the store was asked. */
  readonly datetime: Date | null
  readonly itemsCount: number | null
  readonly items: readonly HtmlPage[]
}

const MAX_PAGES = 1_000

const name = wireText(500)

const htmlResult: z.ZodType<HtmlResult> = wireRecord({
  type: name,
  app_id: wireIdentifier.nullish().transform(orNull),
  keyword: wireText(1_000),
  se_domain: name,
  location_code: optionalInteger,
  language_code: name,
  datetime: wireTimestamp,
  items_count: optionalInteger,
  items: z.array(wireRecord({ page: optionalInteger, date: wireTimestamp, html: z.string() })).max(MAX_PAGES),
})

/**
 * Reads `result[0]` of a task in html form.
 * @throws UnreadableError with the path of the field that breaks the contract
 */
export function parseHtmlResult(result: unknown): HtmlResult {
  return readWith(htmlResult, result)
}
