/**
 * Reads a catalogue file of real apps: CSV with the columns app_id, title, genre, rating, ratings_count,
 * price_usd.
 */

import { readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import { z } from 'zod'

/** One real app of the ios_store. */
export type RealApp = {
  id: string
  title: string
  category: string
  rating: number
  votes: number
  priceUsd: number
}

const Row = z.object({
  app_id: z.string().regex(/^\d{6,12}$/),
  title: z.string().min(1),
  genre: z.string(),
  rating: z.coerce.number().min(0).max(5),
  ratings_count: z.coerce.number().int().nonnegative(),
  price_usd: z.coerce.number().nonnegative(),
})

const toCategory = (genre: string): string => genre.toLowerCase().replaceAll('&', 'and').replace(/\s+/g, '_')

/** Reads the file. Throws with the line number when a row has another form. */
export const readRealApps = (file: string): RealApp[] => {
  const rows: unknown[] = parse(readFileSync(file), { columns: true, bom: true, skip_empty_lines: true })
  return rows.map((row, index) => {
    const parsed = Row.safeParse(row)
    if (!parsed.success) {
      const issue = parsed.error.issues[0]
      throw new Error(`${file}, record ${index + 1}: column ${issue?.path.join('.')}: ${issue?.message}`)
    }
    const { app_id, title, genre, rating, ratings_count, price_usd } = parsed.data
    return {
      id: app_id,
      title,
      category: toCategory(genre),
      rating,
      votes: ratings_count,
      priceUsd: price_usd,
    }
  })
}
