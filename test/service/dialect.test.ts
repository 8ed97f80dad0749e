import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dialectOf, pathOfUrl, readStoreNames } from '../../src/service/dialect.ts'
import { envelope, openClient, startWireServer } from './wire-server.ts'

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

test('where the service does not have a path as it is called, it says which and what to check', async (t) => {
  const missing = envelope([], { httpStatus: 404, status_code: 40400, status_message: 'Not Found.' })
  const { baseUrl } = await startWireServer(t, missing)
  await assert.rejects(
    openClient(t, baseUrl, { stores: AS_SOLD }).listLocations('android_store'),
    /GET \/v3\/app_data\/google\/locations failed: .*Check APP_DATA_URL and APP_DATA_STORES\.$/,
  )
})
