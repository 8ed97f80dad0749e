import assert from 'node:assert/strict'
import { test } from 'node:test'

import { UnreadableError } from '../../src/errors.ts'
import { parseInfoResult } from '../../src/service/results.ts'

const ITEM = {
  type: 'android_store_info_organic',
  rank_group: 1,
  rank_absolute: 1,
  position: 'left',
  app_id: 'com.example.yoga',
  title: 'Yoga',
  url: 'https://store.example.com/yoga',
  icon: 'https://store.example.com/yoga.png',
  description: 'Stretch.',
  reviews_count: '1200',
  rating: { rating_type: 'Max5', value: '4.5', votes_count: null, rating_max: 5 },
  price: {
    current: 0,
    regular: null,
    max_value: null,
    currency: 'USD',
    is_price_range: false,
    displayed_price: null,
  },
  is_free: true,
  main_category: 'Health',
  developer: 'Dev',
  developer_id: 'dev',
  developer_url: 'https://store.example.com/dev',
  version: null,
  minimum_os_version: null,
  size: null,
  released_date: '2020-01-01 00:00:00 +00:00',
  last_update_date: 'some time ago',
  update_notes: 'Fixes.',
  images: ['https://store.example.com/1.png'],
  similar_apps: [{ app_id: 'com.example.other', title: 'Other', url: null }],
  more_apps_by_developer: [],
  installs: '10,000,000,000+',
  installs_count: 10_000_000_000,
  developer_email: 'dev@example.com',
  developer_address: 'Street 1',
  developer_website: 'https://example.com',
  videos: null,
  genres: ['Health'],
  tags: [],
}

function page(items: unknown, fields: Record<string, unknown> = {}) {
  return {
    app_id: 'com.example.yoga',
    check_url: 'https://store.example.com/yoga',
    datetime: '2026-11-21 12:00:00 +00:00',
    items,
    ...fields,
  }
}

test('every field of an app is read', () => {
  assert.deepEqual(parseInfoResult(page([ITEM])), {
    checkUrl: 'https://store.example.com/yoga',
    datetime: new Date('2026-11-21T12:00:00Z'),
    appId: 'com.example.yoga',
    title: 'Yoga',
    url: 'https://store.example.com/yoga',
    icon: 'https://store.example.com/yoga.png',
    description: 'Stretch.',
    reviewsCount: 1200,
    rating: { ratingType: 'Max5', value: 4.5, votesCount: null, ratingMax: 5 },
    price: {
      current: 0,
      regular: null,
      maxValue: null,
      currency: 'USD',
      isPriceRange: false,
      displayedPrice: null,
    },
    isFree: true,
    mainCategory: 'Health',
    developer: 'Dev',
    developerId: 'dev',
    developerUrl: 'https://store.example.com/dev',
    version: null,
    minimumOsVersion: null,
    size: null,
    releasedDate: new Date('2020-01-01T00:00:00Z'),
    lastUpdateDate: null,
    updateNotes: 'Fixes.',
    images: ['https://store.example.com/1.png'],
    similarApps: [{ appId: 'com.example.other', title: 'Other', url: null }],
    moreAppsByDeveloper: [],
    categories: null,
    languages: null,
    advisories: null,
    installs: '10,000,000,000+',
    installsCount: 10_000_000_000,
    developerEmail: 'dev@example.com',
    developerAddress: 'Street 1',
    developerWebsite: 'https://example.com',
    videos: null,
    genres: ['Health'],
    tags: [],
  })
})

test('an app of which only the id is known is read all the same', () => {
  const result = parseInfoResult(
    page([{ type: 'ios_store_info_organic', app_id: 389801252 }], { app_id: 389801252 }),
  )
  assert.equal(result.appId, '389801252')
  assert.equal(result.title, null)
  assert.equal(result.rating, null)
})

test('long and unstorable text is cut and cleaned', () => {
  const result = parseInfoResult(page([{ ...ITEM, title: 'a\0b', description: 'x'.repeat(1_000_000) }]))
  assert.equal(result.title, 'ab')
  assert.equal(result.description?.length, 100_000)
})

test('a result without the app, or with another one, is refused with its path', () => {
  const broken: [unknown, string][] = [
    [page([]), 'items'],
    [page([{ ...ITEM, type: 'android_store_info_paid' }]), 'items'],
    [page(null), 'items'],
    [page([{ html: '<html>' }, null]), 'items'],
    [page([{ ...ITEM, app_id: 'com.example.other' }]), 'items[0].app_id'],
    [page([{ ...ITEM, rating: 4.5 }]), 'items[0].rating'],
    [page([{ ...ITEM, rating: { value: 'good' } }]), 'items[0].rating.value'],
    [page([{ ...ITEM, images: [7] }]), 'items[0].images[0]'],
    [page([{ ...ITEM, type: 'ios_store_info_organic', app_id: '0' }], { app_id: null }), 'items[0].app_id'],
    [page([{ ...ITEM, rating: { ...ITEM.rating, value: 50_000 } }]), 'items[0].rating.value'],
    [page([{ ...ITEM, rating: { ...ITEM.rating, value: -1 } }]), 'items[0].rating.value'],
    [page([{ ...ITEM, price: { current: 1e300 } }]), 'items[0].price.current'],
    [null, ''],
  ]
  for (const [result, path] of broken) {
    assert.throws(
      () => parseInfoResult(result),
      (error) => error instanceof UnreadableError && error.path === path,
      path,
    )
  }
})

test('a link to an app that cannot be read is left out, and so is an item that is none', () => {
  const similar = [
    { app_id: ' ' },
    null,
    { app_id: 'com.example.other' },
    { app_id: 389801252 },
    { title: 'x' },
  ]
  const result = parseInfoResult(page([null, { ...ITEM, similar_apps: similar }]))
  assert.deepEqual(
    result.similarApps?.map(({ appId }) => appId),
    ['com.example.other', '389801252'],
  )
})
