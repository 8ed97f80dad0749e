/** The result of an app_reviews task: what people write about one app. */

import { z } from 'zod'

import { APP_ID_RULE, readAppId } from './app-id.ts'
import {
  ifReadable,
  optional,
  optionalCount,
  optionalName,
  optionalUrl,
  PLACE,
  readCode,
  readCount,
  readWith,
  unreadable,
  wireIdentifier,
  wireRecord,
  wireText,
  wireTimestamp,
} from './fields.ts'
import type { Store } from './functions.ts'
import { rating } from './rating-and-price.ts'
import { describeMiscount, readItems } from './refused-items.ts'

/** One review (docs/service.md: Reviews result). */
export type Review = z.output<typeof review>
/** What a developer answered to a review. */
export type ReviewResponse = z.output<typeof response>
/** Everything that an app_reviews task gives. */
export type AppReviewsResult = ReturnType<typeof parseReviewsResult>

/** The largest depth is 100,000. */
const MAX_ITEMS = 101_000

const title = wireText(2_000)
const longText = wireText(100_000)

const response = wireRecord({
  /** Name of the developer. */
  author: optionalName,
  title,
  text: longText,
  /** When it was written, UTC. */
  timestamp: wireTimestamp,
})

const author = wireRecord({ profileName: optionalName, profileImageUrl: optionalUrl })

const review = wireRecord({
  /** Such as `ios_store_reviews_search`. */
  type: optionalName,
  /** Place among the items of its type, from 1. */
  rankGroup: optionalCount,
  /** Place among all items, from 1. */
  rankAbsolute: optionalCount,
  /** Alignment, `left`. */
  position: optionalName,
  /** Version of the app that it is about. */
  version: optionalName,
  /** Of this review alone, so it has no votes. */
  rating,
  /** When it was written, UTC. */
  timestamp: wireTimestamp,
  /** Id of the review in the store. */
  id: wireIdentifier,
  /** android_store gives none. */
  title,
  reviewText: longText,
  /** Who wrote it. */
  userProfile: optional(author),
  /** How many people found it helpful; android_store only. */
  helpfulCount: ifReadable(readCode),
  /**
   * What the developer answered, in the order sent; ios_store gives none. One that cannot be read is left
   * out: the review is what was paid for.
   */
  responses: ifReadable((value) =>
    Array.isArray(value) ? value.flatMap((sent) => response.safeParse(sent).data ?? []) : null,
  ),
})

const page = wireRecord({
  /** Id of the app that was asked for. */
  appId: wireIdentifier,
  /** Kind of the result. */
  type: optionalName,
  ...PLACE,
  /** Where a person can check the data. */
  checkUrl: optionalUrl,
  /** When the store was asked, UTC. */
  datetime: wireTimestamp,
  /** Title of the app. */
  title: optionalName,
  /** Of the app. */
  rating: ifReadable((value) => rating.safeParse(value).data ?? null),
  /** Reviews of the app of all time; ios_store gives no total. */
  reviewsCount: optionalCount,
  itemsCount: ifReadable(readCount),
  items: z.array(z.unknown()).max(MAX_ITEMS).nullish(),
})

/**
 * Reads `result[0]` of an app_reviews task.
 * @param store of the app
 * @throws UnreadableError with the path of the field that breaks the contract, also when no item can be read
 */
export function parseReviewsResult(result: unknown, store: Store = 'ios_store') {
  const read = readWith(page, result)
  if (readAppId(read.appId, store) === null) throw unreadable(['app_id'], APP_ID_RULE)
  if (read.items == null && read.itemsCount !== 0) {
    throw unreadable(['items'], 'it is missing, and items_count is not 0')
  }
  const items = read.items ?? []
  return {
    ...read,
    /** How many items are billed: those of the answer, or more where the service counts more. */
    itemsCount: Math.max(items.length, read.itemsCount ?? 0),
    /** As that of a search. */
    shortfall: describeMiscount(items.length, read.itemsCount),
    ...readItems(items, (item, index) => readWith(review, item, ['items', index])),
  }
}
