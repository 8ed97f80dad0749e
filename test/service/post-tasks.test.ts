import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { describe, type TestContext, test } from 'node:test'

import { ConfigurationError } from '../../src/errors.ts'
import type { TaskToPost } from '../../src/service/task-rules.ts'
import {
  type Answer,
  envelope,
  halfBody,
  openClient,
  plainBody,
  reset,
  stall,
  startWireServer,
  testClock,
} from './wire-server.ts'

const TASK: TaskToPost = { tag: 'a.1', subject: 'yoga', locationCode: 2840, depth: 100 }
const SEARCHES = ['ios_store', 'app_searches'] as const

function soon() {
  return { deadlineMs: performance.now() + 30_000 }
}

function created(tag: string, fields: Record<string, unknown> = {}) {
  const said = { status_code: 20100, status_message: 'Task Created.', cost: 0.0012 }
  return { id: `id-${tag}`, ...said, data: { tag }, result: null, ...fields }
}

/** Posts one task to a server that answers so, and shows what the client made of it. */
async function postTo(t: TestContext, answer: Answer, timeoutMs = 5_000) {
  const server = await startWireServer(t, answer)
  const client = openClient(t, server.baseUrl, { timeoutMs })
  const outcome = await client.postTasks(...SEARCHES, [TASK], soon())
  return { outcome, server }
}

describe('what is posted', () => {
  test('a search is one array element, its keyword encoded, the credentials in the header', async (t) => {
    const server = await startWireServer(t, envelope([created('a.1')]))
    const client = openClient(t, `${server.baseUrl}/behind/a/prefix/`)
    await client.postTasks(...SEARCHES, [{ ...TASK, subject: '100% c++', priority: 2 }], soon())
    const [request] = server.received
    assert.equal(request?.path, '/behind/a/prefix/v3/app_data/ios_store/app_searches/task_post')
    const sent = { keyword: '100%25 c%2B%2B', depth: 100, location_code: 2840, priority: 2, tag: 'a.1' }
    assert.deepEqual(JSON.parse(request?.body ?? ''), [sent])
    assert.equal(request?.headers.authorization, `Basic ${btoa('me:secret')}`)
    assert.equal(request?.headers['content-length'], String(Buffer.byteLength(request?.body ?? '')))
    assert.match(request?.headers['user-agent'] ?? '', /^storerank\/\d+\.\d+\.\d+$/)
  })

  test('more tasks than a POST takes are a mistake of the caller', async (t) => {
    const client = openClient(t, 'http://127.0.0.1:9')
    const tasks = Array.from({ length: 101 }, (_, index) => ({ ...TASK, tag: `t${index}.1` }))
    for (const refused of [tasks, [], [TASK, TASK]]) {
      await assert.rejects(client.postTasks(...SEARCHES, refused, soon()), ConfigurationError)
    }
    await assert.rejects(
      client.postTasks('ios_store', 'app_books' as never, [TASK], soon()),
      /ios_store has no app_books/,
    )
  })
})

describe('an answered POST', () => {
  test('gives each answer by its own tag, whatever their order', async (t) => {
    const message = "Invalid Field: 'depth'."
    const refused = created('b.1', { status_code: '40501', status_message: message, cost: 0 })
    const twice = created('a.1', { id: 'another' })
    const { outcome } = await postTo(t, envelope([refused, created('a.1'), twice]))
    const taken = { tag: 'a.1', statusCode: 20100, message: 'Task Created.', costMicros: 1200 }
    const answers = [
      { tag: 'b.1', serviceId: 'id-b.1', statusCode: 40501, message, costMicros: 0 },
      { ...taken, serviceId: 'id-a.1' },
      { ...taken, serviceId: 'another' },
    ]
    assert.deepEqual(outcome, { kind: 'answered', httpStatus: 200, statusCode: 20000, answers })
  })

  test('leaves out what settles nothing: no tag, no status, created without an id or a cost', async (t) => {
    const lacking = [{ data: {} }, { data: null }, { status_code: null }, { id: null }, { cost: 'free' }]
    const settlesNothing = [...lacking.map((fields) => created('x', fields)), null, 'text']
    const { outcome } = await postTo(t, envelope([...settlesNothing, created('a.1')]))
    assert.deepEqual(outcome.kind === 'answered' && outcome.answers.map((answer) => answer.tag), ['a.1'])
  })

  test('is read task by task when a refusal of the whole call lists a created task', async (t) => {
    const { outcome } = await postTo(t, envelope([created('a.1')], { status_code: 40210 }))
    assert.equal(outcome.kind, 'answered')
  })
})

describe('a POST is refused, which proves that nothing was created,', () => {
  const refusals = [
    [plainBody(401, 'no'), 'account', 40100],
    [plainBody(402, ''), 'money', 40200],
    [plainBody(404, '<html>'), 'not_found', 40400],
    [envelope(null, { httpStatus: 401, status_code: 40100 }), 'account', 40100],
    [envelope(null, { status_code: 40104 }), 'account', 40104],
    [envelope(null, { status_code: 40203 }), 'money', 40203],
    [envelope(null, { status_code: 40210 }), 'money', 40210],
    [envelope(null, { status_code: 40202 }), 'rate_limit', 40202],
    [envelope(null, { status_code: 40209 }), 'rate_limit', 40209],
  ] as const
  for (const [index, [answer, cause, statusCode]] of refusals.entries()) {
    test(`for ${cause} by ${statusCode} (${index + 1})`, async (t) => {
      const { outcome, server } = await postTo(t, answer)
      assert.partialDeepStrictEqual(outcome, { kind: 'refused', cause, statusCode })
      assert.equal(server.received.length, 1)
    })
  }

  test('with the pause that the service asks for', async (t) => {
    const tooMany: Answer = (request, response, socket) => {
      response.setHeader('retry-after', '7')
      envelope(null, { status_code: 40202 })(request, response, socket)
    }
    const { outcome } = await postTo(t, tooMany)
    assert.equal(outcome.kind === 'refused' && outcome.retryAfterMs, 7000)
  })
})

describe('a POST is unknown, and sent once only,', () => {
  const doubts: [string, Answer][] = [
    ['when the connection is reset after the body was read', reset],
    ['when the body stops half-way', halfBody],
    ['when the body is not JSON', plainBody(200, '<html>Gateway</html>')],
    ['when the body is JSON but no envelope', plainBody(200, '[]')],
    ['when the server fails', plainBody(500, 'oops')],
    ['when a failing server lists created tasks', envelope([created('a.1')], { httpStatus: 500 })],
    ...[401, 402, 404].map((httpStatus): [string, Answer] => [
      `when HTTP ${httpStatus} lists created tasks`,
      envelope([created('a.1')], { httpStatus }),
    ]),
    [
      'when HTTP 402 lists a done task',
      envelope([created('a.1', { status_code: 20000 })], { httpStatus: 402 }),
    ],
    ['when a refusal has a cost', plainBody(200, '{"status_code":40202,"cost":0.12,"tasks":null}')],
    ['when the service fails inside', envelope(null, { status_code: 50000 })],
    ['when the store fails as a whole', envelope(null, { status_code: 40101 })],
    ['when there are no tasks', envelope(null)],
    ['when there are no answers', envelope([])],
    ['when it is redirected', plainBody(307, '', { location: '/elsewhere' })],
    ['when a proxy counts the calls', plainBody(429, '')],
  ]
  for (const [name, answer] of doubts) {
    test(name, async (t) => {
      const { outcome, server } = await postTo(t, answer)
      assert.equal(outcome.kind, 'unknown')
      assert.equal(server.received.length, 1)
    })
  }

  test('when no answer comes within the hard limit', async (t) => {
    const { outcome, server } = await postTo(t, stall, 500)
    assert.deepEqual(outcome, { kind: 'unknown', reason: 'no complete answer within 500 ms' })
    assert.equal(server.received.length, 1)
  })

  test('when it is called off after the server has it', async (t) => {
    const controller = new AbortController()
    const server = await startWireServer(t, () => controller.abort())
    const client = openClient(t, server.baseUrl)
    const send = { ...soon(), signal: controller.signal }
    const outcome = await client.postTasks(...SEARCHES, [TASK], send)
    assert.equal(outcome.kind, 'unknown')
  })
})

describe('a POST is not sent, and no byte of it leaves,', () => {
  /** A server behind a warm connection: everything but the POST's own lateness would let it through. */
  async function warmClient(t: TestContext, clock = testClock()) {
    const server = await startWireServer(t, envelope([taskless()]), envelope([created('a.1')]))
    const client = openClient(t, server.baseUrl, { clock })
    await client.getStatus()
    return { client, server, bytesBefore: server.bytesReceived() }
  }

  function taskless() {
    return { id: 'x', status_code: 20000, result: [] }
  }

  /**
   * The same connection must still serve the next call, so what was written before it has arrived by then.
   */
  async function assertNothingSent({ client, server, bytesBefore }: Awaited<ReturnType<typeof warmClient>>) {
    assert.equal(server.bytesReceived(), bytesBefore)
    await client.postTasks(...SEARCHES, [{ ...TASK, tag: 'later.1' }], soon())
    assert.deepEqual(
      server.received.slice(1).map((request) => JSON.parse(request.body)[0].tag),
      ['later.1'],
    )
  }

  test('when the process was frozen past the deadline between claim and write', async (t) => {
    const warm = await warmClient(t)
    const send = { deadlineMs: performance.now() + 20 }
    const pending = warm.client.postTasks(...SEARCHES, [TASK], send)
    while (performance.now() <= send.deadlineMs)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    assert.equal((await pending).kind, 'not_sent')
    await assertNothingSent(warm)
  })

  test('when the monotonic clock passes the deadline just before the write', async (t) => {
    const clock = testClock()
    const warm = await warmClient(t, clock)
    const send = soon()
    const pending = warm.client.postTasks(...SEARCHES, [TASK], send)
    clock.monotonicMs = () => send.deadlineMs + 0.001
    assert.deepEqual(await pending, { kind: 'not_sent', reason: 'its time to be sent had passed' })
    clock.monotonicMs = () => performance.now()
    await assertNothingSent(warm)
  })

  test('when only the wall clock says that it is late, as after a laptop slept', async (t) => {
    const clock = testClock()
    const warm = await warmClient(t, clock)
    const send = { ...soon(), wallDeadlineMs: Date.now() + 500 }
    clock.wallMs = () => send.wallDeadlineMs + 1
    const outcome = await warm.client.postTasks(...SEARCHES, [TASK], send)
    assert.equal(outcome.kind, 'not_sent')
    await assertNothingSent(warm)
  })

  test('when it was called off before', async (t) => {
    const warm = await warmClient(t)
    const send = { ...soon(), signal: AbortSignal.abort() }
    const outcome = await warm.client.postTasks(...SEARCHES, [TASK], send)
    assert.deepEqual(outcome, { kind: 'not_sent', reason: 'it was called off' })
    await assertNothingSent(warm)
  })

  /** A server that holds back its answer to a first call, so that a POST waits for the only connection. */
  async function busyClient(t: TestContext) {
    const held: (() => void)[] = []
    const server = await startWireServer(t, (request, response, socket) =>
      held.push(() => envelope([taskless()])(request, response, socket)),
    )
    const client = openClient(t, server.baseUrl, { maxConcurrent: 1 })
    const status = client.getStatus()
    while (held.length === 0) await new Promise(setImmediate)
    const becomeFree = async () => {
      held[0]?.()
      await status
      await client.close()
    }
    return { client, server, becomeFree }
  }

  test('when every connection is busy until the deadline, also later when one becomes free', async (t) => {
    const { client, server, becomeFree } = await busyClient(t)
    const send = { deadlineMs: performance.now() + 50 }
    const outcome = await client.postTasks(...SEARCHES, [TASK], send)
    assert.deepEqual(outcome, { kind: 'not_sent', reason: 'no connection was free in time' })
    await becomeFree()
    assert.equal(server.received.length, 1)
  })

  test('when it was called off while it waited, also when a connection becomes free in time', async (t) => {
    const { client, server, becomeFree } = await busyClient(t)
    const controller = new AbortController()
    const send = { ...soon(), signal: controller.signal }
    const pending = client.postTasks(...SEARCHES, [TASK], send)
    controller.abort()
    assert.deepEqual(await pending, { kind: 'not_sent', reason: 'it was called off' })
    await becomeFree()
    assert.equal(server.received.length, 1)
  })

  test('when nobody listens, or the server breaks off the TLS handshake', async (t) => {
    const server = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    for (const baseUrl of ['http://127.0.0.1:9', `https://127.0.0.1:${port}`]) {
      const outcome = await openClient(t, baseUrl).postTasks(...SEARCHES, [TASK], soon())
      assert.equal(outcome.kind, 'not_sent')
    }
  })
})
