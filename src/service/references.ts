/** The lists that watches refer to: locations, languages, categories. */

import { z } from 'zod'

import { optionalName, textIfReadable, wireCode, wireCount, wireRecord } from './fields.ts'
import type { Store } from './functions.ts'
import { fetchReadableRows } from './replies.ts'
import type { Transport } from './transport.ts'

/** One place that a store can be asked from (docs/service.md: Reference records). */
export type Location = z.output<typeof location>
/** One language that a store can be asked in. */
export type Language = z.output<typeof language>
/** A category of a store with the number of listings in it. */
export type ListingCategory = z.output<typeof listingCategory>

const name = optionalName.pipe(z.string().min(1))

const location = wireRecord({
  /** What a task names the location by. */
  locationCode: wireCode,
  /** Full name, which a task may give instead of the code. */
  locationName: name,
  /** Name of what it lies in; null for a country, and so always in ios_store. */
  locationNameParent: textIfReadable(500),
  /** ISO 3166-1, two letters. */
  countryIsoCode: textIfReadable(20),
  /** Such as `Country`. */
  locationType: textIfReadable(100),
})

const language = wireRecord({
  /** Full English name, which a task may give instead of the code. */
  languageName: name,
  /** ISO 639-1. */
  languageCode: name,
})

const categories = z.object({ categories: z.array(name) }).transform((row) => row.categories)

const listingCategory = wireRecord({ category: name, count: wireCount })

/** The locations of a store. */
export function listLocations(transport: Transport, store: Store): Promise<Location[]> {
  return fetchReadableRows(transport, referenceCall(`/v3/app_data/${store}/locations`), location)
}

/** The languages of a store. */
export function listLanguages(transport: Transport, store: Store): Promise<Language[]> {
  return fetchReadableRows(transport, referenceCall(`/v3/app_data/${store}/languages`), language)
}

/** The category values of a store. */
export async function listCategories(transport: Transport, store: Store): Promise<string[]> {
  return (
    await fetchReadableRows(transport, referenceCall(`/v3/app_data/${store}/categories`), categories)
  ).flat()
}

/**
 * The categories of app listings. A service in the form of the specification has those of android_store
 * alone, and answers 404 else.
 */
export function listListingCategories(transport: Transport, store: Store): Promise<ListingCategory[]> {
  const path = `/v3/app_data/${store}/app_listings/categories`
  return fetchReadableRows(transport, referenceCall(path), listingCategory)
}

function referenceCall(path: string) {
  return { kind: 'reference', method: 'GET', path } as const
}
