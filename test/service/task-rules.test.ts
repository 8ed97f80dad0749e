import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'

import type { ServiceFunction, Store } from '../../src/service/functions.ts'
import { encodeKeyword } from '../../src/service/keyword.ts'
import type { TaskAnswer, TaskToPost } from '../../src/service/post-tasks.ts'
import { taskSchema } from '../../src/service/task-rules.ts'
import { type Answer, openClient, startWireServer } from './wire-server.ts'

const SEARCH: TaskToPost = { tag: 'a.1', subject: 'yoga', locationCode: 2840 }
const WEBHOOK = 'https://example.com/hook?id=$id&tag=$tag'

/** Creates every task that arrives. */
const createAll: Answer = ({ body }, response) => {
  const posted: Record<string, unknown>[] = JSON.parse(body)
  const tasks = posted.map((data) => ({ id: `id-${data.tag}`, status_code: 20100, cost: 0.0012, data }))
  response.end(JSON.stringify({ status_code: 20000, tasks }))
}

/** Posts tasks to a server that takes everything; shows the answers and what has arrived. */
async function post(t: TestContext, store: Store, fn: ServiceFunction, ...tasks: TaskToPost[]) {
  const server = await startWireServer(t, createAll)
  const client = openClient(t, server.baseUrl)
  const outcome = await client.postTasks(store, fn, tasks, { deadlineMs: performance.now() + 30_000 })
  assert.equal(outcome.kind, 'answered')
  const answers: readonly TaskAnswer[] = outcome.kind === 'answered' ? outcome.answers : []
  const sent: Record<string, unknown>[] = server.received.flatMap(({ body }) => JSON.parse(body))
  return { answers, sent, paths: server.received.map(({ path }) => path) }
}

describe('a task is posted with the fields of its function', () => {
  const base = { tag: 'a.1', location_code: 2840 }
  const task = { tag: 'a.1', locationCode: 2840 }
  const functions: [Store, ServiceFunction, Partial<TaskToPost>, Record<string, unknown>][] = [
    ['ios_store', 'app_searches', { subject: 'c++', depth: 700 }, { keyword: 'c%2B%2B', depth: 700 }],
    ['android_store', 'app_searches', { subject: 'yoga', depth: 200 }, { keyword: 'yoga', depth: 200 }],
    ['ios_store', 'app_info', { subject: '389801252' }, { app_id: '389801252' }],
    ['android_store', 'app_info', { subject: 'com.example' }, { app_id: 'com.example' }],
    ['ios_store', 'app_reviews', { subject: '389801252', depth: 500 }, { app_id: '389801252', depth: 500 }],
    [
      'android_store',
      'app_reviews',
      { subject: 'com.example', depth: 100_000, sortBy: 'newest', rating: 1 },
      { app_id: 'com.example', depth: 100_000, sort_by: 'newest', rating: 1 },
    ],
    [
      'ios_store',
      'app_list',
      { subject: 'top_free_ios', category: 'games', depth: 1000 },
      { app_collection: 'top_free_ios', app_category: 'games', depth: 1000 },
    ],
    [
      'android_store',
      'app_list',
      { subject: 'topselling_free', category: 'family', ageRating: 'ages_6_8', depth: 200 },
      { app_collection: 'topselling_free', app_category: 'family', age_rating: 'ages_6_8', depth: 200 },
    ],
  ]
  for (const [store, fn, fields, wire] of functions) {
    test(`${fn} of ${store}`, async (t) => {
      const { sent, paths } = await post(t, store, fn, { subject: '', ...task, ...fields })
      assert.deepEqual(sent, [{ ...base, ...wire }])
      assert.deepEqual(paths, [`/v3/app_data/${store}/${fn}/task_post`])
    })
  }

  test('and with everything that is optional', async (t) => {
    const { sent } = await post(t, 'android_store', 'app_searches', {
      tag: 'a.1',
      subject: 'yoga',
      locationName: 'London,England,United Kingdom',
      languageName: 'English',
      priority: 2,
      postbackUrl: WEBHOOK,
      postbackData: 'html',
      pingbackUrl: WEBHOOK,
    })
    assert.deepEqual(sent, [
      {
        keyword: 'yoga',
        location_name: 'London,England,United Kingdom',
        language_name: 'English',
        priority: 2,
        tag: 'a.1',
        postback_url: WEBHOOK,
        postback_data: 'html',
        pingback_url: WEBHOOK,
      },
    ])
  })
})

describe('a task that breaks a rule is not sent, and says', () => {
  const refused: [string, Partial<TaskToPost>, RegExp][] = [
    ['a keyword that is no text', { subject: 7 as never }, /keyword must be text.*; it is 7/],
    ['half a character', { subject: '\ud83e' }, /keyword must be text/],
    ['half a result', { depth: 1.5 }, /depth must be a whole number/],
    ['priority 3', { priority: 3 as never }, /priority must be 1 \(normal\) or 2 \(high\); it is 3/],
    ['an empty tag', { tag: '' }, /tag must be text of 1 to 255 characters/],
    ['a tag of 256 characters', { tag: 'x'.repeat(256) }, /tag must be text of 1 to 255 characters/],
    [
      'two ways to name the location',
      { locationName: 'United States' },
      /location_code or location_name must/,
    ],
    ['an unsupported country', { locationCode: 2643 }, /location_code must not be in Russia or Belarus/],
    [
      'two languages',
      { languageCode: 'en', languageName: 'English' },
      /language_code and language_name must not both be given/,
    ],
    [
      'a category of a search',
      { category: 'game' },
      /app_category must not be given, because app_searches of ios_store has/,
    ],
    ['a postback without its form', { postbackUrl: WEBHOOK }, /postback_data and postback_url must be given/],
    [
      'a webhook that is no URL',
      { pingbackUrl: 'ftp://example.com' },
      /pingback_url must be an http or https URL/,
    ],
  ]
  for (const [name, fields, message] of refused) {
    test(name, async (t) => {
      const good = { ...SEARCH, tag: 'good.1' }
      const { answers, sent } = await post(t, 'ios_store', 'app_searches', { ...SEARCH, ...fields }, good)
      assert.deepEqual(
        sent.map(({ tag }) => tag),
        ['good.1'],
      )
      const [bad, created] = answers
      assert.match(bad?.message ?? '', message)
      assert.deepEqual([bad?.serviceId, bad?.statusCode, bad?.costMicros], [null, 40501, 0])
      assert.deepEqual([created?.tag, created?.statusCode], ['good.1', 20100])
    })
  }

  test('no location at all, alone: then nothing is asked of the service', async (t) => {
    const { locationCode: _, ...nowhere } = SEARCH
    const { answers, paths } = await post(t, 'ios_store', 'app_searches', nowhere)
    assert.match(answers[0]?.message ?? '', /location_code or location_name must name the location/)
    assert.deepEqual(paths, [])
  })

  test('a location within an unsupported country, by name', async (t) => {
    for (const locationName of ['Belarus', 'Moscow,Russia', 'Minsk, belarus']) {
      const { locationCode: _, ...nowhere } = SEARCH
      const { answers } = await post(t, 'ios_store', 'app_searches', { ...nowhere, locationName })
      assert.match(answers[0]?.message ?? '', /location_name must not be in Russia or Belarus/)
    }
  })

  test('an age outside of family, an order of the other store, stars where there are none', async (t) => {
    const wrong: [Store, ServiceFunction, Partial<TaskToPost>, RegExp][] = [
      [
        'android_store',
        'app_list',
        { category: 'game', ageRating: 'ages_6_8' },
        /age_rating must be given with/,
      ],
      [
        'android_store',
        'app_list',
        { category: 'family', ageRating: 'ages_0' as never },
        /age_rating must be ages_up_to_5 or/,
      ],
      [
        'ios_store',
        'app_list',
        { category: 'family', ageRating: 'ages_6_8' },
        /app_list of ios_store has none/,
      ],
      [
        'ios_store',
        'app_reviews',
        { sortBy: 'newest' },
        /sort_by must be most_recent or most_helpful; it is "newest"/,
      ],
      ['android_store', 'app_reviews', { rating: 6 }, /rating must be a whole number from 1 to 5; it is 6/],
      [
        'ios_store',
        'app_reviews',
        { rating: 1 },
        /rating must not be given, because app_reviews of ios_store has/,
      ],
    ]
    for (const [store, fn, fields, message] of wrong) {
      const { answers, paths } = await post(t, store, fn, { ...SEARCH, ...fields })
      assert.match(answers[0]?.message ?? '', message)
      assert.deepEqual(paths, [])
    }
  })

  test('a depth above that of its own function', async (t) => {
    const depths: [Store, ServiceFunction, number, RegExp][] = [
      ['ios_store', 'app_list', 1001, /from 1 to 1000/],
      ['android_store', 'app_reviews', 100_001, /from 1 to 100000/],
    ]
    for (const [store, fn, depth, rule] of depths) {
      const { answers } = await post(t, store, fn, { ...SEARCH, depth })
      assert.match(answers[0]?.message ?? '', rule)
    }
  })
})

test('a keyword is measured as it is posted, in characters and not in bytes', () => {
  const schema = taskSchema('ios_store', 'app_searches')
  const keywords = fc.string({
    unit: fc.constantFrom('a', '%', '+', '🧘', 'é'),
    minLength: 1,
    maxLength: 750,
  })
  fc.assert(
    fc.property(keywords, (typed) => {
      const keyword = encodeKeyword(typed)
      const isFit = schema?.safeParse({ tag: 'a', location_code: 2840, keyword }).success
      assert.equal(isFit, [...keyword].length <= 700)
    }),
  )
})
