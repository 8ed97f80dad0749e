/** Rows of what happens to a task in time: its states, how long its result is kept, and its webhooks. */

import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { Options } from '../../src/sandbox/options.ts'
import { parseSearchResult } from '../../src/service/search-result.ts'
import { readPostback } from '../../src/service/task-result.ts'
import { DAY_MS, type Json, type Owner } from '../sandbox/caller.ts'
import { openReceiver, until } from '../sandbox/receiver.ts'
import { ASK } from './ask.ts'
import { bySide, covers, type Side } from './covers.ts'
import { byForm, inOurNames } from './form.ts'
import { AMPLE, postOne, postWire, type World } from './world.ts'

const SEARCH = '/v3/app_data/ios_store/app_searches'
const ADVANCED = `${SEARCH}/task_get/advanced`

/** What the service says of our API. */
const readStatus = async (world: World): Promise<string> =>
  (await world.get('/v3/appendix/status')).tasks[0].result.find(({ api }: Json) => api === 'app_data').status

// States

covers(
  'state.created',
  'posting answers 20100 and no result, and there is none to fetch',
  bySide(
    async (world, side) => {
      const { post, fetch, listReady } = ASK[side]
      const [{ id = '', said } = {}] = await post(world, [{}])
      assert.deepEqual([said, await listReady(world)], ['20100 Task Created.', []])
      assert.equal(await fetch(world, id), '40601')
    },
    { readyMs: 10_000 },
  ),
)
covers(
  'state.ready',
  'the task is listed as ready until it is fetched by its id',
  bySide(async (world, side) => {
    const { post, fetch, listReady } = ASK[side]
    const [{ id = '' } = {}] = await post(world, [{}])
    world.later()
    assert.deepEqual(await listReady(world), [id])
    assert.equal(await fetch(world, id), '20000')
    assert.deepEqual(await listReady(world), [])
  }, {}),
)
/** How long a failure is listed. */
const LISTED_MS = byForm(DAY_MS, 7 * DAY_MS)
covers(
  ['state.error', 'notes.failed_task_list'],
  'a task of 40000 and more is listed as failed for 24 hours, as it is sold for 7 days',
  bySide(
    async (world, side) => {
      const { post, fetch, listFailed } = ASK[side]
      const [{ id = '' } = {}] = await post(world, [{}])
      assert.match(await fetch(world, id), /^40101 /)
      world.clock.nowMs += LISTED_MS
      assert.deepEqual(await listFailed(world), [id])
      world.clock.nowMs += 1
      assert.deepEqual(await listFailed(world), [])
    },
    { faults: { storeError: 1 } },
  ),
)

// Retention

const KEPT = [
  ['retention.30_days_app_info_and_app_reviews_advanced', 30, 'ios_store', 'app_info', 'advanced'],
  ['retention.30_days_app_info_and_app_reviews_advanced', 30, 'android_store', 'app_info', 'advanced'],
  ['retention.30_days_app_info_and_app_reviews_advanced', 30, 'ios_store', 'app_reviews', 'advanced'],
  ['retention.7_days_html', 7, 'android_store', 'app_info', 'html'],
  ['retention.7_days_html', 7, 'android_store', 'app_list', 'html'],
  ['retention.7_days_html', 7, 'android_store', 'app_searches', 'html'],
  ['notes.retention_of_advanced_app_searches_and_app_list', 30, 'ios_store', 'app_searches', 'advanced'],
  ['notes.retention_of_advanced_app_searches_and_app_list', 30, 'android_store', 'app_searches', 'advanced'],
  ['notes.retention_of_advanced_app_searches_and_app_list', 30, 'android_store', 'app_list', 'advanced'],
] as const
const appOf = { ios_store: '1480010017', android_store: 'com.ashlune.yoga' }
const FIELD = {
  app_searches: 'keyword',
  app_list: 'app_collection',
  app_info: 'app_id',
  app_reviews: 'app_id',
} as const

for (const [row, days, store, fn, form] of KEPT) {
  const subject = fn === 'app_searches' ? 'yoga' : fn === 'app_list' ? 'topgrossing' : appOf[store]
  const check = async (world: World, side: Side) => {
    const task = { keyword: undefined, [FIELD[fn]]: subject }
    const [{ id = '' } = {}] = await ASK[side].post(world, [task], [store, fn])
    const fetchAfter = (ms: number) => {
      world.clock.nowMs += ms
      return ASK[side].fetch(world, id, [store, fn], form)
    }
    assert.equal(await fetchAfter(days * DAY_MS - 1), '20000')
    assert.equal(await fetchAfter(1), '40403 Results Expired.')
  }
  covers(
    [row, 'limits.result_retention', 'notes.asked_for_after_retention'],
    `${form} results of ${fn} in ${store} are kept for ${days} days`,
    bySide(check, {}),
  )
}

// Webhooks

type Hooked = { url: string; hook: 'pingback' | 'postback' }
/** Posts a task with a webhook whose tag and address want encoding, and gives its id. */
const postHooked = async (side: Side, world: World, { url, hook }: Hooked): Promise<string> => {
  const data = hook === 'postback' ? { postback_data: 'advanced' } : {}
  const [answer] = await ASK[side].post(world, [{ tag: 'a b&c', [`${hook}_url`]: url, ...data }])
  return answer?.id ?? ''
}

const checkPingback = async (world: World, side: Side, t: Owner) => {
  const receiver = await openReceiver(t)
  const url = `${receiver.url}/ü p/$id?t=$tag`
  const id = await postHooked(side, world, { url, hook: 'pingback' })
  assert.deepEqual(receiver.received, [], 'not before the task is done')
  world.clock.nowMs += 10_000
  await until(() => receiver.received.length > 0)
  const { method, path, body } = receiver.received[0] ?? ({} as Json)
  assert.deepEqual([method, path, body], ['GET', `/%C3%BC%20p/${id}?t=a%20b%26c`, undefined])
  world.later()
  assert.deepEqual(await ASK.fetch.listReady(world), [id], 'and the result waits')
}
const checkPostback = async (world: World, side: Side, t: Owner) => {
  const receiver = await openReceiver(t)
  const id = await postHooked(side, world, { url: `${receiver.url}/p?i=$id&t=$tag`, hook: 'postback' })
  await until(() => receiver.received.length > 0)
  const { method, path, headers, body } = receiver.received[0] ?? ({} as Json)
  assert.deepEqual([method, path], ['POST', `/p?i=${id}&t=a%20b%26c`])
  assert.equal(headers['content-encoding'], 'gzip')
  assert.deepEqual([body.tasks[0].id, body.tasks[0].data.tag], [id, 'a b&c'])
  assert.equal(body.tasks[0].result[0].keyword, 'yoga')
  return { id, body }
}

covers(
  ['event.pingback', 'task_post.pingback_url'],
  'is asked by GET on completion, with id and tag put in and special symbols encoded',
  bySide(checkPingback, { ...AMPLE, readyMs: 10_000 }),
)
covers(
  ['event.postback', 'task_post.postback_url', 'service.2'],
  'brings the result by POST on completion, gzip-compressed, with id and tag put in',
  bySide(checkPostback, AMPLE),
)
covers('notes.postback_body', 'is the envelope that task_get gives', {
  world: AMPLE,
  fetch: async (world, t) => {
    const { id, body } = await checkPostback(world, 'fetch', t)
    const withoutTime = (envelope: Json) =>
      JSON.parse(JSON.stringify(envelope, (key, value) => (key === 'time' ? undefined : value)))
    assert.deepEqual(withoutTime(inOurNames(body)), withoutTime(await world.get(`${ADVANCED}/${id}`)))
  },
  client: async (world, t) => {
    const { id, body } = await checkPostback(world, 'client', t)
    const json = Buffer.from(JSON.stringify(body))
    for (const bytes of [json, gzipSync(json)]) {
      const outcome = readPostback(bytes, id)
      assert.ok(outcome.kind === 'done')
      assert.deepEqual([outcome.tag, parseSearchResult(outcome.result).keyword], ['a b&c', 'yoga'])
    }
  },
})

const checkTimeout = async (world: World, side: Side, t: Owner) => {
  assert.equal(Options.parse({}).webhookTimeoutMs, 10_000)
  const receiver = await openReceiver(t)
  receiver.answer = () => {}
  const id = await postHooked(side, world, { url: `${receiver.url}/$id`, hook: 'postback' })
  world.later()
  await until(async () => (await ASK[side].listReady(world)).includes(id))
  const [failure] = await world.client.listFailedTasks({ filteredFunction: 'postback_url' })
  assert.deepEqual([failure?.id, failure?.httpCode], [id, 0])
  assert.ok((failure?.httpTime ?? 0) >= 0.05)
}
covers(
  ['rule.events.1', 'limits.webhook_timeout'],
  'a receiver that does not answer in time is cut off, and the task is listed as ready',
  bySide(checkTimeout, { ...AMPLE, webhookTimeoutMs: 50 }),
)
const checkResend = async (world: World, side: Side, t: Owner) => {
  const receiver = await openReceiver(t)
  receiver.answer = (response) => void response.writeHead(500).end()
  for (const hook of ['pingback', 'postback'] as const) {
    const id = await postHooked(side, world, { url: `${receiver.url}/${hook}`, hook })
    const failures = () => world.client.listFailedTasks({ filteredFunction: `${hook}_url` })
    await until(async () => (await failures()).some((each) => each.id === id))
    const before = receiver.received.length
    if (side === 'fetch') {
      const { cost, tasks } = await world.post('/v3/appendix/webhook_resend', [{ id }])
      assert.deepEqual([cost, tasks[0].status_code, tasks[0].cost, tasks[0].result], [0, 20100, 0, null])
    } else {
      const expected = { id, isResent: true, statusCode: 20100, message: 'Task Created.' }
      assert.deepEqual(await world.client.resendWebhooks([id]), [expected])
    }
    await until(() => receiver.received.length === before + 1)
    assert.deepEqual(receiver.received.at(-1)?.method, hook === 'pingback' ? 'GET' : 'POST')
  }
  assert.equal((await world.client.getUserData()).balanceMicros, 1_000_000 - 2 * 1200)
}
covers(
  [
    'rule.events.2',
    'webhook_resend.no_second_charge',
    'webhook_resend.status_20100',
    'webhook_resend.go_out_through_the_delivery_method',
  ],
  'what failed is listed under its kind, and sent again as it was, free of charge',
  bySide(checkResend, { ...AMPLE, balanceUsd: 1 }),
)
covers(
  ['webhook_resend.without_pingback_or_postback_40503', 'errors.40503'],
  'a task without webhook has none to send again',
  {
    fetch: async (world) => {
      const { id } = await postWire(world)
      const [task] = (await world.post('/v3/appendix/webhook_resend', [{ id }])).tasks
      const said = 'pingback or postback not supported in this function.'
      const soldSaid = 'POST Data Is Invalid. pingback/postback is not supported in this function.'
      assert.equal(`${task.status_code} ${task.status_message}`, `40503 ${byForm(said, soldSaid)}`)
    },
    client: async ({ client }) => {
      const [answer] = await client.resendWebhooks([await postOne(client)])
      assert.deepEqual([answer?.isResent, answer?.statusCode], [false, 40503])
    },
  },
)
const STRANGER = '00000000-0000-4000-8000-000000000000'
covers(
  ['webhook_resend.up_to_100_tasks', 'limits.ids_per_webhook_resend'],
  'a hundred ids of a call are looked at, each by itself, and those beyond refused',
  {
    world: {},
    fetch: async (world) => {
      const ids = Array.from({ length: 102 }, () => ({ id: STRANGER }))
      const { tasks } = await world.post('/v3/appendix/webhook_resend', ids)
      const codes = tasks.map((each: Json) => each.status_code)
      assert.deepEqual(codes, [...Array(100).fill(40401), 40006, 40006])
    },
    client: async ({ client }) => {
      await assert.rejects(client.resendWebhooks(Array(101).fill(STRANGER)), { code: 'configuration' })
      assert.equal((await client.resendWebhooks(Array(100).fill(STRANGER))).length, 100)
    },
  },
)
covers(
  'rule.events.3',
  'a webhook that waits is a delay of the status, and a delay of sending can be said',
  bySide(async (world, side, t) => {
    const receiver = await openReceiver(t)
    const said = async () => {
      if (side === 'fetch') return readStatus(world)
      const status = (await world.client.getStatus()).find(({ api }) => api === 'app_data')
      return status?.endpoints.find(({ endpoint }) => endpoint === 'postback/pingback')?.status
    }
    receiver.answer = () => {}
    await postHooked(side, world, { url: receiver.url, hook: 'pingback' })
    await until(() => receiver.received.length > 0)
    world.clock.nowMs += 61_000
    assert.equal(await said(), 'webhook_delay')
    await world.setFaults({ status: { 'postback/pingback': 'send_delay' } })
    assert.equal(await said(), 'send_delay')
  }, AMPLE),
)

covers('notes.after_a_delivered_postback', 'the task is off the ready list, and in no list of failures', {
  world: AMPLE,
  fetch: async (world, t) => {
    await checkPostback(world, 'fetch', t)
    await until(async () => (await readStatus(world)) === 'ok')
    assert.deepEqual(await ASK.fetch.listReady(world), [])
    assert.deepEqual((await world.post('/v3/app_data/errors', [{}])).tasks[0].result, [])
  },
  client: { file: 'test/collect/receiver.test.ts', test: 'never comes before the commit' },
})
covers('notes.webhooks_are_unsigned', 'nothing in a webhook proves who sent it', {
  world: AMPLE,
  fetch: async (world, t) => {
    const receiver = await openReceiver(t)
    await postHooked('fetch', world, { url: receiver.url, hook: 'pingback' })
    await until(() => receiver.received.length > 0)
    const names = Object.keys(receiver.received[0]?.headers ?? {})
    assert.deepEqual(
      names.filter((name) => /auth|sign|token|key/i.test(name)),
      [],
    )
  },
  client: {
    file: 'test/collect/receiver.test.ts',
    test: 'is answered alike whatever is wrong with it: 404 and nothing else',
  },
})
