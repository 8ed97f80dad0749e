import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnreadableError } from '../../src/errors.ts'
import { parseHtmlResult, parseInfoResult, parseReviewsResult } from '../../src/service/results.ts'
import { parseAppSearchesResult } from '../../src/service/search-result.ts'

const RATING = { rating_type: 'Max5', value: 4.5, votes_count: null, rating_max: 5 }
const PLACE = { se_domain: 'store.example.com', location_code: '2840', language_code: 'en' }
const DATETIME = '2026-11-21 12:00:00 +00:00'

function unreadableAt(path: string) {
  return (error: unknown) => error instanceof UnreadableError && error.path === path
}

const BARE = { type: 'android_store_search_organic', app_id: 'com.example.yoga' }
const RANKED = { ...BARE, rank_group: 1, rank_absolute: 2, title: 'Yoga', rating: RATING, is_free: true }
function rankedPage(items: unknown[]) {
  return { keyword: 'yoga', ...PLACE, datetime: DATETIME, items_count: items.length, items }
}

test('an app that a search names twice keeps its best rank, and what is missing is null', () => {
  const bare = { ...BARE, rank_group: 5, rank_absolute: 6 }
  const [item, ...more] = parseAppSearchesResult(rankedPage([bare, RANKED])).items
  assert.deepEqual([item?.rank, more.length], [1, 0])
  const [poor] = parseAppSearchesResult(rankedPage([bare])).items
  assert.deepEqual([poor?.rating, poor?.price, poor?.isFree, poor?.developerUrl], [null, null, null, null])
})

test('a field that breaks the contract in a search is named', () => {
  assert.throws(
    () => parseAppSearchesResult(rankedPage([{ ...RANKED, rating: 4.5 }])),
    unreadableAt('items[0].rating'),
  )
})

const REVIEW = { type: 'ios_store_reviews_search', rating: RATING, timestamp: DATETIME, id: 9001 }

function reviewsPage(items: unknown, fields: Record<string, unknown> = {}) {
  return { app_id: '7', ...PLACE, datetime: DATETIME, rating: RATING, items_count: 1, items, ...fields }
}

test('a review without an author or text is read; reviews without ids, or missing ones, are not', () => {
  const [review] = parseReviewsResult(reviewsPage([{ id: 'a' }])).items
  assert.deepEqual([review?.userProfile, review?.reviewText, review?.rating], [null, null, null])
  assert.deepEqual(parseReviewsResult(reviewsPage(null, { items_count: 0 })).items, [])
  assert.throws(() => parseReviewsResult(reviewsPage(null)), unreadableAt('items'))
  assert.throws(() => parseReviewsResult(reviewsPage([{ ...REVIEW, id: null }])), unreadableAt('items[0].id'))
})

test('reviews of android_store say how helpful they were found, and what the developer answered', () => {
  const answer = { author: 'Yoga Works', title: null, text: 'Thanks.', timestamp: DATETIME }
  const sent = { ...REVIEW, type: 'google_play_reviews_search', title: null, helpful_count: '3' }
  const reviews = [
    { ...sent, responses: [answer, { ...answer, text: 7 }] },
    { ...sent, id: 'b' },
  ]
  const page = reviewsPage(reviews, { app_id: 'com.example', reviews_count: 41_000, items_count: 2 })
  const { reviewsCount, items } = parseReviewsResult(page, 'android_store')
  assert.equal(reviewsCount, 41_000)
  const [first, second] = items
  assert.deepEqual([first?.title, first?.helpfulCount, first?.responses?.length], [null, 3, 1])
  assert.deepEqual([first?.responses?.[0]?.text, second?.responses], ['Thanks.', null])
  assert.throws(() => parseReviewsResult(page), unreadableAt('app_id'))
})

test('raw pages are exact, and one that cannot be read is left out', () => {
  const html = '<html>\0</html>'
  const page = { type: 'organic', ...PLACE, datetime: DATETIME, items_count: 1 }
  const { items, refused } = parseHtmlResult({ ...page, items: [{ page: 1, date: DATETIME, html }, null] })
  assert.deepEqual([items[0]?.html, items.length, refused[0]?.path], [html, 1, 'items[1]'])
  assert.throws(() => parseHtmlResult({ ...page, items: [{ page: 1 }] }), unreadableAt('items[0].html'))
})

test('a rating off its scale, or a price that is none, is no rating or price: its item is left out', () => {
  const good = [
    { rating: { ...RATING, value: '0' } },
    { rating: { rating_type: 'Percents', value: 87, rating_max: null } },
    { rating: { rating_type: 'CustomMax', value: 9, rating_max: 10 } },
    { rating: { value: null } },
    { price: { current: 25_000_000, currency: 'VND' } },
  ]
  const ratings = [50_000, -1, 5.1, '1e1', 'good', 1e300].map((value) => ({ rating: { ...RATING, value } }))
  const bad = [
    ...ratings,
    { rating: { ...RATING, value: 6, rating_max: 10 } },
    { rating: { rating_type: 'CustomMax', value: 11, rating_max: 10 } },
    { rating: { value: 101 } },
    { rating: { ...RATING, votes_count: -1 } },
    { price: { current: -1 } },
    { price: { regular: 1e300 } },
  ]
  const count = (fields: object) => {
    const second = { ...RANKED, rank_group: 2, app_id: 'b', ...fields }
    const { items, refused } = parseAppSearchesResult(rankedPage([RANKED, second]))
    return [items.length, refused.length]
  }
  for (const fields of good) assert.deepEqual(count(fields), [2, 0], JSON.stringify(fields))
  for (const fields of bad) assert.deepEqual(count(fields), [1, 1], JSON.stringify(fields))
})

test('a review that breaks the contract is left out and named; such a rating is unknown', () => {
  const items = [REVIEW, { ...REVIEW, id: ' ' }, null, { ...REVIEW, rating: { ...RATING, value: 50_000 } }]
  const result = parseReviewsResult(reviewsPage(items, { rating: { ...RATING, value: -1 }, items_count: 4 }))
  assert.deepEqual([result.items.length, result.itemsCount, result.rating], [1, 4, null])
  assert.deepEqual(
    result.refused.map(({ path }) => path),
    ['items[1].id', 'items[2]', 'items[3].rating.value'],
  )
  for (const appId of ['0', '-7', 'com.example', ' ', 1e21]) {
    assert.throws(() => parseReviewsResult(reviewsPage([REVIEW], { app_id: appId })), unreadableAt('app_id'))
  }
})

const APP = {
  type: 'android_store_info_organic',
  app_id: 'com.example.yoga',
  title: 'Yoga',
  rating: { rating_type: 'Max5', value: '4.5', votes_count: null, rating_max: 5 },
  images: ['https://store.example.com/1.png'],
  videos: null,
}

function infoPage(items: unknown, fields: Record<string, unknown> = {}) {
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
    infoPage([
      { ...APP, reviews_count: '1200', installs_count: 10_000_000_000, last_update_date: 'some time ago' },
    ]),
  )
  assert.deepEqual([reviewsCount, rating?.value, installsCount], [1200, 4.5, 10_000_000_000])
  assert.deepEqual([lastUpdateDate, videos, categories], [null, null, null])
})

test('the subtitle of an app is read, and a day of release that the store does not give is null', () => {
  const sent = { type: 'app_store_info_organic', app_id: '389801252', released_date: null }
  const read = (item: object) => parseInfoResult(infoPage([item], { app_id: '389801252' }))
  assert.equal(read({ ...sent, subtitle: 'Private browsing' }).subtitle, 'Private browsing')
  assert.deepEqual([read(sent).subtitle, read(sent).releasedDate], [null, null])
})

test('an app of which only the id is known is read all the same', () => {
  const result = parseInfoResult(
    infoPage([{ type: 'ios_store_info_organic', app_id: 389801252 }], { app_id: 389801252 }),
  )
  assert.equal(result.appId, '389801252')
  assert.equal(result.title, null)
  assert.equal(result.rating, null)
})

test('long and unstorable text is cut and cleaned', () => {
  const result = parseInfoResult(infoPage([{ ...APP, title: 'a\0b', description: 'x'.repeat(1_000_000) }]))
  assert.equal(result.title, 'ab')
  assert.equal(result.description?.length, 100_000)
})

test('a result without the app, or with another one, is refused with its path', () => {
  const broken: [unknown, string][] = [
    [infoPage([]), 'items'],
    [infoPage([{ ...APP, type: 'android_store_info_paid' }]), 'items'],
    [infoPage(null), 'items'],
    [infoPage([{ html: '<html>' }, null]), 'items'],
    [infoPage([{ ...APP, app_id: 'com.example.other' }]), 'items[0].app_id'],
    [infoPage([{ ...APP, rating: 4.5 }]), 'items[0].rating'],
    [infoPage([{ ...APP, rating: { value: 'good' } }]), 'items[0].rating.value'],
    [infoPage([{ ...APP, images: [7] }]), 'items[0].images[0]'],
    [
      infoPage([{ ...APP, type: 'ios_store_info_organic', app_id: '0' }], { app_id: null }),
      'items[0].app_id',
    ],
    [infoPage([{ ...APP, rating: { ...APP.rating, value: 50_000 } }]), 'items[0].rating.value'],
    [infoPage([{ ...APP, rating: { ...APP.rating, value: -1 } }]), 'items[0].rating.value'],
    [infoPage([{ ...APP, price: { current: 1e300 } }]), 'items[0].price.current'],
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
  const result = parseInfoResult(infoPage([null, { ...APP, similar_apps: similar }]))
  assert.deepEqual(
    result.similarApps?.map(({ appId }) => appId),
    ['com.example.other', '389801252'],
  )
})
