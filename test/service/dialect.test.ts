import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dialectOf, pathOfUrl, readStoreNames } from '../../src/service/dialect.ts'
import { readPostedTask } from '../../src/service/task-ids.ts'
import { envelope, openClient, startWireServer, taskWith } from './wire-server.ts'

const AS_SOLD = { ios_store: 'apple', android_store: 'google' }

test('the hosts at which the service is sold need no setting, and others speak as specified', () => {
  const path = '/v3/app_data/ios_store/app_searches/task_post'
  const called = (url: string) => dialectOf(new URL(url)).toService(path)
  for (const host of ['api.dataforseo.com', 'api.dataforapps.com', 'sandbox.dataforseo.com'])
    assert.equal(called(`https://${host}`), '/v3/app_data/apple/app_searches/task_post')
  for (const host of ['api.example.com', 'api.dataforseo.com.example.com'])
    assert.equal(called(`https://${host}`), path)
})

test('only the segment of a store is renamed, and back again', () => {
  const { toService, toOurs } = dialectOf(new URL('https://api.example.com'), AS_SOLD)
  for (const [ours, theirs] of [
    ['/v3/app_data/ios_store/locations', '/v3/app_data/apple/locations'],
    ['/v3/app_data/android_store/locations/us', '/v3/app_data/google/locations/us'],
    [
      '/v3/app_data/ios_store/app_info/task_get/advanced/google',
      '/v3/app_data/apple/app_info/task_get/advanced/google',
    ],
    ['/v3/app_data/id_list', '/v3/app_data/id_list'],
    ['/v3/appendix/user_data', '/v3/appendix/user_data'],
    ['/v3/app_data/constructor/x', '/v3/app_data/constructor/x'],
  ] as const) {
    assert.deepEqual([toService(ours), toOurs(theirs)], [theirs, ours])
  }
  assert.equal(toOurs('/v3/app_data/ios_store/locations'), '/v3/app_data/ios_store/locations')
  assert.equal(pathOfUrl('https://api.dataforseo.com/v3/app_data/apple/x'), '/v3/app_data/apple/x')
  assert.equal(pathOfUrl('/v3/app_data/apple/x'), '/v3/app_data/apple/x')
})

test('names of the stores are two different segments of a path', () => {
  assert.deepEqual(readStoreNames('apple, google'), AS_SOLD)
  for (const wrong of ['', 'apple', 'apple,', 'apple,apple', 'a/b,google', 'apple,google,x'])
    assert.equal(readStoreNames(wrong), null)
})

test('a client speaks as the service is sold, and gives its answers in our words', async (t) => {
  const id = '11251302-1535-0432-0000-5f2a9c1d7e30'
  const path = `/v3/app_data/apple/app_searches/task_get/advanced/${id}`
  const metadata = { keyword: 'vpn', location_code: 2840, language_code: 'en', depth: 200, tag: 'a.1' }
  const listed = {
    id,
    url: 'https://api.dataforseo.com/v3/app_data/apple/app_searches/task_post',
    datetime_posted: '2026-11-25 13:02:11 +00:00',
    metadata: { ...metadata, se: 'apple' },
  }
  const server = await startWireServer(
    t,
    envelope([taskWith([{ id, se: 'apple', tag: 'a.1', endpoint_advanced: path, endpoint_html: null }])]),
    envelope([taskWith([{}], { id })]),
    envelope([taskWith([listed])]),
    envelope([{ id, status_code: 20100, cost: 0.0024, data: { tag: 'a.1' }, result: null }]),
    envelope([], { httpStatus: 404, status_code: 40400, status_message: 'Not Found.' }),
  )
  const client = openClient(t, server.baseUrl, { stores: AS_SOLD })
  const [row] = await client.listReady('ios_store', 'app_searches')
  assert.equal(row?.path, `/v3/app_data/ios_store/app_searches/task_get/advanced/${id}`)
  await client.getResult(row?.path ?? '')
  const to = new Date(Date.now() - 60_000)
  const query = { from: new Date(to.getTime() - 60_000), to, offset: 0, limit: 10, sort: 'asc' } as const
  const [task] = await client.listTaskIds({ ...query, includeMetadata: true })
  assert.equal(task?.url, '/v3/app_data/ios_store/app_searches/task_post')
  assert.deepEqual(
    [task && readPostedTask(task)?.store, task && readPostedTask(task)?.depth],
    ['ios_store', 200],
  )
  const posted = { tag: 'a.1', subject: 'vpn', locationCode: 2840, languageCode: 'en' }
  await client.postTasks('android_store', 'app_searches', [posted], {
    deadlineMs: performance.now() + 10_000,
  })
  await assert.rejects(
    client.listLocations('android_store'),
    /GET \/v3\/app_data\/google\/locations failed: .*Check APP_DATA_URL and APP_DATA_STORES\.$/,
  )
  assert.deepEqual(
    server.received.map((request) => request.path),
    [
      '/v3/app_data/apple/app_searches/tasks_ready',
      path,
      '/v3/app_data/id_list',
      '/v3/app_data/google/app_searches/task_post',
      '/v3/app_data/google/locations',
    ],
  )
})
