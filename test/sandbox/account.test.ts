import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Json, openSandbox, postTasks, USA } from './caller.ts'

describe('the account and the lists', () => {
  test('every function is counted by its own name, and only the appendix is beside app_data', async (t) => {
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
})
