/** The lists that watches refer to: locations, languages, categories. */

import { z } from 'zod'

import { textIfReadable, wireCode, wireCount, wireRecord, wireText } from './fields.ts'
import type { Store } from './functions.ts'
import { fetchReadableRows } from './replies.ts'
import type { Transport } from './transport.ts'

/** One place that a store can be asked from (spec: Reference records). */
export interface Location {
  /** What a task names the location by. */
  readonly locationCode: number
  /** Full name, which a task may give instead of the code. */
  readonly locationName: string
  /** Name of what it lies in; null for a country, and so always in ios_store. */
  readonly parentName: string | null
  /** ISO 3166-1, two letters; null when missing. */
  readonly countryIsoCode: string | null
  /** Such as `Country`; null when missing. */
  readonly locationType: string | null
}

/** One language that a store can be asked in (spec: Reference records). */
export interface Language {
  /** Full English name, which a task may give instead of the code. */
  readonly languageName: string
  /** ISO 639-1. */
  readonly languageCode: string
}

/** A category of a store with the number of listings in it. */
export interface ListingCategory {
  /** As shown to people. */
  readonly category: string
  /** Listings in it. */
  readonly count: number
}

const name = wireText(500).pipe(z.string().min(1))

const location = wireRecord({
  location_code: wireCode,
  location_name: name,
  location_name_parent: textIfReadable(500),
  country_iso_code: textIfReadable(20),
  location_type: textIfReadable(100),
}).transform(({ locationNameParent: parentName, ...row }): Location => ({ ...row, parentName }))

const language: z.ZodType<Language> = wireRecord({ language_name: name, language_code: name })

const categories = z.object({ categories: z.array(name) }).transform((row) => row.categories)

const listingCategory: z.ZodType<ListingCategory> = wireRecord({ category: name, count: wireCount })

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
