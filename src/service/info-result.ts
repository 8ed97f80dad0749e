/** The result of an app_info task: what the store's page says about one app. */

import { z } from 'zod'

import { APP_ID_RULE, isOrganic, readAppId, readListedAppId } from './app-id.ts'
import {
  ifReadable,
  optionalCount,
  optionalFlag,
  optionalList,
  optionalName,
  optionalUrl,
  PLACE,
  readWith,
  unreadable,
  wireRecord,
  wireText,
  wireTimestamp,
  wireValue,
} from './fields.ts'
import { price, rating } from './rating-and-price.ts'
import { describeMiscount, readItems } from './refused-items.ts'

/** An app that the page of another one links to. */
export type LinkedApp = z.output<typeof linkedApp>
/** One app (docs/service.md: App info result). A list that the store does not give is null, not empty. */
export type AppInfo = ReturnType<typeof parseListedApp>
/** The app that was asked for, as the collector stores it. */
export type InfoResult = ReturnType<typeof parseInfoResult>
/** The app with its place on the page. */
export type AppInfoItem = AppInfo & z.output<typeof place>
/** Everything that an app_info task gives. */
export type AppInfoResult = ReturnType<typeof parseAppInfoResult>

const longText = wireText(100_000)
const names = optionalList(optionalName)
const urls = optionalList(optionalUrl)
/** As an id of either store may look. */
const readAnyAppId = (value: unknown) => readAppId(value, 'android_store')

const linkedApp = wireRecord({
  /** Id of the app in the store. */
  appId: wireValue(readAnyAppId, APP_ID_RULE),
  title: optionalName,
  /** Page of the app in the store. */
  url: optionalUrl,
})
/** A link that cannot be read is left out. */
const apps = optionalList(z.unknown()).transform(
  (list) => list?.flatMap((linked) => linkedApp.safeParse(linked).data ?? []) ?? null,
)

const app = wireRecord({
  title: optionalName,
  /** The line below the title, which the store ranks by; ios_store only. */
  subtitle: optionalName,
  /** Page of the app in the store. */
  url: optionalUrl,
  icon: optionalUrl,
  description: longText,
  /** Reviews of all time. */
  reviewsCount: optionalCount,
  rating,
  price,
  isFree: optionalFlag,
  mainCategory: optionalName,
  developer: optionalName,
  /** Id of the developer in the store. */
  developerId: optionalName,
  developerUrl: optionalUrl,
  /** Current version; null where android_store has one for each device. */
  version: optionalName,
  /** Oldest system that it runs on; null where android_store has one for each device. */
  minimumOsVersion: optionalName,
  /** As the store writes it, with its unit; null where android_store has one for each device. */
  size: optionalName,
  /** When it came out, UTC; ios_store may give none at all. */
  releasedDate: wireTimestamp,
  /** When it was last changed, UTC. */
  lastUpdateDate: wireTimestamp,
  /** The developer's notes on the current version. */
  updateNotes: longText,
  images: urls,
  similarApps: apps,
  moreAppsByDeveloper: apps,
  /** Every category that it is in; ios_store only. */
  categories: names,
  /** Language tags; ios_store only. */
  languages: names,
  /** Age rating and content advisories; ios_store only. */
  advisories: names,
  /** About how many, as the store writes it; android_store only. */
  installs: optionalName,
  /** Exactly how many; android_store only. */
  installsCount: optionalCount,
  /** android_store only, as all below. */
  developerEmail: optionalName,
  /** Postal. */
  developerAddress: optionalName,
  developerWebsite: optionalUrl,
  videos: urls,
  genres: names,
  tags: names,
})

const place = wireRecord({
  /** Such as `ios_store_info_organic`. */
  type: z.string(),
  /** Place among the items of its type, from 1. */
  rankGroup: optionalCount,
  /** Place among all items, from 1. */
  rankAbsolute: optionalCount,
  /** Alignment, `left`. */
  position: optionalName,
})

const page = wireRecord({
  /** Id of the app that was asked for. */
  appId: ifReadable(readAnyAppId),
  ...PLACE,
  /** Where a person can check the data. */
  checkUrl: optionalUrl,
  /** When the store was asked, UTC. */
  datetime: wireTimestamp,
  /** How many results the store says there are. */
  seResultsCount: optionalCount,
  /** Items of any type. */
  itemsCount: optionalCount,
  items: z.array(z.unknown()),
})

/**
 * Reads the app out of `result[0]` of an app_info task.
 * @param asked the app that was asked for; without it, the one that the result names
 * @throws UnreadableError with the path of the field that breaks the contract, or when it holds no or another
 *   app
 */
export function parseInfoResult(result: unknown, asked?: string) {
  const { items, checkUrl, datetime, shortfall } = parseAppInfoResult(result, asked)
  const [{ type, rankGroup, rankAbsolute, position, ...found }] = items
  return { ...found, checkUrl, datetime, shortfall }
}

/**
 * Reads all of `result[0]` of an app_info task.
 * @throws UnreadableError as `parseInfoResult` does
 */
export function parseAppInfoResult(result: unknown, asked?: string) {
  const { items: sent, ...head } = readWith(page, result)
  const { items, refused } = readItems(sent, (item, index): AppInfoItem | null =>
    isOrganic(item)
      ? { ...parseListedApp(item, ['items', index]), ...readWith(place, item, ['items', index]) }
      : null,
  )
  const [first, ...others] = items
  if (first === undefined) throw unreadable(['items'], 'it holds no app')
  const appId = asked ?? head.appId
  if (appId !== null && appId !== first.appId) {
    const at = ['items', sent.findIndex(isOrganic), 'app_id']
    throw unreadable(at, `${appId} was asked for, not ${first.appId}`)
  }
  return {
    ...head,
    /** Apps only. */
    items: [first, ...others] as const,
    /** As that of a search. */
    shortfall: describeMiscount(sent.length, head.itemsCount),
    refused,
  }
}

/**
 * Reads one app.
 * @param at path of the item in the answer
 * @throws UnreadableError with the path of the field that breaks the contract
 */
export function parseListedApp(item: unknown, at: readonly PropertyKey[]) {
  const id = isOrganic(item) ? readListedAppId(item.app_id, item.type, null) : null
  if (id === null) throw unreadable([...at, 'app_id'], APP_ID_RULE)
  return {
    /** Id of the app in the store. */
    appId: id,
    ...readWith(app, item, at),
  }
}
