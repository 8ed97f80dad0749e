/** The two records that several kinds of result share. */

import type { z } from 'zod'

import {
  optional,
  optionalCount,
  optionalFlag,
  optionalName,
  optionalNumber,
  readNumber,
  readSpending,
  wireRecord,
  wireValue,
} from './fields.ts'

/** How people rate an app. */
export type Rating = z.output<typeof wireRating>
/** What an app costs. */
export type Price = z.output<typeof wirePrice>

/** The best value by type, where the type says it (docs/service.md: App info result, Reviews result). */
const BEST_VALUES: Readonly<Record<string, number>> = { Max5: 5, Percents: 100 }

/** Of a scale that names neither. */
const LARGEST_BEST_VALUE = 100

const wireRating = wireRecord({
  /** `Max5`, `Percents` or `CustomMax`. */
  ratingType: optionalName,
  /** On the scale of `ratingType`; null without votes. */
  value: optionalNumber,
  /** How many people have voted; a single review has none. */
  votesCount: optionalCount,
  /** The best value there is, 5 for `Max5`. */
  ratingMax: optionalCount,
})

/** An amount of any currency: nothing costs less than 0, or more than the largest amount of money. */
const amount = optional(
  wireValue((value) => (readSpending(value) === null ? null : readNumber(value)), 'it is no price'),
)

const wirePrice = wireRecord({
  /** What it costs now, in units of `currency`. */
  current: amount,
  /** What it costs without discount, in units of `currency`. */
  regular: amount,
  /** The upper end of a price range, in units of `currency`. */
  maxValue: amount,
  /** ISO 4217 code. */
  currency: optionalName,
  isPriceRange: optionalFlag,
  /** As the store writes it, with its currency. */
  displayedPrice: optionalName,
})

export const rating = optional(
  wireRating.refine(isWithinScale, { path: ['value'], message: 'it is not on the scale of its rating' }),
)
export const price = optional(wirePrice)

/** From 0, which means no rating, to the best value. */
function isWithinScale({ ratingType, value, ratingMax }: Rating): boolean {
  const best = BEST_VALUES[ratingType ?? ''] ?? ratingMax ?? LARGEST_BEST_VALUE
  return value === null || (value >= 0 && value <= best)
}
