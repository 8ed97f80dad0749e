/**
 * What a search or a chart says of an app in numbers. An item is not refused for them: one that cannot be
 * read is null. By hand and not by a schema, as all of an item.
 */

import { isObject, readCode, readNumber, readSpending } from './fields.ts'

export interface ListedNumbers {
  /** How many people have voted; of an item that counts reviews alone, how many reviews. */
  readonly votes: number | null
  /** In hundredths of a star, up to 500. */
  readonly rating: number | null
  /** What it costs now, in millionths of `currency`; 0 when it is free. */
  readonly priceMicros: number | null
  /** ISO 4217 code. */
  readonly currency: string | null
}

/** Reads the numbers of an item. */
export function readNumbers(sent: Record<string, unknown>): ListedNumbers {
  const rating = isObject(sent.rating) ? sent.rating : {}
  const price = isObject(sent.price) ? sent.price : {}
  const { currency } = price
  return {
    votes: readCode(rating.votes_count) ?? readCode(sent.reviews_count),
    rating: readHundredths(rating),
    priceMicros: sent.is_free === true ? 0 : readSpending(price.current),
    currency: typeof currency === 'string' && /^[A-Z]{3}$/.test(currency) ? currency : null,
  }
}

/** Whether an item says what was read before. */
export function isSameNumbers(sent: Record<string, unknown>, before: ListedNumbers): boolean {
  const now = readNumbers(sent)
  return (
    now.votes === before.votes &&
    now.rating === before.rating &&
    now.priceMicros === before.priceMicros &&
    now.currency === before.currency
  )
}

function readHundredths({ value, rating_max: max }: Record<string, unknown>): number | null {
  const stars = readNumber(value)
  const best = readNumber(max) ?? 5
  return stars === null || stars < 0 || stars > best ? null : Math.round((stars / best) * 500)
}
