/** The two records that several kinds of result share. */

import { z } from 'zod'

import { optionalFlag, optionalInteger, optionalNumber, orNull, wireText } from './fields.ts'

/** How people rate an app. Each field is null when the store does not say. */
export interface Rating {
  /** `Max5`, `Percents` or `CustomMax`. */
  readonly ratingType: string | null
  readonly value: number | null
  readonly votesCount: number | null
  /** The best value there is, 5 for `Max5`. */
  readonly ratingMax: number | null
}

/** What an app costs, in units of `currency`. Each field is null when the store does not say. */
export interface Price {
  readonly current: number | null
  readonly regular: number | null
  readonly maxValue: number | null
  /** ISO code. */
  readonly currency: string | null
  readonly isPriceRange: boolean | null
  /** As the store writes it. */
  readonly displayedPrice: string | null
}

const name = wireText(500)

export const rating = z
  .object({
    rating_type: name,
    value: optionalNumber,
    votes_count: optionalInteger,
    rating_max: optionalInteger,
  })
  .transform(
    (value): Rating => ({
      ratingType: value.rating_type,
      value: value.value,
      votesCount: value.votes_count,
      ratingMax: value.rating_max,
    }),
  )
  .nullish()
  .transform(orNull)

export const price = z
  .object({
    current: optionalNumber,
    regular: optionalNumber,
    max_value: optionalNumber,
    currency: name,
    is_price_range: optionalFlag,
    displayed_price: name,
  })
  .transform(
    (value): Price => ({
      current: value.current,
      regular: value.regular,
      maxValue: value.max_value,
      currency: value.currency,
      isPriceRange: value.is_price_range,
      displayedPrice: value.displayed_price,
    }),
  )
  .nullish()
  .transform(orNull)
