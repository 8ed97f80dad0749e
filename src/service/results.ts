/**
 * The results of app_info and app_reviews, and raw pages. What the service leaves out is null; times are UTC.
 */
import { z } from 'zod'
import {
  each,
  ifReadable,
  optional,
  optionalCount,
  optionalFlag,
  optionalList,
  optionalName,
  optionalNumber,
  optionalUrl,
  PAGE,
  PLACE,
  readCode,
  readCount,
  readNumber,
  readSpending,
  readWith,
  unreadable,
  wireIdentifier,
  wireRecord,
  wireText,
  wireTimestamp,
  wireValue,
} from './fields.ts'
import type { Store } from './functions.ts'
import { APP_ID_RULE, describeMiscount, isOrganic, readAppId, readItems, readListedAppId } from './items.ts'

export type Rating = z.output<typeof wireRating>
export type Price = z.output<typeof wirePrice>
export type LinkedApp = z.output<typeof linkedApp>
/** One app (docs/service.md: App info result). A list that the store does not give is null, not empty. */
export type AppInfo = ReturnType<typeof parseListedApp>
/** The app that was asked for, as the collector stores it. */
export type InfoResult = ReturnType<typeof parseInfoResult>
/** The app with its place on the page. */
export type AppInfoItem = AppInfo & z.output<typeof place>
export type AppInfoResult = ReturnType<typeof parseAppInfoResult>
/** One review (docs/service.md: Reviews result). */
export type Review = z.output<typeof review>
export type ReviewResponse = z.output<typeof response>
export type AppReviewsResult = ReturnType<typeof parseReviewsResult>
export type HtmlPage = z.output<typeof htmlPage>
/** Everything that a task in html form gives (docs/service.md: Html result). */
export type HtmlResult = ReturnType<typeof parseHtmlResult>

/** The best value by type, where the type says it (docs/service.md: App info result, Reviews result). */
const BEST_VALUES: Readonly<Record<string, number>> = { Max5: 5, Percents: 100 }
/** Of a scale that names neither. */
const LARGEST_BEST_VALUE = 100

const wireRating = wireRecord({
  /** `Max5`, `Percents` or `CustomMax`. */
  ratingType: optionalName,
  /** On the scale of `ratingType`; null without votes. */
  value: optionalNumber,
  /** How many people have voted; a single review has none. */
  votesCount: optionalCount,
  /** The best value there is, 5 for `Max5`. */
  ratingMax: optionalCount,
})

/** From 0, which means no rating, to the best value. */
function isWithinScale({ ratingType, value, ratingMax }: Rating): boolean {
  const best = BEST_VALUES[ratingType ?? ''] ?? ratingMax ?? LARGEST_BEST_VALUE
  return value === null || (value >= 0 && value <= best)
}

export const rating = optional(
  wireRating.refine(isWithinScale, { path: ['value'], message: 'it is not on the scale of its rating' }),
)

/** An amount of any currency: nothing costs less than 0, or more than the largest amount of money. */
const amount = optional(
  wireValue((value) => (readSpending(value) === null ? null : readNumber(value)), 'it is no price'),
)

const wirePrice = wireRecord({
  /** What it costs now, in units of `currency`. */
  current: amount,
  regular: amount,
  maxValue: amount,
  currency: optionalName,
  isPriceRange: optionalFlag,
  /** As the store writes it, with its currency. */
  displayedPrice: optionalName,
})
export const price = optional(wirePrice)

const title = wireText(2_000)
const longText = wireText(100_000)
const names = optionalList(optionalName)
const urls = optionalList(optionalUrl)
/** As an id of either store may look. */
const readAnyAppId = (value: unknown) => readAppId(value, 'android_store')

const linkedApp = wireRecord({
  appId: wireValue(readAnyAppId, APP_ID_RULE),
  title: optionalName,
  url: optionalUrl,
})
/** A link that cannot be read is left out. */
const apps = optionalList(z.unknown()).transform(
  (list) => list?.flatMap((linked) => linkedApp.safeParse(linked).data ?? []) ?? null,
)

const appFields = {
  ...each(optionalName, ['title', 'mainCategory', 'developer', 'developerId']),
  // Null where android_store has one for each device.
  ...each(optionalName, ['version', 'minimumOsVersion', 'size']),
  ...each(optionalUrl, ['url', 'icon', 'developerUrl']),
  ...each(longText, ['description', 'updateNotes']),
  ...each(wireTimestamp, ['releasedDate', 'lastUpdateDate']),
  ...each(apps, ['similarApps', 'moreAppsByDeveloper']),
  ...{ rating, price, isFree: optionalFlag, images: urls },
  /** Of all time. */
  reviewsCount: optionalCount,
  /** The line below the title, which the store ranks by; ios_store only, as the next ones. */
  subtitle: optionalName,
  ...each(names, ['categories', 'languages', 'advisories']),
  /** About how many, as the store writes it; android_store only, as the next ones. */
  installs: optionalName,
  installsCount: optionalCount,
  ...each(optionalName, ['developerEmail', 'developerAddress']),
  developerWebsite: optionalUrl,
  videos: urls,
  ...each(names, ['genres', 'tags']),
}
const app = wireRecord(appFields)

const ranks = {
  /** Place among the items of its type, from 1. */
  rankGroup: optionalCount,
  /** Place among all items, from 1. */
  rankAbsolute: optionalCount,
  position: optionalName,
}
/** With the type of the item, such as `ios_store_info_organic`. */
const place = wireRecord({ type: z.string(), ...ranks })

const infoPage = wireRecord({
  appId: ifReadable(readAnyAppId),
  ...PAGE,
  seResultsCount: optionalCount,
  /** Items of any type. */
  itemsCount: optionalCount,
  items: z.array(z.unknown()),
})

/**
 * Reads the app out of `result[0]` of an app_info task.
 * @param asked the app that was asked for; without it, the one that the result names
 * @throws UnreadableError with the path of the field, also when it holds no or another app
 */
export function parseInfoResult(result: unknown, asked?: string) {
  const { items, checkUrl, datetime, shortfall } = parseAppInfoResult(result, asked)
  const [{ type, rankGroup, rankAbsolute, position, ...found }] = items
  return { ...found, checkUrl, datetime, shortfall }
}

/** As `parseInfoResult`, with all that the result says. */
export function parseAppInfoResult(result: unknown, asked?: string) {
  const { items: sent, ...head } = readWith(infoPage, result)
  const { items, refused } = readItems(sent, (item, index): AppInfoItem | null => {
    const at = ['items', index]
    return isOrganic(item) ? { ...parseListedApp(item, at), ...readWith(place, item, at) } : null
  })
  const [first, ...others] = items
  if (first === undefined) throw unreadable(['items'], 'it holds no app')
  const appId = asked ?? head.appId
  if (appId !== null && appId !== first.appId) {
    const at = ['items', sent.findIndex(isOrganic), 'app_id']
    throw unreadable(at, `${appId} was asked for, not ${first.appId}`)
  }
  return {
    ...head,
    items: [first, ...others] as const,
    shortfall: describeMiscount(sent.length, head.itemsCount),
    refused,
  }
}

/** @param at path of the item in the answer */
export function parseListedApp(item: unknown, at: readonly PropertyKey[]) {
  const appId = isOrganic(item) ? readListedAppId(item, null) : null
  if (appId === null) throw unreadable([...at, 'app_id'], APP_ID_RULE)
  return {
    appId,
    ...readWith(app, item, at),
  }
}

/** The largest depth is 100,000. */
const MAX_REVIEWS = 101_000

const response = wireRecord({
  author: optionalName,
  title,
  text: longText,
  timestamp: wireTimestamp,
})

const review = wireRecord({
  type: optionalName,
  ...ranks,
  version: optionalName,
  /** Of this review alone, so it has no votes. */
  rating,
  timestamp: wireTimestamp,
  id: wireIdentifier,
  /** android_store gives none. */
  title,
  reviewText: longText,
  userProfile: optional(wireRecord({ profileName: optionalName, profileImageUrl: optionalUrl })),
  /** How many people found it helpful; android_store only. */
  helpfulCount: ifReadable(readCode),
  /** What the developer answered; ios_store gives none. One that cannot be read is left out. */
  responses: ifReadable((value) =>
    Array.isArray(value) ? value.flatMap((sent) => response.safeParse(sent).data ?? []) : null,
  ),
})

const reviewsPage = wireRecord({
  appId: wireIdentifier,
  type: optionalName,
  ...PAGE,
  title: optionalName,
  rating: ifReadable((value) => rating.safeParse(value).data ?? null),
  /** Reviews of the app of all time; ios_store gives no total. */
  reviewsCount: optionalCount,
  itemsCount: ifReadable(readCount),
  items: z.array(z.unknown()).max(MAX_REVIEWS).nullish(),
})

/**
 * Reads `result[0]` of an app_reviews task.
 * @throws UnreadableError with the path of the field, also when no item can be read
 */
export function parseReviewsResult(result: unknown, store: Store = 'ios_store') {
  const read = readWith(reviewsPage, result)
  if (readAppId(read.appId, store) === null) throw unreadable(['app_id'], APP_ID_RULE)
  if (read.items == null && read.itemsCount !== 0) {
    throw unreadable(['items'], 'it is missing, and items_count is not 0')
  }
  const items = read.items ?? []
  return {
    ...read,
    /** How many items are billed: those of the answer, or more where the service counts more. */
    itemsCount: Math.max(items.length, read.itemsCount ?? 0),
    shortfall: describeMiscount(items.length, read.itemsCount),
    ...readItems(items, (item, index) => readWith(review, item, ['items', index])),
  }
}

const htmlPage = wireRecord({
  page: optionalCount,
  date: wireTimestamp,
  /** The page to the byte: neither cut nor cleaned. */
  html: z.string(),
})

const htmlResult = wireRecord({
  /** `app_info`, `app_list`, `app_reviews` or `organic`. */
  type: optionalName,
  /** Id of the app; app_info and app_reviews only. */
  appId: ifReadable(readAnyAppId),
  /** The keyword of app_searches, the app collection of app_list. */
  keyword: wireText(1_000),
  ...PLACE,
  datetime: wireTimestamp,
  itemsCount: optionalCount,
  items: z.array(z.unknown()).max(1_000),
})

/** Reads `result[0]` of a task in html form. @throws UnreadableError also when no page can be read */
export function parseHtmlResult(result: unknown) {
  const read = readWith(htmlResult, result)
  return { ...read, ...readItems(read.items, (item, index) => readWith(htmlPage, item, ['items', index])) }
}
