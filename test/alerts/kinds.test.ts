/** Each kind of rules can be looked at and told, with no more than what it needs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columnsOf, KINDS } from '../../src/alerts/kinds/kinds.ts'
import { createAlertList } from '../support/alerts.ts'
import { lasting } from '../support/lasting.ts'

const list = lasting(createAlertList)

test('the statement of each kind runs: over lists, pages and reviews, and by the clock', async () => {
  await list.setNow('2026-03-01 06:00+00')
  await list.addKeyword()
  await list.addApp({ info: true, reviews: true, location_code: 2840, language_code: 'en' })
  for (const kind of KINDS) {
    const needs = columnsOf(kind).needs.map((column) => [
      column,
      column === 'threshold' ? kind.threshold?.from : 10,
    ])
    await list.addRule({ kind: kind.name, ...Object.fromEntries(needs) })
  }
  for (const day of [1, 2]) {
    const slot = `2026-03-0${day} 00:00+00`
    await list.setNow(`2026-03-0${day} 06:00+00`)
    await list.capture('yoga', slot, day === 1 ? ['1001', '7'] : ['7', '1001'])
    await list.describeApp('1001', slot, { rating: 4, version: `${day}` })
    await list.describeApp('1001', slot, { rating: 4 }, 'app_reviews')
  }
  const found = await list.look()
  assert.deepEqual(
    [...new Set(found.map((line) => line.split(' ')[0]))],
    ['listing_changed', 'rank_moved', 'share_of_voice_moved', 'visibility_moved'],
  )
})
