import assert from 'node:assert/strict'
import { test } from 'node:test'

import { UnreadableError } from '../../src/errors.ts'
import { parseInfoResult } from '../../src/service/results.ts'

const ITEM = {
  type: 'android_store_info_organic',
  app_id: 'com.example.yoga',
  title: 'Yoga',
  rating: { rating_type: 'Max5', value: '4.5', votes_count: null, rating_max: 5 },
  images: ['https://store.example.com/1.png'],
  videos: null,
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

test('what may be written in several ways is read, and what cannot be read is null', () => {
  const { reviewsCount, rating, installsCount, lastUpdateDate, videos, categories } = parseInfoResult(
    page([
      { ...ITEM, reviews_count: '1200', installs_count: 10_000_000_000, last_update_date: 'some time ago' },
    ]),
  )
  assert.deepEqual([reviewsCount, rating?.value, installsCount], [1200, 4.5, 10_000_000_000])
  assert.deepEqual([lastUpdateDate, videos, categories], [null, null, null])
})

test('the subtitle of an app is read, and a day of release that the store does not give is null', () => {
  const sent = { type: 'app_store_info_organic', app_id: '389801252', released_date: null }
  const read = (item: object) => parseInfoResult(page([item], { app_id: '389801252' }))
  assert.equal(read({ ...sent, subtitle: 'Private browsing' }).subtitle, 'Private browsing')
  assert.deepEqual([read(sent).subtitle, read(sent).releasedDate], [null, null])
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
