import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Json, openSandbox, postTasks, stamp, USA } from './caller.ts'

const task = (fields: Record<string, unknown> = {}) => ({ keyword: 'yoga', location_code: USA, ...fields })

describe('the account and the lists', () => {
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
})
