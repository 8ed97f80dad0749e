import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { AccountError } from '../../src/errors.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import {
  billingUnits,
  FUNCTION_RULES,
  type ServiceFunction,
  type Store,
} from '../../src/service/functions.ts'
import type { TaskAnswer, TaskToPost } from '../../src/service/post-tasks.ts'
import { parseInfoResult, parseSearchResult } from '../../src/service/results.ts'
import { openClient, plainBody, startWireServer } from './wire-server.ts'

const KEYWORDS = ['yoga', 'c++', '100% free', '3+ math', 'naïve', '日本語', '🧘', '%2B', 'a%20b']
const STORES: Store[] = ['ios_store', 'android_store']

function task(tag: string, subject: string, fields: Partial<TaskToPost> = {}): TaskToPost {
  return { tag, subject, locationCode: 2840, languageCode: 'en', priority: 1, ...fields }
}

function soon() {
  return { deadlineMs: performance.now() + 30_000 }
}

async function startService(t: TestContext, options: Parameters<typeof startSandbox>[0] = {}) {
  const sandbox = await startSandbox({ readyMs: 0, ...options })
  const client = openClient(t, sandbox.url, { login: 'sandbox', password: 'sandbox' })
  t.after(async () => {
    await client.close()
    await sandbox.close()
  })
  return { sandbox, client }
}

async function post(
  client: AppDataClient,
  store: Store,
  fn: ServiceFunction,
  tasks: TaskToPost[],
): Promise<readonly TaskAnswer[]> {
  const outcome = await client.postTasks(store, fn, tasks, soon())
  assert.equal(outcome.kind, 'answered')
  return outcome.kind === 'answered' ? outcome.answers : []
}

/** Asks until the answer is as awaited; the service does some things in its own time. */
async function until<T>(askFor: () => Promise<T>, isAwaited: (value: T) => boolean): Promise<T> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    const value = await askFor()
    if (isAwaited(value)) return value
    await delay(25)
  }
  throw new Error('The service never came to it.')
}

describe('the client and the sandbox agree', () => {
  for (const store of STORES) {
    test(`on searches of ${store}, from the post to the ranks`, async (t) => {
      const { client } = await startService(t)
      const answers = await post(
        client,
        store,
        'app_searches',
        KEYWORDS.map((keyword, index) => task(`k${index}.1`, keyword)),
      )
      const { defaultDepth, unitCostMicros } = FUNCTION_RULES[store].app_searches
      const estimateMicros = billingUnits(store, 'app_searches', defaultDepth ?? 0) * unitCostMicros
      assert.deepEqual(
        answers.map(({ tag, statusCode, costMicros }) => [tag, statusCode, costMicros]),
        KEYWORDS.map((_, index) => [`k${index}.1`, 20100, estimateMicros]),
      )
      const ready = await client.listReady(store, 'app_searches')
      assert.equal(ready.dropped, 0)
      assert.deepEqual(ready.map(({ tag }) => tag).toSorted(), answers.map(({ tag }) => tag).toSorted())
      for (const row of ready) {
        const outcome = await client.getResult(row.path)
        assert.equal(outcome.kind, 'done')
        if (outcome.kind !== 'done' || outcome.statusCode === 40102) continue
        assert.equal(outcome.tag, row.tag)
        const search = parseSearchResult(outcome.result)
        assert.equal(search.keyword, KEYWORDS[Number(row.tag?.slice(1, -2))])
        assert.deepEqual(
          search.items.map(({ rank }) => rank),
          search.items.map((_, index) => index + 1),
        )
      }
    })

    test(`on app details of ${store}`, async (t) => {
      const { client } = await startService(t)
      const [searched] = await post(client, store, 'app_searches', [task('s.1', 'yoga')])
      const id = searched?.serviceId ?? ''
      const search = await client.getResult({ store, fn: 'app_searches', id })
      assert.equal(search.kind, 'done')
      const appId = search.kind === 'done' ? (parseSearchResult(search.result).items[0]?.appId ?? '') : ''
      const [asked] = await post(client, store, 'app_info', [task('i.1', appId, { priority: 2 })])
      assert.equal(asked?.costMicros, FUNCTION_RULES[store].app_info.unitCostMicros * 2)
      const info = await client.getResult({ store, fn: 'app_info', id: asked?.serviceId ?? '' })
      assert.equal(info.kind, 'done')
      assert.equal(info.kind === 'done' && parseInfoResult(info.result).appId, appId)
    })

    test(`on the references of ${store}`, async (t) => {
      const { client } = await startService(t)
      const locations = await client.listLocations(store)
      assert.ok(locations.some(({ locationCode }) => locationCode === 2840))
      assert.ok((await client.listLanguages(store)).some(({ languageCode }) => languageCode === 'en'))
      assert.ok((await client.listCategories(store)).includes('health_and_fitness'))
    })
  }

  test('on everything that a search holds', async (t) => {
    const { client } = await startService(t)
    for (const store of STORES) {
      const [posted] = await post(client, store, 'app_searches', [task('s.1', 'yoga', { depth: 20 })])
      const search = await client.getAppSearches(store, posted?.serviceId ?? '')
      assert.ok(search.kind === 'done' && search.result !== null)
      const { items, keyword, locationCode, languageCode, seDomain } = search.result
      assert.deepEqual([items.length, keyword, locationCode, languageCode], [20, 'yoga', 2840, 'en'])
      assert.ok(seDomain !== null && items.every(({ rating, price }) => rating !== null && price !== null))
      assert.deepEqual([search.data.se, search.data.tag, search.data.depth], [store, 's.1', 20])
    }
  })

  test('on the apps of a collection', async (t) => {
    const { client } = await startService(t)
    const list = task('l.1', 'topselling_free', { category: 'game', depth: 50 })
    const [posted] = await post(client, 'android_store', 'app_list', [list])
    assert.deepEqual([posted?.statusCode, posted?.costMicros], [20100, 1200])
    const [ready] = await client.listReady('android_store', 'app_list')
    assert.equal(ready?.id, posted?.serviceId)
    const apps = await client.getAppList(posted?.serviceId ?? '')
    assert.ok(apps.kind === 'done' && apps.result !== null)
    assert.equal(apps.result.collection, 'topselling_free')
    assert.equal(apps.data.appCategory, 'game')
    assert.ok(apps.result.items.length > 0 && apps.result.items[0]?.rank === 1)
  })

  test('on the reviews of an app', async (t) => {
    const { client } = await startService(t)
    const [searched] = await post(client, 'ios_store', 'app_searches', [task('s.1', 'yoga')])
    const search = await client.getAppSearches('ios_store', searched?.serviceId ?? '')
    const appId = search.kind === 'done' ? (search.result?.items[0]?.appId ?? '') : ''
    const [posted] = await post(client, 'ios_store', 'app_reviews', [task('r.1', appId, { depth: 60 })])
    assert.deepEqual([posted?.statusCode, posted?.costMicros], [20100, 1500])
    const [ready] = await client.listReady('ios_store', 'app_reviews')
    assert.equal(ready?.tag, 'r.1')
    const reviews = await client.getAppReviews(posted?.serviceId ?? '')
    assert.ok(reviews.kind === 'done' && reviews.result !== null)
    assert.equal(reviews.result.appId, appId)
    assert.ok(reviews.result.items.every(({ id, reviewText }) => id !== '' && reviewText !== null))
  })

  test('on the raw pages of every function of android_store', async (t) => {
    const { client } = await startService(t)
    const [searched] = await post(client, 'android_store', 'app_searches', [task('s.1', 'yoga')])
    const searchId = searched?.serviceId ?? ''
    const search = await client.getAppSearches('android_store', searchId)
    const appId = search.kind === 'done' ? (search.result?.items[0]?.appId ?? '') : ''
    const [asked] = await post(client, 'android_store', 'app_info', [task('i.1', appId)])
    const [listed] = await post(client, 'android_store', 'app_list', [task('l.1', 'topselling_free')])
    const tasks = [
      ['app_searches', searchId, 'keyword', 'yoga'],
      ['app_info', asked?.serviceId ?? '', 'appId', appId],
      ['app_list', listed?.serviceId ?? '', 'keyword', 'topselling_free'],
    ] as const
    for (const [fn, id, field, subject] of tasks) {
      const pages = await client.getHtml(fn, id)
      assert.ok(pages.kind === 'done' && pages.result !== null)
      assert.equal(pages.result[field], subject)
      assert.match(pages.result.items[0]?.html ?? '', /</)
    }
  })

  test('on the categories of listings, on failures, and on webhooks that were never asked for', async (t) => {
    const { client } = await startService(t)
    assert.ok(
      (await client.listListingCategories()).every(({ category, count }) => category !== '' && count > 0),
    )
    assert.deepEqual(await client.listFailedTasks({}), [])
    const [posted] = await post(client, 'ios_store', 'app_searches', [task('a.1', 'yoga')])
    const [answer] = await client.resendWebhooks([posted?.serviceId ?? ''])
    assert.deepEqual([answer?.id, answer?.isResent, answer?.statusCode], [posted?.serviceId, false, 40503])
  })

  test('on a postback that nobody takes: it is listed as failed, and sent again on request', async (t) => {
    const hook = await startWireServer(t, plainBody(500, 'no'), plainBody(200, 'ok'))
    const { client } = await startService(t)
    const fields = { postbackUrl: `${hook.baseUrl}/hook?id=$id&tag=$tag`, postbackData: 'advanced' } as const
    const [posted] = await post(client, 'ios_store', 'app_searches', [task('a.1', 'yoga', fields)])
    const id = posted?.serviceId ?? ''
    const failed = await until(
      () => client.listFailedTasks({ filteredFunction: 'postback_url' }),
      (rows) => rows.length > 0,
    )
    assert.deepEqual([failed[0]?.id, failed[0]?.httpCode, failed[0]?.httpMethod], [id, 500, 'POST'])
    assert.equal((await client.listReady('ios_store', 'app_searches'))[0]?.id, id)
    const [answer] = await client.resendWebhooks([id])
    assert.equal(answer?.isResent, true)
    await until(
      async () => hook.received,
      (received) => received.length === 2,
    )
    assert.equal(hook.received[1]?.path, `/hook?id=${id}&tag=a.1`)
  })

  test('on a task that fails beside others that are created', async (t) => {
    const { client } = await startService(t)
    const answers = await post(client, 'ios_store', 'app_searches', [
      task('good.1', 'yoga'),
      task('bad.1', 'yoga', { locationCode: 9_999_999 }),
    ])
    const bad = answers.find(({ tag }) => tag === 'bad.1')
    assert.equal(bad?.statusCode, 40501)
    assert.match(bad?.message ?? '', /location_code/)
    assert.equal(answers.find(({ tag }) => tag === 'good.1')?.statusCode, 20100)
  })

  test('on the history of tasks with their tags', async (t) => {
    const { client } = await startService(t)
    const answers = await post(client, 'ios_store', 'app_searches', [
      task('a.1', 'yoga'),
      task('b.1', 'chess'),
    ])
    const nowMs = Date.now()
    const rows = await client.listTaskIds({
      from: new Date(nowMs - 60_000),
      to: new Date(nowMs),
      offset: 0,
      limit: 1000,
      includeMetadata: true,
      sort: 'asc',
    })
    assert.deepEqual(
      rows.map(({ id, tag }) => [id, tag]).toSorted(),
      answers.map(({ serviceId, tag }) => [serviceId, tag]).toSorted(),
    )
  })

  test('on a task that is not ready, and on one that never was', async (t) => {
    const { client } = await startService(t, { readyMs: 3_600_000 })
    const [answer] = await post(client, 'ios_store', 'app_searches', [task('a.1', 'yoga')])
    const address = { store: 'ios_store', fn: 'app_searches' } as const
    assert.equal((await client.getResult({ ...address, id: answer?.serviceId ?? '' })).kind, 'pending')
    const unknown = await client.getResult({ ...address, id: '00000000-0000-4000-8000-000000000000' })
    assert.equal(unknown.kind === 'failed' && unknown.statusCode, 40401)
  })

  test('on the account, its prices, the health and the codes', async (t) => {
    const { client } = await startService(t, { balanceUsd: 7 })
    const account = await client.getUserData()
    assert.equal(account.balanceMicros, 7_000_000)
    assert.equal(account.pricePerUnitMicros('app_searches', 1), 1200)
    assert.equal(account.pricePerUnitMicros('app_info', 2), 1200)
    assert.ok((await client.getStatus()).some(({ api }) => api === 'app_data'))
    assert.ok((await client.listErrors()).some(({ code }) => code === 40102))
  })

  test('on a wrong password', async (t) => {
    const { sandbox } = await startService(t)
    const stranger = openClient(t, sandbox.url, { password: 'wrong' })
    await assert.rejects(stranger.getUserData(), AccountError)
    const outcome = await stranger.postTasks('ios_store', 'app_searches', [task('a.1', 'yoga')], soon())
    assert.equal(outcome.kind === 'refused' && outcome.cause, 'account')
  })

  test('on an empty purse', async (t) => {
    const { client } = await startService(t, { balanceUsd: 0.0012 })
    const answers = await post(client, 'ios_store', 'app_searches', [
      task('a.1', 'yoga'),
      task('b.1', 'chess'),
    ])
    assert.deepEqual(
      answers.map(({ statusCode, costMicros }) => [statusCode, costMicros]),
      [
        [20100, 1200],
        [40210, 0],
      ],
    )
  })
})
