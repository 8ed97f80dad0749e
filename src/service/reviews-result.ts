/** The result of an app_reviews task: what people write about one app. */

import { z } from 'zod'

import { APP_ID_RULE, readAppId } from './app-id.ts'
import {
  ifReadable,
  optionalCode,
  optionalCount,
  orNull,
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
import { type Rating, rating } from './rating-and-price.ts'
import { type RefusedItem, readItems } from './refused-items.ts'

/** One review (spec: Reviews result). */
export interface Review {
  /** Such as `ios_store_reviews_search`; null when missing. */
  readonly type: string | null
  /** Place among the items of its type, from 1; null when missing. */
  readonly rankGroup: number | null
  /** Place among all items, from 1; null when missing. */
  readonly rankAbsolute: number | null
  /** Alignment, `left`; null when missing. */
  readonly position: string | null
  /** Version of the app that it is about; null when missing. */
  readonly version: string | null
  /** Of this review alone, so it has no votes; null when missing. */
  readonly rating: Rating | null
  /** When it was written, UTC; null when missing. */
  readonly timestamp: Date | null
  /** Id of the review in the store. */
  readonly id: string
  /** At most 2,000 characters; null when missing, and in android_store, where reviews have none. */
  readonly title: string | null
  /** At most 100,000 characters; null when missing. */
  readonly reviewText: string | null
  /** Who wrote it; null when missing. */
  readonly userProfile: {
    /** Null when missing. */
    readonly profileName: string | null
    /** URL; null for a person without a picture. */
    readonly profileImageUrl: string | null
  } | null
  /** How many people found it helpful; android_store only, else null. */
  readonly helpfulCount: number | null
  /**
   * What the developer answered, in the order sent; null when missing, and always in ios_store, which gives
   * none.
   */
  readonly responses: readonly ReviewResponse[] | null
}

/** What a developer answered to a review. */
export interface ReviewResponse {
  /** Name of the developer; null when missing. */
  readonly author: string | null
  /** At most 2,000 characters; null when missing. */
  readonly title: string | null
  /** At most 100,000 characters; null when missing. */
  readonly text: string | null
  /** When it was written, UTC; null when missing. */
  readonly timestamp: Date | null
}

/** Everything that an app_reviews task gives (spec: Reviews result). */
export interface AppReviewsResult {
  /** Id of the app that was asked for. */
  readonly appId: string
  /** Kind of the result; null when missing. */
  readonly type: string | null
  /** Domain of the store; null when missing. */
  readonly seDomain: string | null
  /** As in the locations list; null when missing. */
  readonly locationCode: number | null
  /** As in the languages list; null when missing. */
  readonly languageCode: string | null
  /** Where a person can check the data; null when missing. */
  readonly checkUrl: string | null
  /** When the store was asked, UTC; null when missing. */
  readonly datetime: Date | null
  /** Title of the app; null when missing. */
  readonly title: string | null
  /** Of the app; null when missing. */
  readonly rating: Rating | null
  /** Reviews of the app of all time; null in ios_store, which gives no total. */
  readonly reviewsCount: number | null
  /**
   * How many items came back, which are billed: those of the answer, or more where the service counts more.
   */
  readonly itemsCount: number
  /** A larger depth at posting brings more. */
  readonly items: readonly Review[]
  /** Items that break the contract, and are therefore not in `items`. */
  readonly refused: readonly RefusedItem[]
}

/** The largest depth is 100,000. */
const MAX_ITEMS = 101_000

const name = wireText(500)
const url = wireText(2_000)

const response: z.ZodType<ReviewResponse> = wireRecord({
  author: name,
  title: wireText(2_000),
  text: wireText(100_000),
  timestamp: wireTimestamp,
})

/** A response that cannot be read is left out: the review is what was paid for. */
const responses = ifReadable((value) =>
  Array.isArray(value) ? value.flatMap((sent) => response.safeParse(sent).data ?? []) : null,
)

const review: z.ZodType<Review> = wireRecord({
  type: name,
  rank_group: optionalCount,
  rank_absolute: optionalCount,
  position: name,
  version: name,
  rating,
  timestamp: wireTimestamp,
  id: wireIdentifier,
  title: wireText(2_000),
  review_text: wireText(100_000),
  user_profile: wireRecord({ profile_name: name, profile_image_url: url }).nullish().transform(orNull),
  helpful_count: ifReadable(readCode),
  responses,
})

const page = wireRecord({
  app_id: wireIdentifier,
  type: name,
  se_domain: name,
  location_code: optionalCode,
  language_code: name,
  check_url: url,
  datetime: wireTimestamp,
  title: name,
  rating: ifReadable((value) => rating.safeParse(value).data ?? null),
  reviews_count: optionalCount,
  items_count: ifReadable(readCount),
  items: z.array(z.unknown()).max(MAX_ITEMS).nullish().transform(orNull),
})

/**
 * Reads `result[0]` of an app_reviews task.
 * @param store of the app
 * @throws UnreadableError with the path of the field that breaks the contract, also when no item can be read
 */
export function parseReviewsResult(result: unknown, store: Store = 'ios_store'): AppReviewsResult {
  const read = readWith(page, result)
  if (readAppId(read.appId, store) === null) throw unreadable(['app_id'], APP_ID_RULE)
  if (read.items === null && read.itemsCount !== 0) {
    throw unreadable(['items'], 'it is missing, and items_count is not 0')
  }
  const items = read.items ?? []
  return {
    ...read,
    itemsCount: Math.max(items.length, read.itemsCount ?? 0),
    ...readItems(items, (item, index) => readWith(review, item, ['items', index])),
  }
}
