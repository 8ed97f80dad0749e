import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { decodeKeyword } from '../../src/sandbox/keyword.ts'
import { escapeHtml } from '../../src/sandbox/results.ts'
import {
  DAY_MS,
  fetchTask,
  type Json,
  listReady,
  measure,
  openSandbox,
  organicIds,
  postTasks,
  readMoney,
  USA,
} from './caller.ts'

const CHART = { store: 'android_store', name: 'app_list' }
const REVIEWS = { store: 'ios_store', name: 'app_reviews' }
const chart = (fields: Record<string, unknown> = {}) => ({
  app_collection: 'topselling_free',
  location_code: USA,
  ...fields,
})
const reviews = (fields: Record<string, unknown> = {}) => ({
  app_id: '1480010017',
  location_code: USA,
  ...fields,
})

describe('charts of android_store', () => {
  test('collection, category, place and day make a chart; a day changes it by a few places', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const ids = async (fields: Record<string, unknown> = {}) =>
      organicIds(await measure(caller, chart(fields), CHART))
    const today = await ids()
    assert.deepEqual(await ids(), today)
    const others = [
      { app_collection: 'topgrossing' },
      { app_category: 'education' },
      { location_code: 2276 },
      { app_collection: 'topselling_paid' },
    ]
    for (const fields of others) assert.notDeepEqual(await ids(fields), today)
    caller.clock.nowMs += DAY_MS
    const tomorrow = await ids()
    assert.notDeepEqual(tomorrow, today)
    assert.ok(tomorrow.filter((id) => today.includes(id)).length > 80)
  })
})

test('an app or a chart that the store does not have ends without result', async (t) => {
  const caller = await openSandbox(t, { readyMs: 0 })
  for (const name of ['app_info', 'app_reviews']) {
    assert.equal(await measure(caller, { app_id: '999999999' }, { name }), null)
  }
  assert.equal(await measure(caller, chart({ app_category: 'comics' }), CHART), null)
})

describe('reviews of ios_store', () => {
  test('a later look finds new reviews in front of the same old ones', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const look = async () => (await measure(caller, reviews({ depth: 200 }), REVIEWS)).items as Json[]
    const withoutRank = ({ rank_group, rank_absolute, ...item }: Json) => item
    const before = (await look()).map(withoutRank)
    caller.clock.nowMs += 7 * DAY_MS
    const after = (await look()).map(withoutRank)
    const fresh = after.findIndex((item) => item.id === before[0].id)
    assert.ok(fresh > 0 && fresh < 100, `${fresh} new ones`)
    assert.deepEqual(after.slice(fresh), before.slice(0, 200 - fresh))
  })
})

describe('html results of android_store', () => {
  const kinds = [
    ['app_searches', { keyword: 'yoga & <b>', depth: 70 }, 'organic', { keyword: 'yoga & <b>' }, 3],
    ['app_info', { app_id: 'com.ashlune.yoga' }, 'app_info', { app_id: 'com.ashlune.yoga' }, 1],
    ['app_list', chart({ depth: 60 }), 'app_list', { keyword: 'topselling_free' }, 2],
  ] as const
  for (const [name, task, type, subject, pages] of kinds) {
    test(`${name} comes as pages that say the same as the advanced result`, async (t) => {
      const caller = await openSandbox(t, { readyMs: 0 })
      const kind = { store: 'android_store', name }
      const [posted] = await postTasks(caller, [{ location_code: USA, ...task }], kind)
      const [row] = await listReady(caller, kind)
      assert.equal(row.endpoint_html, `/v3/app_data/android_store/${name}/task_get/html/${posted.id}`)
      const fetched = (await caller.get(row.endpoint_html)).tasks[0]
      const [{ items, ...result }] = fetched.result
      assert.deepEqual(result, {
        ...subject,
        type,
        se_domain: 'play.android-store.example',
        location_code: USA,
        language_code: 'en',
        datetime: '2026-10-15 12:00:00 +00:00',
        items_count: pages,
      })
      assert.deepEqual(
        items.map((item: Json) => [item.page, item.date]),
        Array.from({ length: pages }, (_, index) => [index + 1, '2026-10-15 12:00:00 +00:00']),
      )
      const html: string = items.map((item: Json) => item.html).join('')
      const advanced = await fetchTask(caller, posted.id, kind)
      const organic = advanced.result[0].items.filter((item: Json) => item.type.endsWith('_organic'))
      for (const { title } of organic) assert.ok(html.includes(escapeHtml(title)), title)
      assert.ok(!html.includes('<b>'), 'texts are escaped')
      assert.deepEqual(await listReady(caller, kind), [])
    })
  }
})

/** How a client writes a keyword (spec: Task posting). */
const encode = (keyword: string) => keyword.replaceAll('%', '%25').replaceAll('+', '%2B')

describe('posting tasks', () => {
  test('every encoded keyword decodes to itself, and a lone percent sign stays', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (keyword) => {
        assert.equal(decodeKeyword(encode(keyword)), keyword)
        assert.equal(decodeKeyword(encodeURIComponent(keyword)), keyword)
      }),
    )
    assert.equal(decodeKeyword('50%'), '50%')
    assert.equal(decodeKeyword('a+b'), 'a b')
  })

  test('a keyword of spaces is refused however written, and an id of another store’s form', async (t) => {
    const caller = await openSandbox(t)
    const refusalOf = async (fields: Json, kind: { store?: string; name?: string } = {}) => {
      const [answer] = await postTasks(caller, [{ location_code: USA, ...fields }], kind)
      return `${answer.status_code} ${answer.status_message}`
    }
    assert.equal(await refusalOf({ keyword: '%20+' }), "40501 Invalid Field: 'keyword'.")
    const appId = "40501 Invalid Field: 'app_id'."
    assert.equal(await refusalOf({ app_id: 'com.ashlune.yoga' }, { name: 'app_info' }), appId)
    const android = { store: 'android_store', name: 'app_info' }
    assert.equal(await refusalOf({ app_id: '1480010017' }, android), appId)
  })

  test('every item that comes back is a result: an advertisement may begin another unit', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const keywords = Array.from({ length: 120 }, (_, index) => `yoga ${index}`)
    const unitsOf = (count: number) => Math.ceil(count / 30)
    let atEdge = 0
    let expectedUnits = 0
    for (const keyword of keywords) {
      const result = await measure(caller, { keyword, depth: 200 }, { store: 'android_store' })
      const { items, items_count: count } = result
      const organic = items.filter(({ type }: Json) => type.endsWith('_organic')).length
      assert.ok(items.length === count && count <= 200)
      if (unitsOf(organic) < unitsOf(count)) atEdge += 1
      expectedUnits += unitsOf(count)
    }
    assert.ok(atEdge > 0)
    assert.equal((await readMoney(caller)).balance, (1_000_000_000 - expectedUnits * 1200) / 1_000_000)
  })
})
