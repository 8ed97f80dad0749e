/**
 * What a store shows of an app on a given day: its line in a search, and its page (spec: App info result).
 */

import type { App, Catalogue } from './catalogue.ts'
import type { Deviations } from './deviations.ts'
import { changedText, lastReleaseDay, ratingMoved } from './events.ts'
import { fraction, hashText, mix, pick } from './hash.ts'
import { findCountry, findCurrency } from './locations.ts'
import type { Store } from './offers.ts'
import { DAY_MS, formatTimestamp } from './timestamp.ts'

/** The domains of the invented stores; `.example` belongs to nobody (RFC 2606). */
export const SE_DOMAINS: Record<Store, string> = {
  ios_store: 'apps.ios-store.example',
  android_store: 'play.android-store.example',
}

/** From where an app is looked at. `day` counts UTC days since 1970. */
export type View = { locationCode: number; languageCode: string; day: number }

const countryOf = (locationCode: number): string => findCountry(locationCode).toLowerCase()

const slug = (title: string): string =>
  title
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')

/** The address of an app in its store. */
export const appUrl = (store: Store, app: Pick<App, 'id' | 'title'>, view: View): string => {
  const country = countryOf(view.locationCode)
  const page =
    store === 'ios_store'
      ? `${country}/app/${encodeURIComponent(slug(app.title))}/id${app.id}`
      : `store/apps/details?id=${app.id}&hl=${view.languageCode}&gl=${country}`
  return `https://${SE_DOMAINS[store]}/${page}`
}

/** The address of a developer in a store. */
export const developerUrl = (store: Store, app: App): string =>
  `https://${SE_DOMAINS[store]}/developer/${encodeURIComponent(slug(app.developer))}/${developerId(app)}`

const developerId = (app: App): string => String(200_000_000 + (hashText(app.developer) % 700_000_000))

const imageUrl = (app: App, kind: string, size: string): string => {
  const name = mix(app.hash, hashText(kind)).toString(16).padStart(8, '0')
  const folder = `${kind}/${name.slice(0, 2)}/${name.slice(2, 4)}/${name}`
  return `https://images.${app.id.includes('.') ? 'android' : 'ios'}-store.example/${folder}/${size}.png`
}

/** When the app came out, in days since 1970: between 2012 and 2023. */
export const releaseDay = (app: App): number => 15_400 + (mix(app.hash, 20) % 4000)
/** Days between two versions. */
const updateEvery = (app: App): number => 9 + (mix(app.hash, 21) % 60)
const versionNumber = (app: App, day: number): number =>
  Math.max(0, Math.floor((day - releaseDay(app)) / updateEvery(app)))
const showVersion = (count: number): string =>
  `${1 + Math.floor(count / 40)}.${Math.floor(count / 4) % 10}.${count % 4}`

/** The version that an app has on a day. */
export const versionOn = (app: App, day: number): string =>
  changedText(app.events, day, 'version') ?? showVersion(versionNumber(app, day))

const titleOn = (app: App, day: number): string => changedText(app.events, day, 'title') ?? app.title

/** Votes grow by up to 0.2 % a day, from the number that the catalogue gives for day 20,000. */
const votesOn = (app: App, day: number): number =>
  Math.max(1, Math.round(app.votes * (1 + 0.002 * fraction(mix(app.hash, 22)) * (day - 20_000))))

const ratingOn = (app: App, day: number): number => {
  const swing = 0.05 * Math.sin((2 * Math.PI * (day + (app.hash % 90))) / 90)
  return Math.round(Math.min(5, Math.max(1, app.rating + swing + ratingMoved(app.events, day))) * 100) / 100
}

/** Every app that costs money is a dollar cheaper for one week in eight. */
const priceOn = (app: App, view: View): { current: number; regular: number | null; currency: string } => {
  const [currency, perDollar] = findCurrency(view.locationCode)
  const inCurrency = (usd: number) => Math.round(usd * perDollar * 100) / 100
  const isOnSale = app.priceUsd > 1 && (Math.floor(view.day / 7) + app.hash) % 8 === 0
  return {
    current: inCurrency(isOnSale ? app.priceUsd - 1 : app.priceUsd),
    regular: isOnSale ? inCurrency(app.priceUsd) : null,
    currency,
  }
}

/** The rating of an app on a day, as results show it. */
export const showRating = (app: App, day: number) => ({
  rating_type: 'Max5',
  value: ratingOn(app, day),
  votes_count: votesOn(app, day),
  rating_max: 5,
})

const describeFreshly = (store: Store, app: App, view: View) => {
  const price = priceOn(app, view)
  const rating = showRating(app, view.day)
  const votes = rating.votes_count
  return {
    position: 'left',
    app_id: app.id,
    title: titleOn(app, view.day),
    url: appUrl(store, app, view),
    icon: imageUrl(app, 'icon', '512x512'),
    reviews_count: store === 'ios_store' ? votes : Math.ceil(votes / 4),
    rating,
    is_free: app.priceUsd === 0,
    price: {
      current: price.current,
      regular: price.regular,
      max_value: null,
      currency: price.currency,
      is_price_range: false,
      displayed_price: app.priceUsd === 0 ? 'Free' : `${price.current.toFixed(2)} ${price.currency}`,
    },
  }
}

type Description = ReturnType<typeof describeFreshly>

/** How an app was described last, and as seen from where: most tasks of an hour look from the same place. */
const described = new WeakMap<App, { view: View; description: Description }>()

/** The fields that a line of a search and a page share. */
export const describeApp = (store: Store, app: App, view: View): Description => {
  const last = described.get(app)
  if (
    last?.view.day === view.day &&
    last.view.locationCode === view.locationCode &&
    last.view.languageCode === view.languageCode
  ) {
    return last.description
  }
  const description = describeFreshly(store, app, view)
  described.set(app, { view, description })
  return description
}

/** The type of an item. `kind` is what it ends in, such as `search_organic`. */
export const itemType = (store: Store, kind: string, deviations: Deviations): string => {
  if (!deviations.has('types')) return `${store}_${kind}`
  // As it is sold, a chart has the type of a search.
  const soldKind = kind === 'list_organic' ? 'search_organic' : kind
  return `${store === 'ios_store' ? 'app_store' : 'google_play'}_${soldKind}`
}

/** One item in so many of a search stands at the right, or lacks what others have. */
const isOneIn = (count: number, app: App, noise: number): boolean => mix(app.hash, noise) % count === 0

/** What a line of a search or a chart lacks as it is sold. */
const thinOut = (store: Store, app: App, shown: Description) => {
  const price = app.priceUsd === 0 ? { displayed_price: null } : {}
  const position = isOneIn(9, app, 40) ? 'right' : 'left'
  if (store === 'ios_store') return { position, price: { ...shown.price, ...price } }
  const isUnrated = isOneIn(7, app, 41)
  return {
    position,
    reviews_count: isUnrated ? null : shown.reviews_count,
    rating: isUnrated ? null : { ...shown.rating, votes_count: null },
    price: { ...shown.price, ...price, currency: null },
  }
}

/** One item of a search or a chart. `kind` is what its type ends in, such as `search_organic`. */
export const showListItem = (
  store: Store,
  app: App,
  view: View,
  place: { kind: string; group: number; absolute: number },
  deviations: Deviations,
) => {
  const shown = describeApp(store, app, view)
  return {
    type: itemType(store, place.kind, deviations),
    rank_group: place.group,
    rank_absolute: place.absolute,
    ...shown,
    ...(deviations.has('nulls') && thinOut(store, app, shown)),
    ...(store === 'android_store' && { developer: app.developer, developer_url: developerUrl(store, app) }),
  }
}

const UPDATE_NOTES = [
  'Bug fixes and performance improvements.',
  'New: widgets, dark mode and faster start.',
  'We rebuilt the home screen. Tell us what you think!',
  'Fixes a crash that some of you saw after the last update.',
  'More content every week, and support for the newest system.',
]

const describeText = (app: App, version: number): string => {
  const about = app.topic ? app.topic.narrow.slice(0, 6).join(', ') : 'everything that you need'
  return [
    `${app.title} by ${app.developer}.`,
    `Made for everybody who cares about ${about}.`,
    `• ${pick(app.topic?.phrases ?? [app.title], mix(app.hash, 30))}`,
    '• Works offline\n• No account needed',
    // The text is rewritten with every tenth version.
    `Edition ${1 + Math.floor(version / 10)}.`,
  ].join('\n')
}

const showIosExtras = (app: App) => ({
  categories: [app.category, 'lifestyle'],
  languages: ['en', 'de', 'fr', 'es', 'ja'].slice(0, 1 + (mix(app.hash, 31) % 5)),
  advisories: [pick(['4+', '9+', '12+'], mix(app.hash, 32))],
})

const showAndroidExtras = (app: App, votes: number) => {
  const installs = votes * (40 + (mix(app.hash, 33) % 60))
  const company = app.id.split('.')[1] ?? 'company'
  return {
    installs: `${10 ** Math.floor(Math.log10(installs))}+`,
    installs_count: installs,
    developer_email: `support@${company}.example`,
    developer_address: `${1 + (app.hash % 200)} Harbour Street`,
    developer_website: `https://${company}.example/`,
    videos: mix(app.hash, 34) % 3 === 0 ? [`https://videos.example/${app.id}`] : [],
    genres: [app.category],
    tags: app.topic?.narrow.slice(0, 3) ?? [],
  }
}

/** Every seventh app of android_store varies with the device: its page names no version, system and size. */
const variesWithDevice = (store: Store, app: App): boolean => store === 'android_store' && app.hash % 7 === 0

/** What the page of an app says of its package. */
const showPackage = (store: Store, app: App, day: number) => {
  if (variesWithDevice(store, app)) return { version: null, minimum_os_version: null, size: null }
  return {
    version: versionOn(app, day),
    minimum_os_version: `${12 + (app.hash % 5)}.0`,
    size: `${(20 + (app.hash % 1800) / 10).toFixed(1)} MB`,
  }
}

/** Other apps of its topic. */
const similarApps = (catalogue: Catalogue, app: App): readonly App[] => {
  const start = app.hash % 100
  const around = app.topic ? catalogue.appsOfTopic(app.topic).slice(start, start + 6) : []
  return around.filter((other) => other !== app)
}

/** Other apps of its developer. */
const appsBeside = (catalogue: Catalogue, app: App): readonly App[] =>
  catalogue
    .appsOfDeveloper(app.developer)
    .filter((other) => other !== app)
    .slice(0, 6)

/** As it is sold, an empty list is null. */
const emptyAs = <Value>(list: readonly Value[], isSparse: boolean): readonly Value[] | null =>
  isSparse && list.length === 0 ? null : list

/** The line under the title; every twelfth app has none, and it is another one with every fifth version. */
const subtitleOf = (app: App, version: number): string | null => {
  if (app.hash % 12 === 0) return null
  const words = app.topic?.narrow ?? ['everything', 'daily']
  const first = pick(words, mix(app.hash, 50))
  return `For ${first} & ${pick(words, mix(app.hash, 51 + Math.floor(version / 5)))}`
}

/** The page of an app, as the one item of an app_info result. */
export const showInfoItem = (catalogue: Catalogue, app: App, view: View, deviations: Deviations) => {
  const { store } = catalogue
  const isSparse = deviations.has('nulls')
  const isSubtitled = store === 'ios_store' && deviations.has('endpoints')
  const shown = describeApp(store, app, view)
  const version = versionNumber(app, view.day)
  const updatedDay =
    lastReleaseDay(app.events, view.day) ?? Math.min(view.day, releaseDay(app) + version * updateEvery(app))
  const link = (other: App) => ({
    app_id: other.id,
    title: titleOn(other, view.day),
    url: appUrl(store, other, view),
  })
  return {
    type: itemType(store, 'info_organic', deviations),
    rank_group: 1,
    rank_absolute: 1,
    ...shown,
    ...(isSubtitled && {
      subtitle: changedText(app.events, view.day, 'subtitle') ?? subtitleOf(app, version),
    }),
    description: changedText(app.events, view.day, 'description') ?? describeText(app, version),
    main_category: app.category,
    developer: app.developer,
    developer_id: developerId(app),
    developer_url: developerUrl(store, app),
    ...showPackage(store, app, view.day),
    released_date: isSparse && store === 'ios_store' ? null : formatTimestamp(releaseDay(app) * DAY_MS),
    last_update_date: formatTimestamp(updatedDay * DAY_MS),
    update_notes:
      changedText(app.events, view.day, 'updateNotes') ?? pick(UPDATE_NOTES, mix(app.hash, version)),
    images: Array.from({ length: 5 }, (_, index) => imageUrl(app, `screen${index}`, '1284x2778')),
    similar_apps: emptyAs(similarApps(catalogue, app).map(link), isSparse),
    more_apps_by_developer: emptyAs(appsBeside(catalogue, app).map(link), isSparse),
    ...(store === 'ios_store' ? showIosExtras(app) : showAndroidExtras(app, shown.rating.votes_count)),
  }
}
