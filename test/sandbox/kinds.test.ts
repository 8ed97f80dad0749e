import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { escapeHtml } from '../../src/sandbox/pages.ts'
import {
  DAY_MS,
  fetchTask,
  type Json,
  listReady,
  measure,
  openSandbox,
  organicIds,
  postTasks,
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
  test('collection, category, place and day each make a chart of their own, and a day changes it by a few places', async (t) => {
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

  test('depth is billed per 100, and what the chart does not hold is refunded', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const answers = await postTasks(
      caller,
      [
        chart({ depth: 101 }),
        chart({ depth: 200, priority: 2 }),
        chart({ depth: 201 }),
        chart({ app_category: 'games' }),
        chart({ app_collection: 'Top Free!' }),
        chart({ app_collection: undefined }),
        chart({ app_category: 'comics', depth: 200 }),
      ],
      CHART,
    )
    assert.deepEqual(
      answers.map((answer) => `${answer.status_message} ${answer.cost}`),
      [
        'Task Created. 0.0024',
        'Task Created. 0.0048',
        "Invalid Field: 'depth'. 0",
        "Invalid Field: 'app_category'. 0",
        "Invalid Field: 'app_collection'. 0",
        "Invalid Field: 'app_collection'. 0",
        'Task Created. 0.0024',
      ],
    )
    assert.equal((await fetchTask(caller, answers[6].id, CHART)).status_code, 40102)
    const { money } = (await caller.get('/v3/appendix/user_data')).tasks[0].result[0].rates
    assert.equal(money.balance, 1000 - 0.0024 - 0.0048 - 0.0012)
    assert.equal(money.statistics.day.app_data.app_list.task_post, 0.0084)
  })
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

  test('reviews are billed per 50 and never more than 500; what the app does not have is refunded', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, balanceUsd: 1 })
    const answers = await postTasks(
      caller,
      [
        reviews({ depth: 51 }),
        reviews({ depth: 500, priority: 2 }),
        reviews({ depth: 501 }),
        reviews({ app_id: '999999999', depth: 500 }),
      ],
      REVIEWS,
    )
    assert.deepEqual(
      answers.map((answer) => `${answer.status_message} ${answer.cost}`),
      ['Task Created. 0.0015', 'Task Created. 0.015', "Invalid Field: 'depth'. 0", 'Task Created. 0.0075'],
    )
    assert.equal((await fetchTask(caller, answers[3].id, REVIEWS)).status_code, 40102)
    const { balance } = (await caller.get('/v3/appendix/user_data')).tasks[0].result[0].rates.money
    assert.equal(balance, 1 - 0.0015 - 0.015 - 0.00075)
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
