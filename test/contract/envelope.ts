/**
 * Rows of what surrounds every answer: the envelope, the task object, the echo of the parameters, the
 * version.
 */

import assert from 'node:assert/strict'
import type { AnswerHead } from '../../src/service/transport.ts'
import type { Json } from '../sandbox/caller.ts'
import { ASK } from './ask.ts'
import { bySide, covers, type Otherwise } from './covers.ts'
import { timestamp, whole } from './fields.ts'
import { byForm, camel } from './form.ts'
import { KINDS, type KindName, readingOf, sampleOf } from './samples.ts'
import { openSharedWorld, postAnswered, task, wireTask } from './world.ts'

const SEARCH_POST = '/v3/app_data/ios_store/app_searches/task_post'
/** Two tasks that are created, and between them one that breaks a rule. */
const WIRE_TASKS = [wireTask({ depth: 200 }), wireTask({ language_code: 'xx' }), wireTask()]
const TASKS = [task({ tag: 'a', depth: 200 }), task({ tag: 'b', languageCode: 'xx' }), task({ tag: 'c' })]

const postedEnvelope = async (): Promise<Json> => (await openSharedWorld()).post(SEARCH_POST, WIRE_TASKS)

const postedHead = async (): Promise<AnswerHead> => {
  const { client, heads } = await openSharedWorld()
  await postAnswered(client, TASKS)
  const head = heads.findLast(({ path }) => path === SEARCH_POST)
  assert.ok(head)
  return head
}

const check = (value: unknown, expected: unknown): void =>
  expected instanceof RegExp ? assert.match(String(value), expected) : assert.equal(value, expected)

/** A field of the envelope of a post of three tasks, on the wire and as the client tells of it. */
const coverHead = (
  row: string,
  sentence: string,
  sent: unknown,
  [read, heard = sent]: readonly [read: (head: AnswerHead) => unknown, heard?: unknown],
): void => {
  covers(`envelope.${row}`, sentence, {
    fetch: async () => check((await postedEnvelope())[row], sent),
    client: async () => check(read(await postedHead()), heard),
  })
}

coverHead('version', 'is that of the interface', /^\d+\.\d+\.\d{8}$/, [({ version }) => version])
coverHead('status_code', 'is that of the call, also when a task of it failed', 20000, [
  ({ statusCode }) => statusCode,
])
coverHead('status_message', 'belongs to the code of the call', 'Ok.', [({ message }) => message])
coverHead('time', 'is a number of seconds with its unit', /^\d+(\.\d+)? sec\.$/, [
  ({ timeSeconds }) => timeSeconds,
  /^\d+(\.\d+)?$/,
])
coverHead('cost', 'is the sum of the tasks, a refused one for nothing', 0.0036, [
  ({ costMicros }) => costMicros,
  3600,
])
coverHead('tasks_count', 'counts every task of the answer', 3, [({ tasksCount }) => tasksCount])
coverHead('tasks_error', 'counts those that failed', 1, [({ tasksError }) => tasksError])
covers(
  'envelope.tasks',
  'has one element for each task, in the order of posting',
  bySide(async (world, side) => {
    const answers = await ASK[side].post(world, [{}, { language_code: 'xx' }, {}])
    assert.deepEqual(
      answers.map(({ said }) => said.slice(0, 5)),
      ['20100', '40501', '20100'],
    )
  }),
)

const kindNames = Object.keys(KINDS) as KindName[]
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** A field of the task object of every kind of result, on the wire and as the client gives it. */
const coverTask = (
  field: string,
  sentence: string,
  fits: (sent: Json, name: KindName) => void,
  ours: string,
  otherwise: Otherwise = [],
): void => {
  const sides = {
    fetch: async () => {
      for (const name of kindNames) fits((await sampleOf(name)).task[field], name)
    },
    client: async () => {
      for (const name of kindNames) {
        assert.deepEqual((await readingOf(name))[ours], (await sampleOf(name)).task[field], name)
      }
    },
  }
  covers(`task.${field}`, sentence, sides, otherwise)
}

coverTask('id', 'is a UUID', (id) => assert.match(id, UUID), 'id')
coverTask('status_code', 'is within 10000 and 60000', (code) => assert.equal(code, 20000), 'statusCode')
coverTask('status_message', 'belongs to the code', (message) => assert.equal(message, 'Ok.'), 'message')
coverTask('cost', 'is nothing for fetching', (cost) => assert.equal(cost, 0), 'costMicros')
coverTask('result_count', 'is the number of results', (count) => assert.equal(count, 1), 'resultCount')
coverTask(
  'path',
  'is the path of the call in segments, the id at the end',
  (path, name) => {
    const { store, fn, form } = KINDS[name]
    assert.deepEqual(path.slice(0, -1), ['v3', 'app_data', store, fn, 'task_get', form])
    assert.match(path.at(-1), UUID)
  },
  'path',
  // The client gives it as the service does.
  { client: ['paths'] },
)
covers('task.time', 'is a number of seconds with its unit', {
  fetch: async () => {
    for (const name of kindNames) assert.match((await sampleOf(name)).task.time, /^\d+(\.\d+)? sec\.$/)
  },
  client: async () => {
    for (const name of kindNames) {
      const { timeSeconds } = await readingOf(name)
      assert.ok(timeSeconds >= 0 && timeSeconds < 60, name)
    }
  },
})
covers(
  'task.cost',
  'is what the task costs at posting, in dollars',
  bySide(async (world, side) => {
    const [answer] = await ASK[side].post(world, [{ depth: 200 }])
    assert.equal(answer?.cost, 2400)
  }),
)
covers('task.result', 'is null when the task was just created or failed, and a list otherwise', {
  fetch: async () => {
    const { posted, fetched } = await sampleOf('iosSearches')
    assert.equal(posted.tasks[0].result, null)
    assert.equal(posted.tasks[0].result_count, 0)
    assert.ok(Array.isArray(fetched.tasks[0].result))
    for (const { result } of (await postedEnvelope()).tasks) assert.equal(result, null)
  },
  client: async () => assert.equal((await readingOf('iosSearches')).result.keyword, 'yoga'),
})

/** What the service adds to the parameters of a task. */
const ADDED = {
  api: () => 'app_data',
  function: ({ fn }: (typeof KINDS)[KindName]) => fn,
  se: ({ store }: (typeof KINDS)[KindName]) => store,
  se_type: ({ fn }: (typeof KINDS)[KindName]) =>
    fn === 'app_searches' ? 'organic' : byForm<string>(fn, 'organic'),
  device: () => 'desktop',
  os: () => 'windows',
}
for (const [field, expect] of Object.entries(ADDED)) {
  covers(
    `task.data.${field}`,
    'is added by the service, at posting and at fetching',
    {
      fetch: async () => {
        for (const name of kindNames) {
          const { posted, task } = await sampleOf(name)
          const expected = expect(KINDS[name])
          assert.deepEqual([posted.tasks[0].data[field], task.data[field]], [expected, expected], name)
        }
      },
      client: async () => {
        for (const name of kindNames) {
          assert.equal((await readingOf(name)).data[camel(field)], expect(KINDS[name]), name)
        }
      },
    },
    field === 'se' ? { client: ['paths'] } : [],
  )
}
covers('task.data.tag', 'is the tag given at posting', {
  fetch: async () => {
    for (const name of kindNames) {
      const { posted, task } = await sampleOf(name)
      assert.deepEqual([posted.tasks[0].data.tag, task.data.tag], [`tag of ${name}`, `tag of ${name}`])
    }
  },
  client: async () => {
    for (const name of kindNames) assert.equal((await readingOf(name)).data.tag, `tag of ${name}`)
  },
})
covers(
  'task.data.tag',
  'is not there when none was given, and the parameters come back as they were posted',
  {
    fetch: async (world) => {
      const { tasks } = await world.post(SEARCH_POST, [wireTask({ priority: 2, extra: 'x' })])
      const { tag, priority, extra } = tasks[0].data
      assert.deepEqual({ tag, priority, extra }, { tag: undefined, priority: 2, extra: 'x' })
    },
    client: { because: 'The client posts no task without a tag: it is how answers are matched.' },
  },
)

/** Which parameters each function echoes, with the values posted for its samples. */
const ECHOED: Record<string, readonly [name: KindName, fields: Record<string, unknown>]> = {
  app_info: ['androidInfo', { app_id: 'com.ivleaf.hatha31', location_code: 2840, language_code: 'en' }],
  app_list: [
    'androidList',
    {
      app_collection: 'topselling_free',
      app_category: 'game',
      location_code: 2840,
      language_code: 'en',
      depth: 50,
    },
  ],
  app_searches: ['iosSearches', { keyword: 'yoga', location_code: 2840, language_code: 'en', depth: 60 }],
  app_reviews: ['iosReviews', { app_id: '1480010017', location_code: 2840, language_code: 'en', depth: 20 }],
}
for (const [fn, [name, fields]] of Object.entries(ECHOED)) {
  for (const [field, value] of Object.entries(fields)) {
    covers(`echo.${fn}.${field}`, `comes back as ${typeof value === 'number' ? 'a number' : 'text'}`, {
      fetch: async () => {
        const { posted, task } = await sampleOf(name)
        assert.deepEqual([posted.tasks[0].data[field], task.data[field]], [value, value])
      },
      client: async () => assert.equal((await readingOf(name)).data[camel(field)], value),
    })
  }
}
for (const [field, value] of Object.entries({ location_code: 2276, language_code: 'de', depth: 100 })) {
  covers(`echo.app_searches.${field}`, 'is filled in where the task named it in words or left it out', {
    fetch: async (world) => {
      const named = { keyword: 'yoga', location_name: 'Germany', language_name: 'German' }
      const { tasks } = await world.post(SEARCH_POST, [named])
      assert.equal(tasks[0].data[field], value)
    },
    client: async ({ client }) => {
      const named = { tag: 'named', subject: 'yoga', locationName: 'Germany', languageName: 'German' }
      const [answer] = await postAnswered(client, [named])
      const outcome = await client.getAppSearches('ios_store', answer?.serviceId ?? '')
      assert.ok(outcome.kind === 'done')
      assert.equal(outcome.data[camel(field) as 'depth'], value)
      assert.equal(outcome.data.locationName, 'Germany')
    },
  })
}

covers('statement.timestamps_are_utc', 'whatever the time zone of the machine', {
  world: {},
  fetch: async (world) => {
    world.clock.nowMs = Date.UTC(2026, 6, 1, 23, 59, 59, 999)
    await world.post(SEARCH_POST, [wireTask()])
    world.later()
    const { tasks } = await world.get('/v3/app_data/ios_store/app_searches/tasks_ready')
    assert.equal(tasks[0].result[0].date_posted, '2026-07-01 23:59:59 +00:00')
    assert.ok(timestamp.fits((await sampleOf('iosSearches')).result.datetime))
  },
  client: async ({ client, clock, later }) => {
    clock.nowMs = Date.UTC(2026, 6, 1, 23, 59, 59, 999)
    await postAnswered(client, [task()])
    later()
    const [row] = await client.listReady('ios_store', 'app_searches')
    assert.deepEqual(row?.datePosted, new Date('2026-07-01T23:59:59Z'))
  },
})

covers('versioning.1', 'what does not begin with the prefix is no endpoint', {
  fetch: async (world) => {
    assert.equal((await world.fetch('/appendix/errors')).status, 404)
    assert.equal((await world.fetch('/v2/appendix/errors')).status, 404)
  },
  client: async ({ client, heads }) => {
    await client.listErrors()
    assert.ok(heads.every(({ path }) => path.startsWith('/v3/')))
    await assert.rejects(client.getResult('/v2/app_data/x'), { code: 'rejected' })
  },
})
covers('versioning.2', 'every answer carries the version, also one that is refused', {
  fetch: async (world) => {
    const paths = ['/v3/appendix/errors', '/v3/nothing', '/v3/app_data/ios_store/categories']
    const versions = await Promise.all(paths.map(async (path) => (await world.get(path)).version))
    for (const version of versions)
      assert.match(version, /^\d+\.\d+\.(20\d\d)(0[1-9]|1[0-2])([0-2]\d|3[01])$/)
  },
  client: async ({ client, heads }) => {
    await client.listErrors()
    assert.match(heads.at(-1)?.version ?? '', /^\d+\.\d+\.\d{8}$/)
    assert.ok(whole.fits(heads.at(-1)?.statusCode))
  },
})
covers('versioning.3', 'nothing is promised', {
  fetch: { because: 'The specification shows no policy.' },
  client: { because: 'The specification shows no policy.' },
})
