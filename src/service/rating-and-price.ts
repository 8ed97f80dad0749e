/** The two records that several kinds of result share. */

import {
  optionalCount,
  optionalFlag,
  optionalNumber,
  orNull,
  readNumber,
  readSpending,
  wireRecord,
  wireText,
  wireValue,
} from './fields.ts'

/** How people rate an app. */
export interface Rating {
  /** `Max5`, `Percents` or `CustomMax`; null when missing. */
  readonly ratingType: string | null
  /** On the scale of `ratingType`; null without votes, or when missing. */
  readonly value: number | null
  /** How many people have voted; null when the store does not say, as in a single review. */
  readonly votesCount: number | null
  /** The best value there is, 5 for `Max5`; null when missing. */
  readonly ratingMax: number | null
}

/** What an app costs. */
export interface Price {
  /** What it costs now, in units of `currency`; null when the store does not say. */
  readonly current: number | null
  /** What it costs without discount, in units of `currency`; null when the store does not say. */
  readonly regular: number | null
  /** The upper end of a price range, in units of `currency`; null when there is none. */
  readonly maxValue: number | null
  /** ISO 4217 code; null when missing. */
  readonly currency: string | null
  /** Null when missing. */
  readonly isPriceRange: boolean | null
  /** As the store writes it, with its currency; null when it shows none. */
  readonly displayedPrice: string | null
}

const name = wireText(500)

/** The best value by type, where the type says it (spec: App info result, Reviews result). */
const BEST_VALUES: Readonly<Record<string, number>> = { Max5: 5, Percents: 100 }

/** Of a scale that names neither. */
const LARGEST_BEST_VALUE = 100

/** An amount of any currency: nothing costs less than 0, or more than the largest amount of money. */
const amount = wireValue(
  (value) => (readSpending(value) === null ? null : readNumber(value)),
  'it is no price',
)
  .nullish()
  .transform(orNull)

export const rating = wireRecord({
  rating_type: name,
  value: optionalNumber,
  votes_count: optionalCount,
  rating_max: optionalCount,
})
  .refine(isWithinScale, { path: ['value'], message: 'it is not on the scale of its rating' })
  .nullish()
  .transform(orNull)

export const price = wireRecord({
  current: amount,
  regular: amount,
  max_value: amount,
  currency: name,
  is_price_range: optionalFlag,
  displayed_price: name,
})
  .nullish()
  .transform(orNull)

/** From 0, which means no rating, to the best value. */
function isWithinScale({ ratingType, value, ratingMax }: Rating): boolean {
  const best = BEST_VALUES[ratingType ?? ''] ?? ratingMax ?? LARGEST_BEST_VALUE
  return value === null || (value >= 0 && value <= best)
}
