import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

import {
  cleanText,
  formatTimestamp,
  readCode,
  readCost,
  readCount,
  readMicros,
  readNumber,
  readSpending,
  readTimestamp,
} from '../../src/service/fields.ts'

test('cleaned text is what Postgres takes, within its length', () => {
  const anyText = fc.string({ unit: fc.constantFrom('\0', 'a', '🧘', '\ud83e', '\uddd8', 'é') })
  fc.assert(
    fc.property(anyText, fc.nat({ max: 8 }), (text, maxLength) => {
      const clean = cleanText(text, maxLength)
      assert.ok(!clean.includes('\0') && clean.isWellFormed() && clean.length <= maxLength)
    }),
  )
})

test('text is never cut inside a character', () => {
  assert.equal(cleanText('ab🧘', 3), 'ab')
  assert.equal(cleanText('ab🧘', 4), 'ab🧘')
  assert.equal(cleanText('a\ud83eb', 9), 'a\ufffdb')
})

test('numbers may come as strings, and nothing else passes for one', () => {
  assert.equal(readNumber('4.5'), 4.5)
  assert.equal(readNumber(0), 0)
  assert.equal(readNumber('-0.25'), -0.25)
  assert.equal(readCount('12'), 12)
  const none = [null, undefined, true, [], [1], Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -1e300]
  const looseText = '| |x|1e999|1e1|0x10|0b1| 7|7 |+7|7.|.7|1_000|١|Infinity'.split('|')
  looseText.push('9'.repeat(400))
  for (const each of [...none, ...looseText]) assert.equal(readNumber(each), null, String(each))
})

test('a count is whole and not below 0, and a code fits an integer of Postgres', () => {
  for (const none of [1.5, '1.5', -1, '-1', 2 ** 53, null]) assert.equal(readCount(none), null, String(none))
  assert.equal(readCount(2 ** 31), 2 ** 31)
  assert.equal(readCode(2 ** 31), null)
  assert.equal(readCode('2147483647'), 2_147_483_647)
})

test('money out of bounds is no money: a balance may be overdrawn, a cost is 0 to a million', () => {
  assert.deepEqual([readMicros(-1.5), readSpending(-1.5), readCost(-1.5)], [-1_500_000, null, null])
  assert.deepEqual([readMicros('0.0012'), readSpending(0), readCost(0)], [1200, 0, 0])
  assert.deepEqual([readSpending(1_000_001), readCost(1_000_001)], [1_000_001_000_000, null])
  for (const read of [readMicros, readSpending, readCost]) {
    for (const none of [1e300, -1e300, 1_000_000_001, 'much', null])
      assert.equal(read(none), null, String(none))
  }
})

test('every whole second survives the way to the service and back', () => {
  const second = fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => new Date(seconds * 1000))
  fc.assert(fc.property(second, (date) => readTimestamp(formatTimestamp(date))?.getTime() === date.getTime()))
})

test('a timestamp without offset is UTC, and nonsense is none', () => {
  assert.equal(formatTimestamp(new Date('2026-03-01T01:02:03.999Z')), '2026-03-01 01:02:03 +00:00')
  assert.equal(readTimestamp('2026-03-01 01:02:03')?.toISOString(), '2026-03-01T01:02:03.000Z')
  assert.equal(readTimestamp('2026-03-01 01:02:03 +02:00')?.toISOString(), '2026-02-28T23:02:03.000Z')
  for (const none of [
    '',
    'yesterday',
    '9999-01-01 00:00:00 +00:00',
    '0000-01-01 00:00:00',
    '1969-12-31 23:59:59',
    '2026-13-01 00:00:00 +00:00',
    5,
    null,
  ])
    assert.equal(readTimestamp(none), null)
})

test('every price of the list is exact in micro-dollars', () => {
  const prices = [0.0006, 0.0012, 0.0024, 0.00075, 0.0015, 0.0084]
  assert.deepEqual(prices.map(readMicros), [600, 1200, 2400, 750, 1500, 8400])
  fc.assert(fc.property(fc.nat(), (micros) => readMicros(micros / 1_000_000) === micros))
})
