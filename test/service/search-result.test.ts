import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'

import { UnreadableError } from '../../src/errors.ts'
import { parseSearchResult, type SearchResult } from '../../src/service/search-result.ts'
import { makeSearch, SPOILT_BODIES, seeded, spoil } from './search-bodies.ts'

function item(rank: number, fields: Record<string, unknown> = {}) {
  const place = { type: 'ios_store_search_organic', rank_group: rank, rank_absolute: rank }
  return { ...place, app_id: `${1000 + rank}`, title: `App ${rank}`, ...fields }
}

function page(items: unknown, fields: Record<string, unknown> = {}) {
  return {
    keyword: 'yoga',
    check_url: 'https://store.example.com/search?q=yoga',
    datetime: '2026-11-21 12:00:00 +00:00',
    se_results_count: 240,
    ...(Array.isArray(items) && { items_count: items.length }),
    items,
    ...fields,
  }
}

/** The ranks that an app has. */
function ranksOf({ apps }: SearchResult): number[] {
  return apps.flatMap((app, index) => (app === null ? [] : [index + 1]))
}

function assertUnreadable(result: unknown, path: string) {
  assert.throws(
    () => parseSearchResult(result),
    (error) => error instanceof UnreadableError && error.path === path && error.message.includes(path),
  )
}

const NOWHERE = { seDomain: null, locationCode: null, languageCode: null }
const UNNAMED = { title: null, developer: null, icon: null, url: null }
const FREE = { votes: null, rating: null, priceMicros: 0, currency: null }

test('an app is read with its votes, rating and price, as they are now; what cannot be read is null', () => {
  const numbersOf = (fields: Record<string, unknown>) =>
    parseSearchResult(page([item(1, fields)])).apps.map((app) => app?.numbers)
  const rating = { rating_type: 'Max5', value: 4.567, votes_count: 1200, rating_max: 5 }
  const price = { current: 2.99, currency: 'EUR' }
  const cases = [
    [{ rating, is_free: false, price }, [1200, 457, 2_990_000, 'EUR']],
    [{ rating: { ...rating, votes_count: 1201 }, is_free: true, price }, [1201, 457, 0, 'EUR']],
    [{ rating: { ...rating, votes_count: null }, reviews_count: 300 }, [300, 457, null, null]],
    [{ rating: { value: 90, rating_max: 100 } }, [null, 450, null, null]],
    [{ rating: { value: 6, rating_max: 5, votes_count: -1 }, price: { current: -1, currency: 'euro' } }, []],
    [{ rating: 'good', price: [], reviews_count: 1.5 }, []],
  ] as const
  for (const [fields, [votes = null, stars = null, priceMicros = null, currency = null]] of cases) {
    assert.deepEqual(numbersOf(fields), [{ votes, rating: stars, priceMicros, currency }])
  }
})

test('advertisements are given with their places, and rank nobody', () => {
  const paid = (place: unknown, appId: unknown, type = 'app_store_search_paid') => ({
    ...{ type, rank_group: 1, rank_absolute: place, app_id: appId, title: 'Paid' },
  })
  const unread = [paid('x', '8'), paid(4, 'com.a'), { ...paid(5, '9'), title: 7 }]
  const items = [paid(1, '7'), item(1, { rank_absolute: 2 }), paid(3, '1001'), ...unread]
  const { apps, paid: found, refused } = parseSearchResult(page(items), 'ios_store')
  assert.deepEqual(
    found.map(({ place, app }) => [place, app.appId]),
    [
      [1, '7'],
      [3, '1001'],
    ],
  )
  assert.deepEqual([apps.map((app) => app?.appId), refused], [['1001'], []])
})

test('a search is read with its ranks', () => {
  assert.deepEqual(
    parseSearchResult(page([item(1, { developer: 'Dev', icon: 'i', url: 'u', is_free: true })])),
    {
      keyword: 'yoga',
      checkUrl: 'https://store.example.com/search?q=yoga',
      datetime: new Date('2026-11-21T12:00:00Z'),
      ...NOWHERE,
      resultsCount: 240,
      itemsCount: 1,
      shortfall: null,
      refused: [],
      apps: [{ appId: '1001', title: 'App 1', developer: 'Dev', icon: 'i', url: 'u', numbers: FREE }],
      absolute: null,
      paid: [],
    },
  )
})

test('only organic items are ranked; others shift the absolute rank and may look like anything', () => {
  const items = [
    { type: 'ios_store_search_paid', app_id: '9', rank_group: 'first' },
    item(1, { rank_absolute: 2 }),
    { type: 'ios_store_search_bundle' },
    item(2, { rank_absolute: 4, type: 'android_store_search_organic' }),
  ]
  const result = parseSearchResult(page(items))
  assert.deepEqual([ranksOf(result), result.absolute, result.itemsCount], [[1, 2], [2, 4], 4])
  assert.equal(result.shortfall, null)
  // Nor do they stand for an app that is lacking.
  assert.match(
    parseSearchResult(page(items.slice(0, 3).concat(item(3)))).shortfall ?? '',
    /at 1 of the ranks/,
  )
})

test('an app that comes twice keeps its best rank', () => {
  const twice = [item(3, { app_id: '7', title: 'worse' }), item(1, { app_id: '7', title: 'best' }), item(2)]
  for (const items of [twice, twice.toReversed()]) {
    const { apps } = parseSearchResult(page(items))
    assert.deepEqual(
      apps.map((app) => app?.title),
      ['best', 'App 2'],
    )
  }
  const below = page([item(1, { app_id: '7' }), item(2), item(5, { app_id: '7' })])
  assert.match(parseSearchResult(below).shortfall ?? '', /no app at 2 of the ranks/)
})

test('numbers may be strings, an app id may be a number, and optional fields may be missing', () => {
  const sparse = { type: 'x_organic', rank_group: '7', rank_absolute: '12', app_id: 1234567890 }
  const result = parseSearchResult({ items: [sparse], se_results_count: '9' })
  assert.deepEqual(result, {
    ...{ keyword: null, checkUrl: null, datetime: null, ...NOWHERE },
    resultsCount: 9,
    itemsCount: 1,
    shortfall: 'The answer has no app at 6 of the ranks (rank_group) above its last one: these are lacking.',
    refused: [],
    apps: [
      ...Array(6).fill(null),
      { ...UNNAMED, appId: '1234567890', numbers: { ...FREE, priceMicros: null } },
    ],
    absolute: [1, 2, 3, 4, 5, 6, 12],
    paid: [],
  })
})

test('a title with U+0000, a lone surrogate or a megabyte becomes one that Postgres takes', () => {
  const titles = ['a\0b', 'a\ud83e', 'x'.repeat(1_000_000)]
  const result = parseSearchResult(page(titles.map((title, index) => item(index + 1, { title }))))
  assert.deepEqual(
    result.apps.map((app) => app?.title),
    ['ab', 'a\ufffd', 'x'.repeat(500)],
  )
})

test('no items is an empty measurement only when the answer counts none', () => {
  assert.deepEqual(parseSearchResult(page([])).apps, [])
  assert.deepEqual(parseSearchResult(page(null, { items_count: 0 })).apps, [])
  assertUnreadable(page(null), 'items')
  assertUnreadable(page(undefined, { items_count: undefined }), 'items')
})

test('an item that breaks the contract is left out and named, and the others are read', () => {
  const bad: [unknown, string][] = [
    [null, 'type'],
    [[], 'type'],
    [{ app_id: '9' }, 'type'],
    ...[0, -1, 1.5, 32_768, 'first', '0x10', ' 7 ', '1e1', '', null].map((rank): [unknown, string] => [
      item(2, { rank_group: rank }),
      'rank_group',
    ]),
    [item(2, { rank_absolute: '1e1' }), 'rank_absolute'],
    ...[
      -1211946196,
      0,
      1e21,
      1.5,
      null,
      ' ',
      '٣',
      '9'.repeat(20),
      ...'-7 0 1e+21 0123 12.5 a\0b'.split(' '),
    ].map((id): [unknown, string] => [item(2, { app_id: id }), 'app_id']),
    ...['', ' ', 'a b', 'a\0b', '-a', '.a', 'x'.repeat(256)].map((id): [unknown, string] => [
      item(2, { type: 'android_store_list_organic', app_id: id }),
      'app_id',
    ]),
    [item(2, { title: {} }), 'title'],
  ]
  for (const [value, field] of bad) {
    const search = parseSearchResult(page([item(1), value, item(3)]))
    const { refused, itemsCount } = search
    assert.deepEqual(ranksOf(search), [1, 3], JSON.stringify(value))
    assert.deepEqual(
      refused.map(({ path }) => path),
      [`items[1].${field}`],
    )
    assert.match(refused[0]?.problem ?? '', /^The answer of the service cannot be read at items\[1\]\./)
    assert.equal(itemsCount, 3)
  }
})

test('apps that claim one rank are both left out, and one that comes twice on it is not', () => {
  const items = [item(1), item(2), item(2, { app_id: '7' }), item(3), item(3)]
  const result = parseSearchResult(page(items))
  assert.deepEqual(ranksOf(result), [1, 3])
  assert.deepEqual(
    result.refused.map(({ path }) => path),
    ['items[1].rank_group', 'items[2].rank_group'],
  )
})

test('what came back is counted as the service bills it: every item, or as many as it counts', () => {
  const items = [{ type: 'ios_store_search_paid' }, item(1), item(1), item(2, { app_id: '1001' }), null]
  const counts = [5, 3, 9, null, -1, 1e300, '6'].map(
    (counted) => parseSearchResult(page(items, { items_count: counted })).itemsCount,
  )
  assert.deepEqual(counts, [5, 5, 9, 5, 5, 5, 6])
})

test('what stands above the items is null where it cannot be read, because no rank hangs on it', () => {
  const odd = { keyword: 7, check_url: {}, datetime: '9999-12-31 00:00:00 +00:00', se_results_count: 'many' }
  const { keyword, checkUrl, datetime, resultsCount, apps } = parseSearchResult(page([item(1)], odd))
  assert.deepEqual([keyword, checkUrl, datetime, resultsCount, apps.length], [null, null, null, null, 1])
})

test('a store that counts no results and gives some does not say how many there are', () => {
  const count = (items: unknown[]) => parseSearchResult(page(items, { se_results_count: 0 })).resultsCount
  assert.deepEqual([count([item(1)]), count([])], [null, 0])
})

describe('a search of which no item can be read is refused with the path of the field', () => {
  const broken: [string, unknown, string][] = [
    ['a rank of 0', page([item(0)]), 'items[0].rank_group'],
    ['an html page instead of an app', page([{ page: 1, html: '<html>' }]), 'items[0].type'],
    ['an item that is no object', page([null, null]), 'items[0].type'],
    ['two apps on one rank', page([item(1), item(1, { app_id: '7' })]), 'items[0].rank_group'],
    ['items that are no list', page({}), 'items'],
    ['more items than any depth', page(Array(5001).fill(item(1))), 'items'],
  ]
  for (const [name, result, path] of broken) test(name, () => assertUnreadable(result, path))

  test('no result at all', () => {
    for (const nothing of [null, undefined, 'text', []]) {
      assert.throws(() => parseSearchResult(nothing), UnreadableError)
    }
  })
})

test('whatever comes, it is read or refused as unreadable', () => {
  const anyItem = fc.record(
    { type: fc.constantFrom('a_organic', 'paid', 3), rank_group: fc.anything(), app_id: fc.anything() },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.record({ items: fc.array(anyItem) })), (result) => {
      try {
        parseSearchResult(result)
      } catch (error) {
        assert.ok(error instanceof UnreadableError)
      }
    }),
  )
})

test(`of ${SPOILT_BODIES} spoilt searches each organic item is ranked or refused, and none made up`, () => {
  const random = seeded(14)
  const seen = { read: 0, refused: 0, unreadable: 0 }
  for (let round = 0; round < SPOILT_BODIES; round += 1) {
    const store = random(2) === 0 ? 'ios_store' : 'android_store'
    const body = spoil(makeSearch(1 + random(4), store), random) as { items: unknown[] }
    let search: SearchResult
    try {
      search = parseSearchResult(body, store)
    } catch (error) {
      assert.ok(error instanceof UnreadableError)
      seen.unreadable += 1
      continue
    }
    checkRead(body.items ?? [], search)
    seen[search.refused.length === 0 ? 'read' : 'refused'] += 1
  }
  for (const count of Object.values(seen)) assert.ok(count > SPOILT_BODIES / 50, JSON.stringify(seen))
})

function checkRead(sent: readonly unknown[], { apps, absolute, refused }: SearchResult) {
  const byApp = new Map(apps.flatMap((app, index) => (app === null ? [] : [[app.appId, index + 1] as const])))
  assert.equal(byApp.size, apps.filter((app) => app !== null).length)
  for (const [appId, rank] of byApp) {
    const place = absolute?.[rank - 1] ?? rank
    const isSent = (each: Sent) =>
      [Number(each.rank_group), Number(each.rank_absolute), String(each.app_id)].join() ===
      [rank, place, appId].join()
    assert.ok(rank <= 32_767 && place >= 1 && place <= 32_767)
    assert.ok(sent.some((each) => isSent((each ?? {}) as Sent)))
  }
  for (const [index, each] of sent.entries()) {
    const { type, app_id: appId } = (each ?? {}) as Sent
    const isRanked = byApp.has(String(appId)) || !String(type).endsWith('_organic')
    assert.ok(isRanked || refused.some(({ path }) => path.startsWith(`items[${index}].`)))
  }
}

type Sent = Readonly<Record<string, unknown>>
