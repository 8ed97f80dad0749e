import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

import { decodeKeyword, encodeKeyword } from '../../src/service/keyword.ts'

/** The service's side (spec: Task posting): `+` is a space, every `%##` is decoded. */
function decodeAsService(posted: string): string {
  return posted
    .replaceAll('+', ' ')
    .replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

test('percent and plus are protected, and nothing else is touched', () => {
  assert.equal(encodeKeyword('c++'), 'c%2B%2B')
  assert.equal(encodeKeyword('100% free'), '100%25 free')
  assert.equal(encodeKeyword('%2B'), '%252B')
  assert.equal(encodeKeyword('naïve & 日本語 🧘?/'), 'naïve & 日本語 🧘?/')
})

test('the service reads back what a person typed', () => {
  const typed = fc.string({ unit: fc.constantFrom('%', '+', '2', 'B', '5', ' ', 'é', '🧘', 'x') })
  fc.assert(fc.property(typed, (keyword) => decodeAsService(encodeKeyword(keyword)) === keyword))
  fc.assert(fc.property(typed, (keyword) => decodeKeyword(encodeKeyword(keyword)) === keyword))
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      (keyword) => decodeAsService(encodeKeyword(keyword)) === keyword,
    ),
  )
})
