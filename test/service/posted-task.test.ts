import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SERVICE_FUNCTIONS } from '../../src/service/functions.ts'
import { decodeKeyword, encodeKeyword, splitCategory } from '../../src/service/subject.ts'
import { readPostedTask } from '../../src/service/task-ids.ts'
import { toWire } from '../../src/service/task-rules.ts'

const url = '/v3/app_data/ios_store/app_searches/task_post'
const metadata = { keyword: 'c%2B%2B 100%25', location_code: '2840', language_code: 'en' }

test('what was posted is read back as a person typed it, with the defaults of the service', () => {
  assert.deepEqual(readPostedTask({ url, metadata }), {
    store: 'ios_store',
    function: 'app_searches',
    subject: 'c++ 100%',
    category: null,
    locationCode: 2840,
    languageCode: 'en',
    priority: 1,
    depth: 100,
  })
})

test('every function is read back from what we post', () => {
  const asked = {
    tag: 'a.1',
    subject: 'x',
    locationCode: 1,
    languageCode: 'en',
    priority: 2,
    depth: 7,
  } as const
  for (const store of ['ios_store', 'android_store']) {
    for (const fn of SERVICE_FUNCTIONS) {
      const isChart = fn === 'app_list'
      const posted = toWire(fn, isChart ? { ...asked, category: 'game' } : asked)
      const read = readPostedTask({ url: `/v3/app_data/${store}/${fn}/task_post`, metadata: posted })
      const expected = ['x', isChart ? 'game' : null, 2, fn === 'app_info' ? null : 7]
      assert.deepEqual([read?.subject, read?.category, read?.priority, read?.depth], expected)
    }
  }
})

test('percent and plus of a keyword are encoded, so that the service reads what a person typed', () => {
  assert.equal(encodeKeyword('c++ 100% naïve 日本 🧘?'), 'c%2B%2B 100%25 naïve 日本 🧘?')
  // spec: Task posting. `+` is a space, every `%##` is decoded.
  const decodeAsService = (posted: string) =>
    posted
      .replaceAll('+', ' ')
      .replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  const typed = fc.string({ unit: fc.constantFrom('%', '+', '2', 'B', '5', ' ', 'é', '🧘', 'x') })
  for (const decode of [decodeAsService, decodeKeyword])
    fc.assert(fc.property(typed, (keyword) => decode(encodeKeyword(keyword)) === keyword))
})

test('the age of a chart is a part of its category, as a target has it', () => {
  const age = { subject: 'topgrossing', category: 'family', ageRating: 'ages_6_8' } as const
  const posted = toWire('app_list', { tag: 'a.1', locationCode: 1, languageCode: 'en', ...age })
  const read = readPostedTask({ url: '/v3/app_data/android_store/app_list/task_post', metadata: posted })
  assert.equal(read?.category, 'family, ages_6_8')
  assert.deepEqual(splitCategory(read?.category ?? null), { category: 'family', ageRating: 'ages_6_8' })
  assert.deepEqual([splitCategory('game'), splitCategory(null)], [{ category: 'game' }, {}])
})

test('a search in listings is read back by what it asked for', () => {
  const read = readPostedTask({
    url: '/v3/app_data/android_store/app_listings/search/live',
    metadata: {
      title: 'yoga',
      filters: ['item.rating.value', '>', 4],
      limit: null,
      tag: 'a.1',
      se: 'google',
    },
  })
  assert.deepEqual(
    [read?.store, read?.function, read?.subject],
    ['android_store', 'app_listings', 'title=yoga filters=["item.rating.value",">",4]'],
  )
})

test('a row that does not say what was asked for is not guessed at', () => {
  const { keyword: _, ...without } = metadata
  for (const row of [
    { url: null, metadata },
    { url: '/v3/app_data/id_list', metadata },
    { url: '/v3/app_data/ios_store/app_books/task_post', metadata: { ...metadata, app_collection: 'x' } },
    { url, metadata: null },
    { url, metadata: without },
    { url, metadata: { ...metadata, location_code: 'here' } },
  ]) {
    assert.equal(readPostedTask(row), null)
  }
})
