import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DAY_MS, type Json, openSandbox, postTasks, stamp, USA } from './caller.ts'

const task = (fields: Record<string, unknown> = {}) => ({ keyword: 'yoga', location_code: USA, ...fields })

describe('the account and the lists', () => {
  test('user_data shows limits, statistics, money and prices in the layout of the specification', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, costLimitPerDayUsd: 5 })
    await postTasks(caller, [task(), task()])
    const [record] = (await caller.get('/v3/appendix/user_data')).tasks[0].result
    assert.equal(record.login, 'sandbox')
    assert.equal(record.timezone, 'UTC')
    const { limits, statistics, money, price } = record.rates
    assert.equal(limits.minute.total, 2000)
    assert.equal(limits.minute.app_data.app_searches.tasks_ready, 20)
    assert.equal(statistics.minute.value, '2026-10-15 12:00')
    assert.equal(statistics.day.value, '2026-10-15')
    assert.equal(statistics.day.app_data.app_searches.task_post, 1)
    assert.equal(statistics.day.total, 2)
    assert.equal(statistics.day.total_app_data, 1)
    assert.deepEqual(Object.keys(statistics.day.app_data.app_reviews.task_get), ['advanced'])
    assert.deepEqual(Object.keys(statistics.day.app_data.app_list.task_get), ['advanced', 'html'])
    assert.equal(money.total, 1000)
    assert.equal(money.balance, 999.9976)
    assert.equal(money.limits.day.total, 5)
    assert.equal(money.statistics.day.total, 0.0024)
    assert.deepEqual(price.app_data.app_info.task_post, {
      priority_low: [{ cost_type: 'per_request', cost: 0.0006 }],
      priority_normal: [{ cost_type: 'per_request', cost: 0.0006 }],
      priority_high: [{ cost_type: 'per_request', cost: 0.0012 }],
    })
    assert.equal(price.app_data.app_searches.task_post.priority_high[0].cost, 0.0024)
    assert.equal(price.app_data.app_reviews.task_post.priority_normal[0].cost, 0.00075)
    assert.equal(price.app_data.app_searches.task_get.advanced.priority_normal[0].cost, 0)
  })

  test('every function is counted under its own name, and only the appendix is outside of app_data', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const kinds: [string, string, Json, string[]][] = [
      ['android_store', 'app_info', { app_id: 'com.ashlune.yoga' }, ['advanced', 'html']],
      ['android_store', 'app_list', { app_collection: 'topgrossing' }, ['advanced', 'html']],
      ['android_store', 'app_searches', { keyword: 'yoga' }, ['advanced', 'html']],
      ['ios_store', 'app_reviews', { app_id: '1480010017' }, ['advanced']],
    ]
    for (const [store, name, subject, forms] of kinds) {
      const [{ id }] = await postTasks(caller, [{ location_code: USA, ...subject }], { store, name })
      await caller.get(`/v3/app_data/${store}/${name}/tasks_ready`)
      for (const form of forms) await caller.get(`/v3/app_data/${store}/${name}/task_get/${form}/${id}`)
    }
    for (const list of ['languages', 'locations', 'categories', 'app_listings/categories']) {
      await caller.get(`/v3/app_data/android_store/${list}`)
    }
    await caller.post('/v3/app_data/errors', {})
    await caller.post('/v3/app_data/id_list', {})
    await caller.post('/v3/appendix/webhook_resend', [{}])
    await caller.get('/v3/appendix/errors')
    await caller.get('/v3/appendix/status')
    const [{ rates }] = (await caller.get('/v3/appendix/user_data')).tasks[0].result
    for (const grouping of ['day', 'minute']) {
      const { app_data, total, total_app_data } = rates.statistics[grouping]
      const counted = { task_post: 1, tasks_ready: 1, task_get: { advanced: 1, html: 1 } }
      assert.deepEqual(app_data, {
        app_info: counted,
        app_list: counted,
        app_searches: counted,
        app_reviews: { ...counted, task_get: { advanced: 1 } },
        errors: 1,
        languages: 1,
        locations: 1,
        categories: 2,
      })
      assert.equal(total_app_data, 15 + 4 + 2)
      assert.equal(total, 15 + 4 + 2 + 4)
    }
    assert.deepEqual(rates.money.statistics.day.app_data.app_reviews, {
      task_post: 0.00075,
      tasks_ready: 0,
      task_get: { advanced: 0 },
    })
  })

  test('the reference lists have their records, and no unsupported country', async (t) => {
    const caller = await openSandbox(t)
    const read = async (path: string): Promise<Json[]> => (await caller.get(`/v3/${path}`)).tasks[0].result
    for (const store of ['ios_store', 'android_store']) {
      const locations = await read(`app_data/${store}/locations`)
      assert.ok(locations.length > 150)
      assert.equal(new Set(locations.map((location) => location.location_code)).size, locations.length)
      assert.ok(locations.every((location) => !['RU', 'BY'].includes(location.country_iso_code)))
      assert.deepEqual(
        locations.find((location) => location.location_code === USA),
        {
          location_code: 2840,
          location_name: 'United States',
          location_name_parent: null,
          country_iso_code: 'US',
          location_type: 'Country',
        },
      )
      const languages = await read(`app_data/${store}/languages`)
      assert.ok(
        languages.some(
          (language) => language.language_code === 'ja' && language.language_name === 'Japanese',
        ),
      )
      const [{ categories }] = await read(`app_data/${store}/categories`)
      assert.equal(categories.length, store === 'ios_store' ? 70 : 53)
    }
    const states = (await read('app_data/android_store/locations')).filter((row) => row.location_name_parent)
    assert.ok(states.some((row) => row.location_name === 'California,United States'))
    assert.ok((await read('app_data/ios_store/locations')).every((row) => row.location_name_parent === null))
    const errors = await read('appendix/errors')
    assert.equal(errors.length, 46)
    assert.ok(errors.some((row) => row.code === 40501 && typeof row.message === 'string'))
    const status = await read('appendix/status')
    assert.deepEqual(
      status.map((row) => [row.api, row.status]),
      [
        ['app_data', 'ok'],
        ['appendix', 'ok'],
      ],
    )
  })

  test('id_list tells what was posted, with the parameters as posted', async (t) => {
    const caller = await openSandbox(t, { readyMs: 10_000, idListsPerMinute: 100 })
    const posted = task({ keyword: 'c%2B%2B', tag: 'mine.7', depth: 200 })
    const [search] = await postTasks(caller, [posted, task({ keyword: '' })])
    const list = async (fields: Json = {}): Promise<Json> => {
      const range = {
        datetime_from: stamp(caller.clock.nowMs - DAY_MS),
        datetime_to: stamp(caller.clock.nowMs),
      }
      return (await caller.post('/v3/app_data/id_list', [{ ...range, ...fields }])).tasks[0]
    }
    const row = {
      id: search.id,
      url: '/v3/app_data/ios_store/app_searches/task_post',
      datetime_posted: '2026-10-15 12:00:00 +00:00',
      datetime_done: null,
      status: '40601',
      cost: 0.0024,
    }
    assert.deepEqual((await list()).result, [row])
    caller.clock.nowMs += 10_000
    const [done] = (await list({ include_metadata: true })).result
    assert.equal(done.status, '20000')
    assert.ok(done.datetime_done > row.datetime_posted)
    assert.deepEqual(done.metadata, posted)
  })

  test('id_list is ordered by execution time and paged', async (t) => {
    const caller = await openSandbox(t, { readyMs: 10_000, idListsPerMinute: 100 })
    for (let post = 0; post < 5; post += 1) {
      await postTasks(
        caller,
        Array.from({ length: 10 }, () => task()),
      )
      caller.clock.nowMs += 3000
    }
    const list = async (fields: Json): Promise<Json[]> => {
      const range = { datetime_from: '2026-10-15 12:00:00 +00:00', datetime_to: stamp(caller.clock.nowMs) }
      return (await caller.post('/v3/app_data/id_list', { ...range, ...fields })).tasks[0].result
    }
    const times = (await list({})).map((row) => row.datetime_done ?? '9')
    assert.equal(times.length, 50)
    assert.deepEqual(times, times.toSorted())
    assert.ok(times.includes('9'), 'some are unfinished')
    caller.clock.nowMs += 10_000
    const all = (await list({ sort: 'desc' })).map((row) => row.id)
    const paged = [
      ...(await list({ sort: 'desc', limit: 30 })),
      ...(await list({ sort: 'desc', limit: 30, offset: 30 })),
    ]
    assert.deepEqual(
      paged.map((row) => row.id),
      all,
    )
    const first = await list({ datetime_to: '2026-10-15 12:00:00 +00:00' })
    assert.equal(first.length, 10, 'both ends of the range belong to it')
  })

  test('id_list refuses ranges and fields that break a rule', async (t) => {
    const caller = await openSandbox(t, { idListsPerMinute: 100 })
    const ask = async (fields: Json): Promise<string> => {
      const range = { datetime_from: '2026-10-14 00:00:00 +00:00', datetime_to: '2026-10-15 12:00:00 +00:00' }
      const answer = (await caller.post('/v3/app_data/id_list', [{ ...range, ...fields }])).tasks[0]
      return `${answer.status_code} ${answer.status_message}`
    }
    const invalid = (field: string) => `40501 Invalid Field: '${field}'.`
    assert.equal(await ask({}), '20000 Ok.')
    assert.equal(await ask({ datetime_from: undefined }), invalid('datetime_from'))
    assert.equal(await ask({ datetime_from: '2026-10-14' }), invalid('datetime_from'))
    assert.equal(await ask({ datetime_from: '2026-02-30 00:00:00 +00:00' }), invalid('datetime_from'))
    assert.equal(await ask({ datetime_to: '2026-10-15 12:00:01 +00:00' }), invalid('datetime_to'))
    assert.equal(await ask({ limit: 1001 }), invalid('limit'))
    assert.equal(await ask({ offset: -1 }), invalid('offset'))
    assert.equal(await ask({ sort: 'up' }), invalid('sort'))
    assert.equal(await ask({ datetime_from: '2026-04-15 12:00:00 +00:00' }), '20000 Ok.')
    assert.equal(await ask({ datetime_from: '2026-04-15 11:59:59 +00:00' }), invalid('datetime_from'))
    assert.equal(
      await ask({ datetime_from: '2026-09-15 12:00:00 +00:00', include_metadata: true }),
      '20000 Ok.',
    )
    assert.equal(
      await ask({ datetime_from: '2026-09-15 11:59:59 +00:00', include_metadata: true }),
      invalid('datetime_from'),
    )
    assert.equal((await caller.post('/v3/app_data/id_list', [{}, {}])).status_code, 40000)
  })
})
