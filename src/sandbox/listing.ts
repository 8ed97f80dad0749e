/** What a store shows of an app on a day: its line in a search, and its page (spec: App info result). */

import type { App, Catalogue } from './catalogue.ts'
import type { Deviations } from './deviations.ts'
import { changedText, lastReleaseDay, ratingMoved } from './events.ts'
import { fraction, hashText, mix, pick } from './hash.ts'
import type { Store } from './offers.ts'
import { findCountry, findCurrency } from './reference.ts'
import { DAY_MS, formatTimestamp } from './timestamp.ts'

/** The domains of the invented stores; `.example` belongs to nobody (RFC 2606). */
export const SE_DOMAINS: Record<Store, string> = {
  ios_store: 'apps.ios-store.example',
  android_store: 'play.android-store.example',
}

/** From where an app is looked at. `day` counts UTC days since 1970. */
export type View = { locationCode: number; languageCode: string; day: number }

const slug = (title: string): string =>
  title
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')

/** The address of an app in its store. */
export const appUrl = (store: Store, app: App, view: View): string => {
  const country = findCountry(view.locationCode).toLowerCase()
  const page =
    store === 'ios_store'
      ? `${country}/app/${encodeURIComponent(slug(app.title))}/id${app.id}`
      : `store/apps/details?id=${app.id}&hl=${view.languageCode}&gl=${country}`
  return `https://${SE_DOMAINS[store]}/${page}`
}

const developerId = (app: App): string => String(200_000_000 + (hashText(app.developer) % 700_000_000))

const developerUrl = (store: Store, app: App): string =>
  `https://${SE_DOMAINS[store]}/developer/${encodeURIComponent(slug(app.developer))}/${developerId(app)}`

/** Where a store has its images. */
export const imageHost = (store: Store): string => `images.${store.replace('_', '-')}.example`

const imageUrl = (store: Store, app: App, kind: string, size: string): string => {
  const name = mix(app.hash, hashText(kind)).toString(16).padStart(8, '0')
  return `https://${imageHost(store)}/${kind}/${name.slice(0, 2)}/${name.slice(2, 4)}/${name}/${size}.png`
}

/** When the app came out, in days since 1970: between 2012 and 2023. */
export const releaseDay = (app: App): number => 15_400 + (mix(app.hash, 20) % 4000)
/** Days between two versions. */
const updateEvery = (app: App): number => 9 + (mix(app.hash, 21) % 60)
const versionNumber = (app: App, day: number): number =>
  Math.max(0, Math.floor((day - releaseDay(app)) / updateEvery(app)))

/** The version that an app has on a day. */
export const versionOn = (app: App, day: number): string => {
  const count = versionNumber(app, day)
  const numbers = [1 + Math.floor(count / 40), Math.floor(count / 4) % 10, count % 4]
  return changedText(app.events, day, 'version') ?? numbers.join('.')
}

/** The title that an app has on a day. */
export const titleOn = (app: App, day: number): string => changedText(app.events, day, 'title') ?? app.title

/** The rating of an app on a day, as results show it. */
export const showRating = (app: App, day: number) => {
  const swing = 0.05 * Math.sin((2 * Math.PI * (day + (app.hash % 90))) / 90)
  const rating = Math.min(5, Math.max(1, app.rating + swing + ratingMoved(app.events, day)))
  // Votes grow by up to 0.2 % a day, from the number that the catalogue gives for day 20,000.
  const growth = 0.002 * fraction(mix(app.hash, 22)) * (day - 20_000)
  return {
    rating_type: 'Max5',
    value: Math.round(rating * 100) / 100,
    votes_count: Math.max(1, Math.round(app.votes * (1 + growth))),
    rating_max: 5,
  }
}

/** Every app that costs money is a dollar cheaper for one week in eight. */
const showPrice = (app: App, view: View) => {
  const [currency, perDollar] = findCurrency(view.locationCode)
  const inCurrency = (usd: number) => Math.round(usd * perDollar * 100) / 100
  const isOnSale = app.priceUsd > 1 && (Math.floor(view.day / 7) + app.hash) % 8 === 0
  const current = inCurrency(isOnSale ? app.priceUsd - 1 : app.priceUsd)
  return {
    current,
    regular: isOnSale ? inCurrency(app.priceUsd) : null,
    max_value: null,
    currency,
    is_price_range: false,
    displayed_price: app.priceUsd === 0 ? 'Free' : `${current.toFixed(2)} ${currency}`,
  }
}

/** The fields that a line of a search and a page share. */
const describeApp = (store: Store, app: App, view: View) => {
  const rating = showRating(app, view.day)
  return {
    position: 'left',
    app_id: app.id,
    title: titleOn(app, view.day),
    url: appUrl(store, app, view),
    icon: imageUrl(store, app, 'icon', '512x512'),
    reviews_count: store === 'ios_store' ? rating.votes_count : Math.ceil(rating.votes_count / 4),
    rating,
    is_free: app.priceUsd === 0,
    price: showPrice(app, view),
  }
}

/** The type of an item. `kind` is what it ends in, such as `search_organic`. */
export const itemType = (store: Store, kind: string, deviations: Deviations): string => {
  if (!deviations.has('types')) return `${store}_${kind}`
  // As it is sold, a chart has the type of a search.
  return `${store === 'ios_store' ? 'app_store' : 'google_play'}_${kind.replace('list_', 'search_')}`
}

/** What a line of a search or a chart lacks as it is sold; one in so many stands at the right. */
const thinOut = (store: Store, app: App, shown: ReturnType<typeof describeApp>) => {
  const position = mix(app.hash, 40) % 9 === 0 ? 'right' : 'left'
  const price = { ...shown.price, ...(app.priceUsd === 0 && { displayed_price: null }) }
  if (store === 'ios_store') return { position, price }
  const isUnrated = mix(app.hash, 41) % 7 === 0
  return {
    position,
    reviews_count: isUnrated ? null : shown.reviews_count,
    rating: isUnrated ? null : { ...shown.rating, votes_count: null },
    price: { ...price, currency: null },
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

/** The text is rewritten with every tenth version. */
const describeText = (app: App, version: number): string => {
  const about = app.topic?.narrow.slice(0, 6).join(', ') ?? 'everything that you need'
  return [
    `${app.title} by ${app.developer}.`,
    `Made for everybody who cares about ${about}.`,
    `• ${pick(app.topic?.phrases ?? [app.title], mix(app.hash, 30))}`,
    '• Works offline\n• No account needed',
    `Edition ${1 + Math.floor(version / 10)}.`,
  ].join('\n')
}

/** The line under the title; every twelfth app has none, and it is another one with every fifth version. */
const subtitleOf = (app: App, version: number): string | null => {
  if (app.hash % 12 === 0) return null
  const words = app.topic?.narrow ?? ['everything', 'daily']
  const [first, second] = [50, 51 + Math.floor(version / 5)].map((noise) => pick(words, mix(app.hash, noise)))
  return `For ${first} & ${second}`
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
const showPackage = (store: Store, app: App, day: number) => {
  const isVarying = store === 'android_store' && app.hash % 7 === 0
  return {
    version: isVarying ? null : versionOn(app, day),
    minimum_os_version: isVarying ? null : `${12 + (app.hash % 5)}.0`,
    size: isVarying ? null : `${(20 + (app.hash % 1800) / 10).toFixed(1)} MB`,
  }
}

/** The page of an app, as the one item of an app_info result. As it is sold, an empty list is null. */
export const showInfoItem = (catalogue: Catalogue, app: App, view: View, deviations: Deviations) => {
  const { store, appsOfTopic, appsOfDeveloper } = catalogue
  const { day } = view
  const isSparse = deviations.has('nulls')
  const shown = describeApp(store, app, view)
  const version = versionNumber(app, day)
  const changed = (text: Parameters<typeof changedText>[2]) => changedText(app.events, day, text)
  const updatedDay =
    lastReleaseDay(app.events, day) ?? Math.min(day, releaseDay(app) + version * updateEvery(app))
  const link = (others: readonly App[]) => {
    const links = others
      .filter((other) => other !== app)
      .map((other) => ({ app_id: other.id, title: titleOn(other, day), url: appUrl(store, other, view) }))
    return isSparse && links.length === 0 ? null : links
  }
  const start = app.hash % 100
  const appsBeside = appsOfDeveloper(app.developer).filter((other) => other !== app)
  return {
    type: itemType(store, 'info_organic', deviations),
    rank_group: 1,
    rank_absolute: 1,
    ...shown,
    ...(store === 'ios_store' &&
      deviations.has('endpoints') && { subtitle: changed('subtitle') ?? subtitleOf(app, version) }),
    description: changed('description') ?? describeText(app, version),
    main_category: app.category,
    developer: app.developer,
    developer_id: developerId(app),
    developer_url: developerUrl(store, app),
    ...showPackage(store, app, day),
    released_date: isSparse && store === 'ios_store' ? null : formatTimestamp(releaseDay(app) * DAY_MS),
    last_update_date: formatTimestamp(updatedDay * DAY_MS),
    update_notes: changed('updateNotes') ?? pick(UPDATE_NOTES, mix(app.hash, version)),
    images: Array.from({ length: 5 }, (_, index) => imageUrl(store, app, `screen${index}`, '1284x2778')),
    similar_apps: link(app.topic ? appsOfTopic(app.topic).slice(start, start + 6) : []),
    more_apps_by_developer: link(appsBeside.slice(0, 6)),
    ...(store === 'ios_store' ? showIosExtras(app) : showAndroidExtras(app, shown.rating.votes_count)),
  }
}
