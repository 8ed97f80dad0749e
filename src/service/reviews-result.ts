/** The result of an app_reviews task: what people write about one app of ios_store. */

import { z } from 'zod'

import {
  optionalInteger,
  orNull,
  readWith,
  unreadable,
  wireIdentifier,
  wireRecord,
  wireText,
  wireTimestamp,
} from './fields.ts'
import { type Rating, rating } from './rating-and-price.ts'

/** One review (spec: Reviews result). */
export interface Review {
  /** `ios_store_reviews_search`. */
  readonly type: string | null
  /** Place among the items of its type, from 1. */
  readonly rankGroup: number | null
  /** Place among all items, from 1. */
  readonly rankAbsolute: number | null
  /** `left`. */
  readonly position: string | null
  /** Version of the app that it is about. */
  readonly version: string | null
  /** Of this review alone, so it has no votes. */
  readonly rating: Rating | null
  /** When it was written. */
  readonly timestamp: Date | null
  readonly id: string
  readonly title: string | null
  readonly reviewText: string | null
  readonly userProfile: {
    readonly profileName: string | null
    /** Null for a person without a picture. */
    readonly profileImageUrl: string | null
  } | null
}

export interface AppReviewsResult {
  readonly appId: string
  readonly type: string | null
  /** Domain of the store. */
  readonly seDomain: string | null
  readonly locationCode: number | null
  readonly languageCode: string | null
  /** Where a person can check the data. */
  readonly checkUrl: string | null
  /** When the store was asked. */
  readonly datetime: Date | null
  /** Title of the app. */
  readonly title: string | null
  /** Of the app. */
  readonly rating: Rating | null
  /** Of the app; null because the store gives no total. */
  readonly reviewsCount: number | null
  readonly itemsCount: number | null
  /** A larger depth at posting brings more. */
  readonly items: readonly Review[]
}

/** The largest depth is 500. */
const MAX_ITEMS = 5_000

const name = wireText(500)
const url = wireText(2_000)

const review: z.ZodType<Review> = wireRecord({
  type: name,
  rank_group: optionalInteger,
  rank_absolute: optionalInteger,
  position: name,
  version: name,
  rating,
  timestamp: wireTimestamp,
  id: wireIdentifier,
  title: wireText(2_000),
  review_text: wireText(100_000),
  user_profile: wireRecord({ profile_name: name, profile_image_url: url }).nullish().transform(orNull),
})

const page = wireRecord({
  app_id: wireIdentifier,
  type: name,
  se_domain: name,
  location_code: optionalInteger,
  language_code: name,
  check_url: url,
  datetime: wireTimestamp,
  title: name,
  rating,
  reviews_count: optionalInteger,
  items_count: optionalInteger,
  items: z.array(review).max(MAX_ITEMS).nullish().transform(orNull),
})

/**
 * Reads `result[0]` of an app_reviews task.
 * @throws UnreadableError with the path of the field that breaks the contract
 */
export function parseReviewsResult(result: unknown): AppReviewsResult {
  const read = readWith(page, result)
  if (read.items === null && read.itemsCount !== 0) {
    throw unreadable(['items'], 'it is missing, and items_count is not 0')
  }
  return { ...read, items: read.items ?? [] }
}
