/**
 * Answers in the form of the service as it is sold, read by the client field by field. They belong to no part
 * of the project: they are read where they stand beside it.
 */

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { AppDataClient } from '../../src/service/client.ts'
import type { AnswerHead } from '../../src/service/transport.ts'
import { type Comparison, compareAnswer } from './compare-answer.ts'
import { openClient, plainBody, startWireServer } from './wire-server.ts'

const FOLDER = join(import.meta.dirname, '../../../shared/data/real')
const absent = !existsSync(FOLDER) && 'the answers do not stand beside the project'

// biome-ignore lint/suspicious/noExplicitAny: the answers of the wire are looked into by hand here.
type Json = any
type Call = (client: AppDataClient, id: string) => Promise<Json>

const seconds = (sent: string): number => Number(sent.replace(' sec.', ''))
const micros = (sent: number): number => Math.round(sent * 1_000_000)

/** The envelope, as the client tells of it. */
const HEAD: Comparison = {
  names: { status_message: 'message', time: 'timeSeconds', cost: 'costMicros' },
  values: { time: seconds, cost: micros },
  left: { tasks: 'compared by itself' },
}
/** What stands around a result. */
const TASK: Comparison = {
  names: { status_message: 'message', time: 'timeSeconds', cost: 'costMicros' },
  values: { time: seconds, cost: micros, path: (sent) => sent },
  left: { result: 'compared by itself' },
}
const NEVER: Comparison = {}
/** The rank among organic items is the rank. */
const RANKED: Comparison = {
  names: {
    se_results_count: 'resultsCount',
    'items[].rank_group': 'rank',
    'items[].rank_absolute': 'absolute',
  },
  // A count of 0 beside items says nothing.
  values: { se_results_count: (sent) => sent || null },
}
const CHART: Comparison = { ...RANKED, names: { ...RANKED.names, keyword: 'collection' } }

/** Results of tasks: one call for each, and what is otherwise there than in the names. */
const RESULTS: Readonly<Record<string, readonly [Call, Comparison]>> = {
  'apple.app_info.task_get.advanced': [(client, id) => client.getAppInfo('ios_store', id), NEVER],
  'google.app_info.task_get.advanced': [(client, id) => client.getAppInfo('android_store', id), NEVER],
  'apple.app_list.task_get.advanced': [(client, id) => client.getAppList('ios_store', id), CHART],
  'google.app_list.task_get.advanced': [(client, id) => client.getAppList('android_store', id), CHART],
  'apple.app_searches.task_get.advanced': [(client, id) => client.getAppSearches('ios_store', id), RANKED],
  'google.app_searches.task_get.advanced': [
    (client, id) => client.getAppSearches('android_store', id),
    RANKED,
  ],
  'apple.app_reviews.task_get.advanced': [(client, id) => client.getAppReviews('ios_store', id), NEVER],
  'google.app_reviews.task_get.advanced': [(client, id) => client.getAppReviews('android_store', id), NEVER],
  'google.app_searches.task_get.html': [(client, id) => client.getHtml('app_searches', id), NEVER],
  'task_get.no_results': [(client, id) => client.getAppSearches('ios_store', id), NEVER],
}

const OURS = { apple: 'ios_store', google: 'android_store' } as const
const pathInOurs = (sent: string): string =>
  sent
    .replace(/^https:\/\/[^/]+/, '')
    .replace(/(?<=app_data\/)(apple|google)/, (name) => OURS[name as 'apple'])
const READY: Comparison = {
  names: { '[].endpoint_advanced': 'path', '[].endpoint_html': 'htmlPath' },
  values: {
    '[].endpoint_advanced': pathInOurs,
    '[].endpoint_html': (sent) => (sent === null ? null : pathInOurs(sent)),
  },
}
const PLACES: Comparison = {}
const RANGE = { from: new Date('2026-11-25T12:00:00Z'), to: new Date('2026-11-25T13:30:00Z') }
const PAGE = { ...RANGE, offset: 0, limit: 1000, sort: 'asc', includeMetadata: true } as const

/** Lists: the call, and what is otherwise there than in the names. */
const LISTS: Readonly<Record<string, readonly [Call, Comparison]>> = {
  'app_data.errors': [(client) => client.listFailedTasks({}), NEVER],
  'app_data.id_list': [
    (client) => client.listTaskIds(PAGE),
    {
      names: { '[].cost': 'costMicros' },
      values: { '[].cost': micros, '[].url': pathInOurs, '[].metadata': (sent) => sent },
    },
  ],
  'appendix.errors': [(client) => client.listErrors(), NEVER],
  'appendix.status': [(client) => client.getStatus(), { values: { '[].endpoints': (sent) => sent ?? [] } }],
  'apple.app_listings.categories': [(client) => client.listListingCategories('ios_store'), NEVER],
  'google.app_listings.categories': [(client) => client.listListingCategories('android_store'), NEVER],
  'apple.app_searches.tasks_ready': [(client) => client.listReady('ios_store', 'app_searches'), READY],
  'google.app_searches.tasks_ready': [(client) => client.listReady('android_store', 'app_searches'), READY],
  'apple.languages': [(client) => client.listLanguages('ios_store'), NEVER],
  'google.languages': [(client) => client.listLanguages('android_store'), NEVER],
  'apple.locations': [(client) => client.listLocations('ios_store'), PLACES],
  'google.locations': [(client) => client.listLocations('android_store'), PLACES],
}

/** What is left of an answer: these have tests of their own. */
const OTHERS = [
  'app_data.id_list.refused',
  'appendix.user_data',
  'appendix.webhook_resend',
  'apple.app_searches.task_post',
  'apple.app_searches.task_post.refused',
  'apple.categories',
  'google.categories',
  'call.rate_limited',
  'call.unverified',
  'google.app_searches.tasks_ready.empty',
  'task_get.execution_failed',
  'task_get.expired',
  'task_get.pending',
  'task_get.store_failed',
]

const readAnswer = (name: string): Json => JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8'))

/** What the client makes of an answer, and of its envelope. */
const askFor = async (
  t: Parameters<typeof startWireServer>[0],
  name: string,
  call: Call,
): Promise<{ answer: Json; read: Json; head: AnswerHead | undefined }> => {
  const answer = readAnswer(name)
  const server = await startWireServer(t, plainBody(200, JSON.stringify(answer)))
  const heads: AnswerHead[] = []
  const client = openClient(t, server.baseUrl, {
    stores: { ios_store: 'apple', android_store: 'google' },
    onAnswer: (head) => heads.push(head),
  })
  return { answer, read: await call(client, answer.tasks?.[0]?.id ?? ''), head: heads[0] }
}

test('every answer that stands there is read', { skip: absent }, () => {
  const names = readdirSync(FOLDER).map((file) => file.replace(/\.json$/, ''))
  const read = [...Object.keys(RESULTS), ...Object.keys(LISTS), ...OTHERS]
  assert.deepEqual(read.sort(), names.sort())
})

for (const [name, [call, rules]] of Object.entries(RESULTS)) {
  test(`${name}: no field of the task and its result is lost`, { skip: absent }, async (t) => {
    const { answer, read, head } = await askFor(t, name, call)
    const [task] = answer.tasks
    compareAnswer(answer, head, HEAD)
    compareAnswer(task, read, TASK)
    if (task.result === null) assert.equal(read.result, null)
    else {
      compareAnswer(task.result[0], read.result, rules)
      assert.deepEqual(read.result.refused ?? [], [], 'no item is left out')
    }
  })
}
for (const [name, [call, rules]] of Object.entries(LISTS)) {
  test(`${name}: no field of a row is lost`, { skip: absent }, async (t) => {
    const { answer, read, head } = await askFor(t, name, call)
    compareAnswer(answer, head, HEAD)
    compareAnswer(answer.tasks[0].result, [...read], rules)
    assert.equal(read.dropped ?? 0, 0)
  })
}
for (const store of ['apple', 'google'] as const) {
  test(`${store}.categories: all of them are read`, { skip: absent }, async (t) => {
    const call: Call = (client) => client.listCategories(OURS[store])
    const { answer, read } = await askFor(t, `${store}.categories`, call)
    assert.deepEqual(read, answer.tasks[0].result[0].categories)
  })
}
test('google.app_searches.tasks_ready.empty: null is an empty list', { skip: absent }, async (t) => {
  const call: Call = (client) => client.listReady('android_store', 'app_searches')
  const { read } = await askFor(t, 'google.app_searches.tasks_ready.empty', call)
  assert.deepEqual([read.length, read.dropped], [0, 0])
})

// What is refused, and what has failed

const FETCH: Call = (client, id) => client.getAppSearches('ios_store', id)
const OUTCOMES: readonly (readonly [name: string, outcome: Json])[] = [
  ['task_get.pending', { kind: 'pending', statusCode: 40602 }],
  ['task_get.expired', { kind: 'failed', statusCode: 40403, message: 'Results Expired.' }],
  ['task_get.store_failed', { kind: 'failed', statusCode: 40101, message: 'Internal SE Server Error.' }],
  [
    'task_get.execution_failed',
    { kind: 'failed', statusCode: 40103, message: 'Task execution failed, please try to resubmit the task.' },
  ],
]
for (const [name, outcome] of OUTCOMES) {
  test(`${name}: the task has the outcome ${outcome.kind}`, { skip: absent }, async (t) => {
    assert.deepEqual((await askFor(t, name, FETCH)).read, outcome)
  })
}

const list: Call = (client) => client.listReady('ios_store', 'app_searches')
const REFUSALS: readonly (readonly [name: string, call: Call, error: Json])[] = [
  ['call.rate_limited', list, { code: 'rate_limited' }],
  ['call.unverified', list, { code: 'account', message: /Please verify your account before using the API/ }],
  [
    'app_data.id_list.refused',
    (client) => client.listTaskIds(PAGE),
    { code: 'rejected', statusCode: 40501, message: /datetime_to - must be earlier than present date/ },
  ],
]
for (const [name, call, error] of REFUSALS) {
  test(`${name}: the call is refused as ${error.code}`, { skip: absent }, async (t) => {
    await assert.rejects(askFor(t, name, call), error)
  })
}

// Posting

const send = (tag: string): Call => {
  const task = { tag, subject: 'vpn', locationCode: 2840, languageCode: 'en', depth: 200 }
  return (client) => client.postTasks('ios_store', 'app_searches', [task], { deadlineMs: Infinity })
}
test('apple.app_searches.task_post: the task is created, with its id and cost', {
  skip: absent,
}, async (t) => {
  const { answer, read, head } = await askFor(t, 'apple.app_searches.task_post', send('example-1'))
  const [{ id, status_code, status_message, cost, data }] = answer.tasks
  compareAnswer(answer, head, HEAD)
  assert.deepEqual(read.answers, [
    {
      tag: data.tag,
      serviceId: id,
      statusCode: status_code,
      message: status_message,
      costMicros: micros(cost),
    },
  ])
})
test('apple.app_searches.task_post.refused: the task is refused alone', { skip: absent }, async (t) => {
  const { answer, read } = await askFor(t, 'apple.app_searches.task_post.refused', send('example-2'))
  const [{ status_code, status_message }] = answer.tasks
  const [{ tag, statusCode, message, costMicros }] = read.answers
  assert.deepEqual([tag, statusCode, message, costMicros], ['example-2', status_code, status_message, 0])
})
test('appendix.webhook_resend: each id has its answer', { skip: absent }, async (t) => {
  const ids = readAnswer('appendix.webhook_resend').tasks.map(({ id }: Json) => id)
  const { answer, read } = await askFor(t, 'appendix.webhook_resend', (client) => client.resendWebhooks(ids))
  assert.deepEqual(
    read,
    answer.tasks.map(({ id, status_code, status_message }: Json) => ({
      id,
      isResent: status_code === 20100,
      statusCode: status_code,
      message: status_message,
    })),
  )
})
