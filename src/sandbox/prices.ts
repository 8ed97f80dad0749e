/** What tasks cost, in micro-dollars (spec: Account data record, "Unit costs observed"). */

import type { Offer } from './offers.ts'

export type Priority = 1 | 2

/**
 * Price of one billing unit of a posted task, by function; also of functions that this sandbox lists only.
 */
export const POST_PRICES_MICROS: Record<string, { normal: number; high: number }> = {
  app_info: { normal: 600, high: 1200 },
  app_list: { normal: 1200, high: 2400 },
  app_searches: { normal: 1200, high: 2400 },
  app_reviews: { normal: 750, high: 1500 },
}

/** The search in listings, as it is sold: for the call, and for each result. */
export const LISTING_PRICES_MICROS = { perRequest: 10_000, perResult: 100 }

/** Micro-dollars as the floating dollars of the wire. */
export const toUsd = (micros: number): number => micros / 1_000_000

/** What a task costs for a number of results, which is never less than one billing unit. */
export const priceTaskMicros = (
  offer: Pick<Offer, 'function' | 'depth'>,
  priority: Priority,
  results: number,
): number => {
  const prices = POST_PRICES_MICROS[offer.function] ?? { normal: 0, high: 0 }
  const unit = offer.depth?.billedPer ?? 1
  return Math.max(1, Math.ceil(results / unit)) * (priority === 2 ? prices.high : prices.normal)
}
