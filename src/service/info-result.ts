/** The result of an app_info task: what the store's page says about one app. */

import { z } from 'zod'

import { APP_ID_RULE, readAppId, storeOfType } from './app-id.ts'
import {
  ifReadable,
  isObject,
  optionalCode,
  optionalCount,
  optionalFlag,
  optionalList,
  readWith,
  unreadable,
  wireRecord,
  wireText,
  wireTimestamp,
  wireValue,
} from './fields.ts'
import { type Price, price, type Rating, rating } from './rating-and-price.ts'

/** An app that the page of another one links to. */
export interface LinkedApp {
  /** Id of the app in the store. */
  readonly appId: string
  /** At most 500 characters; null when missing. */
  readonly title: string | null
  /** Page of the app in the store; null when missing. */
  readonly url: string | null
}

/** One app (spec: App info result). */
export interface AppInfo {
  /** Id of the app in the store. */
  readonly appId: string
  /** At most 500 characters; null when missing. */
  readonly title: string | null
  /** The line below the title, which the store ranks by; ios_store only, else null. */
  readonly subtitle: string | null
  /** Page of the app in the store; null when missing. */
  readonly url: string | null
  /** URL of the icon; null when missing. */
  readonly icon: string | null
  /** At most 100,000 characters; null when missing. */
  readonly description: string | null
  /** Reviews of all time; null when missing. */
  readonly reviewsCount: number | null
  /** Null when missing. */
  readonly rating: Rating | null
  /** Null when missing. */
  readonly price: Price | null
  /** Null when missing. */
  readonly isFree: boolean | null
  /** Null when missing. */
  readonly mainCategory: string | null
  /** Name of the developer; null when missing. */
  readonly developer: string | null
  /** Id of the developer in the store; null when missing. */
  readonly developerId: string | null
  /** Page of the developer in the store; null when missing. */
  readonly developerUrl: string | null
  /** Current version; null where android_store has one for each device. */
  readonly version: string | null
  /** Oldest system that it runs on; null where android_store has one for each device. */
  readonly minimumOsVersion: string | null
  /** As the store writes it, with its unit; null where android_store has one for each device. */
  readonly size: string | null
  /** When it came out, UTC; null when missing, as it may be in ios_store always. */
  readonly releasedDate: Date | null
  /** When it was last changed, UTC; null when missing. */
  readonly lastUpdateDate: Date | null
  /** The developer's notes on the current version, at most 100,000 characters; null when missing. */
  readonly updateNotes: string | null
  /** URLs; null when missing. */
  readonly images: readonly (string | null)[] | null
  /** Null when missing, which is not the same as empty. */
  readonly similarApps: readonly LinkedApp[] | null
  /** Null when missing, which is not the same as empty. */
  readonly moreAppsByDeveloper: readonly LinkedApp[] | null
  /** Every category that it is in; ios_store only, else null. */
  readonly categories: readonly (string | null)[] | null
  /** Language tags; ios_store only, else null. */
  readonly languages: readonly (string | null)[] | null
  /** Age rating and content advisories; ios_store only, else null. */
  readonly advisories: readonly (string | null)[] | null
  /** About how many, as the store writes it; android_store only, else null. */
  readonly installs: string | null
  /** Exactly how many; android_store only, else null. */
  readonly installsCount: number | null
  /** android_store only, else null. */
  readonly developerEmail: string | null
  /** Postal; android_store only, else null. */
  readonly developerAddress: string | null
  /** URL; android_store only, else null. */
  readonly developerWebsite: string | null
  /** URLs; android_store only, else null. */
  readonly videos: readonly (string | null)[] | null
  /** android_store only, else null. */
  readonly genres: readonly (string | null)[] | null
  /** android_store only, else null. */
  readonly tags: readonly (string | null)[] | null
}

/** The app that was asked for, as the collector stores it. */
export interface InfoResult extends AppInfo {
  /** Where a person can check the data; null when missing. */
  readonly checkUrl: string | null
  /** When the store was asked, UTC; null when missing. */
  readonly datetime: Date | null
}

/** The app with its place on the page. */
export interface AppInfoItem extends AppInfo {
  /** Such as `ios_store_info_organic`. */
  readonly type: string
  /** Place among the items of its type, from 1; null when missing. */
  readonly rankGroup: number | null
  /** Place among all items, from 1; null when missing. */
  readonly rankAbsolute: number | null
  /** Alignment, `left`; null when missing. */
  readonly position: string | null
}

/** Everything that an app_info task gives. */
export interface AppInfoResult {
  /** Id of the app that was asked for; null when missing. */
  readonly appId: string | null
  /** Domain of the store; null when missing. */
  readonly seDomain: string | null
  /** As in the locations list; null when missing. */
  readonly locationCode: number | null
  /** As in the languages list; null when missing. */
  readonly languageCode: string | null
  /** Where a person can check the data; null when missing. */
  readonly checkUrl: string | null
  /** When the store was asked, UTC; null when missing. */
  readonly datetime: Date | null
  /** How many results the store says there are; null when missing. */
  readonly seResultsCount: number | null
  /** Items of any type; null when missing. */
  readonly itemsCount: number | null
  /** Apps only. */
  readonly items: readonly AppInfoItem[]
}

const name = wireText(500)
const url = wireText(2_000)
const longText = wireText(100_000)
const names = optionalList(name)
const urls = optionalList(url)
/** As an id of either store may look. */
const readAnyAppId = (value: unknown) => readAppId(value, 'android_store')
const linkedApp: z.ZodType<LinkedApp> = wireRecord({
  app_id: wireValue(readAnyAppId, APP_ID_RULE),
  title: name,
  url,
})
/** A link that cannot be read is left out. */
const apps = optionalList(z.unknown()).transform(
  (list) => list?.flatMap((linked) => linkedApp.safeParse(linked).data ?? []) ?? null,
)

const app = wireRecord({
  title: name,
  subtitle: name,
  url,
  icon: url,
  description: longText,
  reviews_count: optionalCount,
  rating,
  price,
  is_free: optionalFlag,
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
  installs_count: optionalCount,
  developer_email: name,
  developer_address: name,
  developer_website: url,
  videos: urls,
  genres: names,
  tags: names,
})

const place = wireRecord({
  type: z.string(),
  rank_group: optionalCount,
  rank_absolute: optionalCount,
  position: name,
})

const items = z.array(z.unknown())
const appId = ifReadable(readAnyAppId)

const infoPage = z.object({ app_id: appId, check_url: url, datetime: wireTimestamp, items })

const fullPage = wireRecord({
  app_id: appId,
  se_domain: name,
  location_code: optionalCode,
  language_code: name,
  check_url: url,
  datetime: wireTimestamp,
  se_results_count: optionalCount,
  items_count: optionalCount,
  items,
})

/**
 * Reads `result[0]` of an app_info task. A list that the store does not give is null, not empty.
 * @param asked the app that was asked for; without it, the one that the result names
 * @throws UnreadableError with the path of the field that breaks the contract, or when it holds no or another
 *   app
 */
export function parseInfoResult(result: unknown, asked?: string): InfoResult {
  const page = readWith(infoPage, result)
  const index = page.items.findIndex(isOrganic)
  if (index < 0) throw unreadable(['items'], 'it holds no app')
  const item = readApp(page.items[index], index)
  const appId = asked ?? page.app_id
  if (appId !== null && appId !== item.appId) {
    throw unreadable(['items', index, 'app_id'], `${appId} was asked for, not ${item.appId}`)
  }
  return { ...item, checkUrl: page.check_url, datetime: page.datetime }
}

/**
 * Reads all of `result[0]` of an app_info task.
 * @throws UnreadableError as `parseInfoResult` does
 */
export function parseAppInfoResult(result: unknown): AppInfoResult {
  parseInfoResult(result)
  const page = readWith(fullPage, result)
  const found = page.items.flatMap((item, index) =>
    isOrganic(item) ? [{ ...readApp(item, index), ...readWith(place, item, ['items', index]) }] : [],
  )
  return { ...page, items: found }
}

function readApp(item: unknown, index: number): AppInfo {
  return parseListedApp(item, ['items', index])
}

/**
 * Reads one app.
 * @param at path of the item in the answer
 * @throws UnreadableError with the path of the field that breaks the contract
 */
export function parseListedApp(item: unknown, at: readonly PropertyKey[]): AppInfo {
  const id = isOrganic(item) ? readAppId(item.app_id, storeOfType(item.type)) : null
  if (id === null) throw unreadable([...at, 'app_id'], APP_ID_RULE)
  return { appId: id, ...readWith(app, item, at) }
}

function isOrganic(item: unknown): item is { readonly type: string; readonly app_id?: unknown } {
  return isObject(item) && typeof item.type === 'string' && item.type.endsWith('_organic')
}
