/** Rows of results: app details, searches, charts, reviews and raw pages, field by field. */

import assert from 'node:assert/strict'
import type { Json } from '../sandbox/caller.ts'
import { covers } from './covers.ts'
import {
  anyText,
  coverFields,
  coverShape,
  flag,
  inside,
  listOf,
  nullOr,
  number,
  oneOf,
  type ResultSource,
  record,
  text,
  timestamp,
  type Value,
  whole,
  within,
} from './fields.ts'
import { byForm } from './form.ts'
import { type KindName, readingOf, sampleOf } from './samples.ts'

const resultOf = (name: KindName): ResultSource => within(name, (result) => [result])
const items = (name: KindName): ResultSource => within(name, (result) => result.items)
/** Only these are ranks, and only these are read. */
const organic = (name: KindName): ResultSource =>
  within(
    name,
    (result) => result.items.filter(({ type }: Json) => type.endsWith('_organic')),
    (result) => result.items,
  )
/** Records of these fields and no others. */
const coverRecords = (
  prefix: string,
  sources: readonly ResultSource[],
  fields: Readonly<Record<string, Value>>,
): void => {
  coverShape(`${prefix}.${Object.keys(fields)[0]}`, prefix, sources)
  coverFields(prefix, sources, fields)
}

const RATING = {
  rating_type: oneOf('Max5', 'Percents', 'CustomMax'),
  value: number,
  votes_count: nullOr(whole),
  rating_max: whole,
}
const PLACE = { se_domain: text, location_code: oneOf(2840), language_code: oneOf('en') }
const PRICE = {
  current: nullOr(number),
  regular: nullOr(number),
  max_value: nullOr(number),
  currency: text,
  is_price_range: flag,
  displayed_price: nullOr(text),
}
const LINK = { app_id: text, title: text, url: text }

// App info

const infos = ['iosInfo', 'androidInfo', 'androidVaries'] as const
const apps = infos.map(items)
const [iosApp, ...androidApps] = apps as [ResultSource, ...ResultSource[]]

coverFields('app_info', infos.map(resultOf), {
  app_id: text,
  ...PLACE,
  check_url: text,
  datetime: timestamp,
  se_results_count: whole,
  items_count: oneOf(1),
})
const IOS_FIELDS = ['categories', 'languages', 'advisories']
const ANDROID_FIELDS = [
  ...['installs', 'installs_count', 'developer_email', 'developer_address', 'developer_website'],
  ...['videos', 'genres', 'tags'],
]
coverShape('app_info.app_id', 'app_info', infos.map(resultOf), ['item'])
coverShape('app_info.items', 'app_info.item', [iosApp], ANDROID_FIELDS, byForm([], ['subtitle']))
coverShape('app_info.items', 'app_info.item', androidApps, IOS_FIELDS)
coverFields('app_info.item', [iosApp], {
  type: oneOf(byForm('ios_store_info_organic', 'app_store_info_organic')),
})
coverFields('app_info.item', androidApps, {
  type: oneOf(byForm('android_store_info_organic', 'google_play_info_organic')),
})
coverFields('app_info.item', apps, {
  rank_group: oneOf(1),
  rank_absolute: oneOf(1),
  position: oneOf('left'),
  app_id: text,
  title: text,
  url: text,
  icon: text,
  description: text,
  reviews_count: whole,
  is_free: flag,
  main_category: text,
  developer: text,
  developer_id: text,
  developer_url: text,
  // As it is sold, those of the ios_store have none.
  released_date: byForm(timestamp, nullOr(timestamp)),
  last_update_date: timestamp,
  update_notes: anyText,
  images: listOf(text),
})
coverFields('app_info.item', [iosApp], { version: text, minimum_os_version: text, size: text })
const varies = { version: nullOr(text), minimum_os_version: nullOr(text), size: nullOr(text) }
coverFields('app_info.item', androidApps, varies)
coverRecords(
  'app_info.item.rating',
  apps.map((source) => inside(source, 'rating')),
  { ...RATING, rating_type: oneOf('Max5'), rating_max: oneOf(5) },
)
coverRecords(
  'app_info.item.price',
  apps.map((source) => inside(source, 'price')),
  PRICE,
)
for (const list of ['similar_apps', 'more_apps_by_developer']) {
  // The third is its developer's only app.
  coverRecords(
    `app_info.item.${list}`,
    [items('iosInfo'), items('androidInfo')].map((source) => inside(source, list)),
    LINK,
  )
}
coverFields('app_info.item', [iosApp], {
  categories: listOf(text),
  languages: listOf(text),
  advisories: listOf(text),
})
coverFields('app_info.item', androidApps, {
  installs: text,
  installs_count: whole,
  developer_email: text,
  developer_address: text,
  developer_website: text,
  videos: listOf(text),
  genres: listOf(text),
  tags: listOf(text),
})

// Searches and charts

const rankings = ['iosSearches', 'androidSearches', 'androidList'] as const
const searches = ['iosSearches', 'androidSearches'] as const

coverFields('searches', searches.map(resultOf), { keyword: oneOf('yoga') })
coverFields('searches', [resultOf('androidList')], { keyword: [oneOf('topselling_free'), 'collection'] })
coverFields('searches', rankings.map(resultOf), {
  ...PLACE,
  check_url: nullOr(text),
  datetime: timestamp,
  // As it is sold, a search of the android_store gives 0 beside its items, which says nothing.
  se_results_count: [{ ...whole, read: (sent) => byForm(sent, sent || null) }, 'resultsCount'],
  items_count: whole,
})
const ANDROID_RANKED = ['developer', 'developer_url']
coverShape('searches.keyword', 'searches', rankings.map(resultOf), ['item'])
coverShape('searches.items', 'searches.item', [organic('iosSearches')], ANDROID_RANKED)
coverShape('searches.items', 'searches.item', [organic('androidSearches'), organic('androidList')])
coverFields('searches.item', [organic('iosSearches')], {
  type: oneOf(byForm('ios_store_search_organic', 'app_store_search_organic')),
})
coverFields('searches.item', [organic('androidSearches')], {
  type: oneOf(byForm('android_store_search_organic', 'google_play_search_organic')),
})
coverFields('searches.item', [organic('androidList')], {
  type: oneOf(byForm('android_store_list_organic', 'google_play_search_organic')),
})
coverFields('searches.item', rankings.map(organic), {
  rank_group: [whole, 'rank'],
  rank_absolute: [whole, 'absolute'],
  position: oneOf(...byForm(['left'], ['left', 'right'])),
  app_id: text,
  title: text,
  url: text,
  icon: text,
  reviews_count: byForm(whole, nullOr(whole)),
  rating: byForm(record, nullOr(record)),
  is_free: flag,
  price: record,
})
coverFields('searches.item', [organic('androidSearches'), organic('androidList')], {
  developer: text,
  developer_url: text,
})

// Reviews

const reviews = items('iosReviews')
coverFields('reviews', [resultOf('iosReviews')], {
  app_id: text,
  type: text,
  ...PLACE,
  check_url: text,
  datetime: timestamp,
  title: text,
  reviews_count: nullOr(whole),
  items_count: oneOf(20),
})
coverRecords('reviews.rating', [inside(resultOf('iosReviews'), 'rating')], RATING)
coverShape('reviews.app_id', 'reviews', [resultOf('iosReviews')], ['item'])
coverShape('reviews.items', 'reviews.item', [reviews])
coverFields('reviews.item', [reviews], {
  type: oneOf(byForm('ios_store_reviews_search', 'app_store_reviews_search')),
  rank_group: whole,
  rank_absolute: whole,
  position: oneOf('left'),
  version: byForm(text, nullOr(text)),
  timestamp,
  id: text,
  title: text,
  review_text: text,
})
coverRecords('reviews.item.rating', [inside(reviews, 'rating')], {
  ...RATING,
  rating_type: oneOf('Max5'),
  votes_count: oneOf(null),
})
coverRecords('reviews.item.user_profile', [inside(reviews, 'user_profile')], {
  profile_name: text,
  profile_image_url: nullOr(text),
})

// Raw pages

const pages = ['htmlInfo', 'htmlList', 'htmlSearches'] as const
coverFields('html', pages.map(resultOf), { ...PLACE, datetime: timestamp, items_count: whole })
coverFields('html', [resultOf('htmlInfo')], { type: oneOf('app_info'), app_id: oneOf('com.ashlune.yoga') })
coverFields('html', [resultOf('htmlList')], { type: oneOf('app_list'), keyword: oneOf('topselling_free') })
coverFields('html', [resultOf('htmlSearches')], { type: oneOf('organic'), keyword: oneOf('yoga') })
coverShape('html.app_id', 'html', [resultOf('htmlInfo')], ['item', 'keyword'])
coverShape('html.keyword', 'html', [resultOf('htmlList'), resultOf('htmlSearches')], ['item', 'app_id'])
coverShape('html.items', 'html.item', pages.map(items))
coverFields('html.item', pages.map(items), { page: whole, date: timestamp, html: text })

covers(
  ['html.items', 'reviews.items', 'app_info.items', 'searches.items'],
  'are as many as items_count says',
  {
    fetch: async () => {
      for (const name of [...infos, ...rankings, ...pages, 'iosReviews'] as const) {
        const { result } = await sampleOf(name)
        assert.equal(result.items.length, result.items_count, name)
      }
    },
    client: async () => {
      for (const name of [...infos, ...pages, 'iosReviews'] as const) {
        const { result } = await readingOf(name)
        assert.equal(result.items.length, result.itemsCount, name)
      }
    },
  },
)
