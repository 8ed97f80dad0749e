import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'

import type { ServiceFunction, Store } from '../../src/service/functions.ts'
import type { TaskAnswer } from '../../src/service/post-tasks.ts'
import { encodeKeyword } from '../../src/service/subject.ts'
import { type TaskToPost, taskSchema } from '../../src/service/task-rules.ts'
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

test('a task is posted with the fields of its function, and with everything that is optional', async (t) => {
  const task = { tag: 'a.1', subject: 'com.a+b%c', locationCode: 2840, depth: 200 }
  const reviews = await post(t, 'android_store', 'app_reviews', { ...task, sortBy: 'newest', rating: 1 })
  const place = { tag: 'a.1', location_code: 2840, depth: 200 }
  assert.deepEqual(reviews.sent, [{ ...place, app_id: 'com.a+b%c', sort_by: 'newest', rating: 1 }])
  assert.deepEqual(reviews.paths, ['/v3/app_data/android_store/app_reviews/task_post'])
  const family = { category: 'family', ageRating: 'ages_6_8', subject: 'top' } as const
  const charts = await post(t, 'android_store', 'app_list', { ...task, ...family })
  const chart = { app_collection: 'top', app_category: 'family', age_rating: 'ages_6_8' }
  assert.deepEqual(charts.sent, [{ ...place, ...chart }])
  const { sent } = await post(t, 'android_store', 'app_searches', {
    ...{ tag: 'a.1', subject: 'yoga', priority: 2 },
    ...{ locationName: 'London,England,United Kingdom', languageName: 'English' },
    ...{ postbackUrl: WEBHOOK, postbackData: 'html', pingbackUrl: WEBHOOK },
  })
  assert.deepEqual(sent, [
    {
      ...{ tag: 'a.1', keyword: 'yoga', priority: 2 },
      ...{ location_name: 'London,England,United Kingdom', language_name: 'English' },
      ...{ postback_url: WEBHOOK, postback_data: 'html', pingback_url: WEBHOOK },
    },
  ])
})

describe('a task that breaks a rule is not sent, and says', () => {
  const refused: [string, Partial<TaskToPost>, RegExp][] = [
    ['a keyword that is no text', { subject: 7 as never }, /keyword must be text.*; it is 7/],
    ['half a character', { subject: '\ud83e' }, /keyword must be text/],
    ['half a result', { depth: 1.5 }, /depth must be a whole number/],
    ['priority 3', { priority: 3 as never }, /priority must be 1 \(normal\) or 2 \(high\); it is 3/],
    ['an empty tag', { tag: '' }, /tag must be text of 1 to 255 characters/],
    ['a tag of 256 characters', { tag: 'x'.repeat(256) }, /tag must be text of 1 to 255 characters/],
    ['two locations', { locationName: 'United States' }, /location_code or location_name must/],
    ['an unsupported country', { locationCode: 2643 }, /location_code must not be in Russia or Belarus/],
    ['two languages', { languageCode: 'en', languageName: 'English' }, /and language_name must not both/],
    ['a category', { category: 'game' }, /app_category must not .* app_searches of ios_store has/],
    ['a postback without its form', { postbackUrl: WEBHOOK }, /postback_data and postback_url must be given/],
    ['no webhook', { pingbackUrl: 'ftp://example.com' }, /pingback_url must be an http or https URL/],
  ]
  for (const [name, fields, message] of refused) {
    test(name, async (t) => {
      const good = { ...SEARCH, tag: 'good.1' }
      const { answers, sent } = await post(t, 'ios_store', 'app_searches', { ...SEARCH, ...fields }, good)
      assert.deepEqual([sent.length, sent[0]?.tag], [1, 'good.1'])
      const [bad, created] = answers
      assert.match(bad?.message ?? '', message)
      assert.deepEqual([bad?.serviceId, bad?.statusCode, bad?.costMicros], [null, 40501, 0])
      assert.deepEqual([created?.tag, created?.statusCode], ['good.1', 20100])
    })
  }

  const { locationCode: _, ...nowhere } = SEARCH
  const family = { ...SEARCH, category: 'family' }
  const alone: [Store, ServiceFunction, TaskToPost, RegExp][] = [
    ['ios_store', 'app_searches', nowhere, /location_code or location_name must name the location/],
    ...['Belarus', 'Moscow,Russia', 'Minsk, belarus'].map(
      (locationName): [Store, ServiceFunction, TaskToPost, RegExp] => [
        'ios_store',
        'app_searches',
        { ...nowhere, locationName },
        /location_name must not be in Russia or Belarus/,
      ],
    ),
    [
      'android_store',
      'app_list',
      { ...family, category: 'game', ageRating: 'ages_6_8' },
      /must be given with/,
    ],
    ['android_store', 'app_list', { ...family, ageRating: 'ages_0' as never }, /must be ages_up_to_5 or/],
    ['ios_store', 'app_list', { ...family, ageRating: 'ages_6_8' }, /app_list of ios_store has none/],
    [
      'ios_store',
      'app_reviews',
      { ...SEARCH, sortBy: 'newest' },
      /most_recent or most_helpful; it is "newest"/,
    ],
    ['android_store', 'app_reviews', { ...SEARCH, rating: 6 }, /whole number from 1 to 5; it is 6/],
    ['ios_store', 'app_reviews', { ...SEARCH, rating: 1 }, /because app_reviews of ios_store has/],
    ['ios_store', 'app_list', { ...SEARCH, depth: 1001 }, /from 1 to 1000/],
    ['android_store', 'app_reviews', { ...SEARCH, depth: 100_001 }, /from 1 to 100000/],
  ]
  for (const [store, fn, task, message] of alone) {
    test(`alone, by ${message.source}: then nothing is asked of the service`, async (t) => {
      const { answers, paths } = await post(t, store, fn, task)
      assert.match(answers[0]?.message ?? '', message)
      assert.deepEqual(paths, [])
    })
  }
})

test('a keyword is measured as it is posted, in characters and not in bytes', () => {
  const schema = taskSchema('ios_store', 'app_searches')
  const unit = fc.constantFrom('a', '%', '+', '🧘', 'é')
  const keywords = fc.string({ unit, minLength: 1, maxLength: 750 })
  fc.assert(
    fc.property(keywords, (typed) => {
      const keyword = encodeKeyword(typed)
      const isFit = schema?.safeParse({ tag: 'a', location_code: 2840, keyword }).success
      assert.equal(isFit, [...keyword].length <= 700)
    }),
  )
})
