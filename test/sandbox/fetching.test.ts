import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DAY_MS, fetchTask, type Json, measure, openSandbox, postTasks, USA } from './caller.ts'

const task = (fields: Record<string, unknown> = {}) => ({
  keyword: 'yoga',
  location_code: USA,
  language_code: 'en',
  ...fields,
})
const readyPath = '/v3/app_data/ios_store/app_searches/tasks_ready'

describe('fetching results', () => {
  test('a task is handed over, then queued, then done, by the clock alone', async (t) => {
    const caller = await openSandbox(t, { readyMs: 10_000 })
    const [posted] = await postTasks(caller, [task()])
    const codeAfter = async (ms: number) => {
      caller.clock.nowMs += ms
      const fetched = await fetchTask(caller, posted.id)
      if (fetched.status_code !== 20000) assert.equal(fetched.result, null)
      return `${fetched.status_code} ${fetched.status_message} ${fetched.cost}`
    }
    assert.equal(await codeAfter(0), '40601 Task Handed. 0')
    assert.equal(await codeAfter(3000), '40602 Task In Queue. 0')
    assert.equal(await codeAfter(7000), '20000 Ok. 0')
  })

  test('high priority takes half the time at most', async (t) => {
    const caller = await openSandbox(t, { readyMs: 10_000 })
    const posted = await postTasks(
      caller,
      Array.from({ length: 20 }, () => task({ priority: 2 })),
    )
    caller.clock.nowMs += 5000
    for (const { id } of posted) assert.equal((await fetchTask(caller, id)).status_code, 20000)
  })

  test('the ready list names what is done, with its tag and path, until it is fetched', async (t) => {
    const caller = await openSandbox(t, { readyMs: 10_000 })
    const [first, second] = await postTasks(caller, [task({ tag: 'mine.1' }), task()])
    assert.deepEqual((await caller.get(readyPath)).tasks[0].result, [])
    caller.clock.nowMs += 10_000
    const rows: Json[] = (await caller.get(readyPath)).tasks[0].result
    assert.deepEqual(
      rows.find((row) => row.id === first.id),
      {
        id: first.id,
        se: 'ios_store',
        se_type: 'organic',
        date_posted: '2026-10-15 12:00:00 +00:00',
        tag: 'mine.1',
        endpoint_advanced: `/v3/app_data/ios_store/app_searches/task_get/advanced/${first.id}`,
        endpoint_html: null,
      },
    )
    const fetched = (await caller.get(`/v3/app_data/ios_store/app_searches/task_get/advanced/${first.id}`))
      .tasks[0]
    assert.equal(fetched.data.tag, 'mine.1')
    assert.equal(fetched.path.at(-1), first.id)
    assert.equal(fetched.result_count, 1)
    const left: Json[] = (await caller.get(readyPath)).tasks[0].result
    assert.deepEqual(
      left.map((row) => [row.id, row.tag]),
      [[second.id, null]],
    )
    assert.equal((await fetchTask(caller, first.id)).status_code, 20000, 'a result may be fetched again')
    const other = await caller.get('/v3/app_data/android_store/app_searches/tasks_ready')
    assert.deepEqual(other.tasks[0].result, [])
  })

  test('the ready list holds a thousand rows of the last three days, the oldest in front', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    for (let post = 0; post < 11; post += 1) {
      const body = Array.from({ length: 100 }, (_, index) => task({ tag: `${post}.${index}` }))
      await postTasks(caller, body)
      caller.clock.nowMs += 1000
      await caller.get('/v3/appendix/user_data')
    }
    const rows: Json[] = (await caller.get(readyPath)).tasks[0].result
    assert.equal(rows.length, 1000)
    assert.match(rows[0].tag, /^0\./)
    assert.match(rows[999].tag, /^9\./)
    for (const row of rows.slice(0, 5)) await fetchTask(caller, row.id)
    const later: Json[] = (await caller.get(readyPath)).tasks[0].result
    assert.equal(later.filter((row) => row.tag.startsWith('10.')).length, 5)
    caller.clock.nowMs += 3 * DAY_MS
    assert.deepEqual((await caller.get(readyPath)).tasks[0].result, [])
  })

  test('a result can be fetched for 30 days and then is expired', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const [posted] = await postTasks(caller, [task()])
    caller.clock.nowMs += 30 * DAY_MS - 1
    const before = await fetchTask(caller, posted.id)
    assert.equal(before.status_code, 20000)
    assert.equal(before.result[0].datetime, '2026-10-15 12:00:00 +00:00')
    caller.clock.nowMs += 1
    const after = await fetchTask(caller, posted.id)
    assert.equal(`${after.status_code} ${after.status_message}`, '40403 Results Expired.')
  })

  test('a path of another store or function, or an unknown id, is refused', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const [posted] = await postTasks(caller, [task()])
    const codeIn = async (store: string, name: string, id = posted.id) =>
      (await fetchTask(caller, id, { store, name })).status_code
    assert.equal(await codeIn('android_store', 'app_searches'), 40002)
    assert.equal(await codeIn('ios_store', 'app_info'), 40004)
    assert.equal(await codeIn('ios_store', 'app_searches', '00000000-0000-4000-8000-000000000000'), 40401)
    assert.equal(await codeIn('ios_store', 'app_searches'), 20000)
  })

  test('a search that finds nothing ends with 40102 and stands in the ready list', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const [posted] = await postTasks(caller, [task({ keyword: 'xkcdqwrt zzgrblk' })])
    assert.equal((await caller.get(readyPath)).tasks[0].result[0].id, posted.id)
    const envelope = await caller.get(`/v3/app_data/ios_store/app_searches/task_get/advanced/${posted.id}`)
    assert.equal(envelope.tasks_error, 1)
    assert.equal(envelope.tasks[0].status_code, 40102)
    assert.equal(envelope.tasks[0].result, null)
    assert.deepEqual((await caller.get(readyPath)).tasks[0].result, [])
  })

  for (const store of ['ios_store', 'android_store']) {
    test(`items of an ${store} search carry every field, and those not organic shift the absolute rank`, async (t) => {
      const caller = await openSandbox(t, { readyMs: 0 })
      const fields = `type rank_group rank_absolute position app_id title url icon reviews_count rating is_free price`
      const own = store === 'android_store' ? ['developer', 'developer_url'] : []
      const kinds = new Set<string>()
      for (const keyword of ['yoga', 'puzzle', 'budget', 'fitness', 'photo', 'free', 'math', 'running']) {
        const result = await measure(caller, { keyword, depth: 100 }, { store })
        const { items } = result
        const organic = items.filter((item: Json) => item.type === `${store}_search_organic`)
        const count = (length: number) => Array.from({ length }, (_, index) => index + 1)
        const ranks = (list: Json[], name: string) => list.map((item) => item[name])
        assert.deepEqual(ranks(organic, 'rank_group'), count(100))
        assert.deepEqual(ranks(items, 'rank_absolute'), count(items.length))
        assert.deepEqual(Object.keys(organic[0]), [...fields.split(' '), ...own])
        assert.equal(result.items_count, items.length)
        assert.ok(result.check_url.startsWith('https://'))
        const bytes = JSON.stringify(result).length
        assert.ok(bytes > 45_000 && bytes < 95_000, `${bytes} bytes`)
        for (const { type } of items) kinds.add(type.replace(`${store}_search_`, ''))
      }
      assert.deepEqual([...kinds].sort(), ['bundle', 'organic', 'paid'])
    })
  }

  test('the page of an app carries every field of the specification', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0 })
    const shared =
      `type rank_group rank_absolute position app_id title url icon reviews_count rating is_free price
      description main_category developer developer_id developer_url version minimum_os_version size released_date
      last_update_date update_notes images similar_apps more_apps_by_developer`.split(/\s+/)
    const own = {
      ios_store: ['categories', 'languages', 'advisories'],
      android_store:
        `installs installs_count developer_email developer_address developer_website videos genres
        tags`.split(/\s+/),
    }
    const ids = { ios_store: '1480010017', android_store: 'com.ashlune.yoga' }
    for (const store of ['ios_store', 'android_store'] as const) {
      const result = await measure(caller, { app_id: ids[store] }, { store, name: 'app_info' })
      const [item] = result.items
      assert.deepEqual(Object.keys(item), [...shared, ...own[store]])
      assert.equal(item.type, `${store}_info_organic`)
      assert.equal(item.title, 'Ashlune: Yoga for Everyone')
      assert.equal(item.rating.rating_type, 'Max5')
      assert.ok(item.similar_apps.length > 0)
    }
  })
})
