/** The result of an app_info task: what the store's page says about one app. */

import { z } from 'zod'

import {
  readWith,
  unreadable,
  wireIdentifier,
  wireInteger,
  wireNumber,
  wireText,
  wireTimestamp,
} from './fields.ts'

const MAX_LIST_LENGTH = 1000
const MAX_NAME_LENGTH = 500
const MAX_URL_LENGTH = 2000
const MAX_LONG_TEXT_LENGTH = 100_000

const name = wireText(MAX_NAME_LENGTH)
const url = wireText(MAX_URL_LENGTH)
const longText = wireText(MAX_LONG_TEXT_LENGTH)
const flag = z.boolean().nullish().transform(orNull)
const number = wireNumber.nullish().transform(orNull)
const count = wireInteger.nullish().transform(orNull)
const names = listOf(name)
const urls = listOf(url)
const apps = listOf(
  z
    .object({ app_id: wireIdentifier, title: name, url })
    .transform((app) => ({ appId: app.app_id, title: app.title, url: app.url })),
)

const rating = z
  .object({ rating_type: name, value: number, votes_count: count, rating_max: count })
  .transform((value) => ({
    ratingType: value.rating_type,
    value: value.value,
    votesCount: value.votes_count,
    ratingMax: value.rating_max,
  }))
  .nullish()
  .transform(orNull)

const price = z
  .object({
    current: number,
    regular: number,
    max_value: number,
    currency: name,
    is_price_range: flag,
    displayed_price: name,
  })
  .transform((value) => ({
    current: value.current,
    regular: value.regular,
    maxValue: value.max_value,
    currency: value.currency,
    isPriceRange: value.is_price_range,
    displayedPrice: value.displayed_price,
  }))
  .nullish()
  .transform(orNull)

/** spec: App info result. The fields that say where the item stood in its page of one are not read. */
const infoItem = z
  .object({
    app_id: wireIdentifier,
    title: name,
    url,
    icon: url,
    description: longText,
    reviews_count: count,
    rating,
    price,
    is_free: flag,
    main_category: name,
    developer: name,
    developer_id: name,
    developer_url: url,
    version: name,
    minimum_os_version: name,
    size: name,
    released_date: wireTimestamp,
    last_update_date: wireTimestamp,
    update_notes: longText,
    images: urls,
    similar_apps: apps,
    more_apps_by_developer: apps,
    categories: names,
    languages: names,
    advisories: names,
    installs: name,
    installs_count: count,
    developer_email: name,
    developer_address: name,
    developer_website: url,
    videos: urls,
    genres: names,
    tags: names,
  })
  .transform((item) => ({
    appId: item.app_id,
    title: item.title,
    url: item.url,
    icon: item.icon,
    description: item.description,
    reviewsCount: item.reviews_count,
    rating: item.rating,
    price: item.price,
    isFree: item.is_free,
    mainCategory: item.main_category,
    developer: item.developer,
    developerId: item.developer_id,
    developerUrl: item.developer_url,
    version: item.version,
    minimumOsVersion: item.minimum_os_version,
    size: item.size,
    releasedDate: item.released_date,
    lastUpdateDate: item.last_update_date,
    updateNotes: item.update_notes,
    images: item.images,
    similarApps: item.similar_apps,
    moreAppsByDeveloper: item.more_apps_by_developer,
    /** ios_store only, as are `languages` and `advisories`. */
    categories: item.categories,
    languages: item.languages,
    advisories: item.advisories,
    /** android_store only, as are all that follow. */
    installs: item.installs,
    installsCount: item.installs_count,
    developerEmail: item.developer_email,
    developerAddress: item.developer_address,
    developerWebsite: item.developer_website,
    videos: item.videos,
    genres: item.genres,
    tags: item.tags,
  }))

const infoPage = z.object({
  app_id: wireIdentifier.nullish().transform(orNull),
  check_url: url,
  datetime: wireTimestamp,
  items: z.array(z.object({ type: z.string() }).loose()),
})

export interface InfoResult extends z.output<typeof infoItem> {
  readonly checkUrl: string | null
  readonly datetime: Date | null
}

/**
 * Reads `result[0]` of an app_info task. A list that the store does not give is null, not empty.
 * @throws UnreadableError with the path of the field that breaks the contract, or when it holds no or another app
 */
export function parseInfoResult(result: unknown): InfoResult {
  const page = readWith(infoPage, result)
  const index = page.items.findIndex((item) => item.type.endsWith('_organic'))
  if (index < 0) throw unreadable(['items'], 'it holds no app')
  const item = readWith(infoItem, page.items[index], ['items', index])
  if (page.app_id !== null && page.app_id !== item.appId) {
    throw unreadable(['items', index, 'app_id'], `${page.app_id} was asked for, not ${item.appId}`)
  }
  return { ...item, checkUrl: page.check_url, datetime: page.datetime }
}

function listOf<T extends z.ZodType>(element: T) {
  return z.array(element).max(MAX_LIST_LENGTH).nullish().transform(orNull)
}

function orNull<T>(value: T | null | undefined): T | null {
  return value ?? null
}
