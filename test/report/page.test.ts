import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderPage } from '../../src/report/page/page.ts'
import { makeReport } from '../support/report.ts'

const MEGABYTE = 1_000_000

test('1,000 keywords on 90 days take less than 2 MB, and name nothing that a browser would fetch', () => {
  const page = renderPage(makeReport({ seed: 7, keywords: 1000, days: 90 }))
  assert.ok(Buffer.byteLength(page) < 2 * MEGABYTE, `${Buffer.byteLength(page)} bytes`)
  assert.deepEqual(page.match(/<(link|iframe|object)\b|@import|url\(|\bsrc="(?!data:).{0,40}/g), null)
})
