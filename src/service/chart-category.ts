/**
 * The category of a chart with the age that its apps are for, as one text: `family, ages_6_8`. A target has
 * it so, and whatever shows or tells apart the categories of charts shows and tells apart both.
 */

import { AGE_RATINGS, type AgeRating } from './functions.ts'

export interface ChartCategory {
  readonly category?: string
  readonly ageRating?: AgeRating
}

/** One text → what is posted. */
export function splitCategory(text: string | null): ChartCategory {
  if (text === null) return {}
  const ageRating = AGE_RATINGS.find((age) => text.endsWith(`, ${age}`))
  return ageRating === undefined
    ? { category: text }
    : { category: text.slice(0, -ageRating.length - 2), ageRating }
}

/** What was posted → one text. */
export function joinCategory(category: string | null, ageRating: string | null): string | null {
  return category !== null && ageRating !== null ? `${category}, ${ageRating}` : category
}
