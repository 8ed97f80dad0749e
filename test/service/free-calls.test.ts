import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import fc from 'fast-check'
import {
  AccountError,
  ConfigurationError,
  RateLimitedError,
  RejectedError,
  UnavailableError,
  UnreadableError,
} from '../../src/errors.ts'
import {
  decideRetry,
  type Failure,
  MAX_ATTEMPTS,
  MAX_ELAPSED_MS,
  OVERSIZED,
} from '../../src/service/answer.ts'
import { AppDataClient } from '../../src/service/client.ts'
import { MAX_BODY_BYTES } from '../../src/service/exchange.ts'
import type { CallGate, CallOutcome } from '../../src/service/transport.ts'
import {
  type Answer,
  envelope,
  halfBody,
  openClient,
  plainBody,
  reset,
  stall,
  startWireServer,
  taskWith,
  testClock,
} from './wire-server.ts'

const FINE = envelope([taskWith([])])

/** A gate that writes down what it is told. */
function recordingGate(startBeforeMs: () => number = () => Number.POSITIVE_INFINITY) {
  const opened: string[] = []
  const ended: CallOutcome[] = []
  const gate: CallGate = {
    open: async (kind, path) => {
      opened.push(`${kind} ${path}`)
      return {
        startBeforeMs: startBeforeMs(),
        end: async (outcome) => {
          ended.push(outcome)
        },
      }
    },
  }
  return { gate, opened, ended }
}

describe('a free call is repeated', () => {
  const troubles: [string, Answer][] = [
    ['after a reset', reset],
    ['after half a body', halfBody],
    ['after a stall', stall],
    ['after HTTP 500', plainBody(500, 'oops')],
    ['after HTTP 502', plainBody(502, '<html>')],
    ['after a body that is not JSON', plainBody(200, 'hello')],
    ['after a body that is no envelope', plainBody(200, '{"status":"fine"}')],
    ['after a general 50000', envelope(null, { status_code: 50000 })],
    ['after 50301 of its task', envelope([taskWith(null, { status_code: 50301 })])],
    ['after an answer that says 20000 and names no task', envelope(null, { status_code: 20000 })],
    ['after too many at once', envelope(null, { status_code: 40209 })],
  ]
  for (const [name, trouble] of troubles) {
    test(`${name}, each time with a permit of its own`, async (t) => {
      const server = await startWireServer(t, trouble, FINE)
      const { gate, opened, ended } = recordingGate()
      const client = openClient(t, server.baseUrl, {
        gate,
        timeoutMs: name === 'after a stall' ? 500 : 5_000,
      })
      assert.deepEqual(await client.getStatus(), [])
      assert.equal(server.received.length, 2)
      assert.deepEqual(opened, Array(2).fill('status /v3/appendix/status'))
      assert.equal(typeof ended[0]?.error, 'string')
      assert.deepEqual(ended[1], { httpStatus: 200, statusCode: 20000 })
    })
  }

  test('at most four times in all, with growing pauses', async (t) => {
    const server = await startWireServer(t, plainBody(500, ''))
    const sleptMs: number[] = []
    const client = openClient(t, server.baseUrl, { clock: testClock(sleptMs) })
    await assert.rejects(client.getStatus(), UnavailableError)
    assert.equal(server.received.length, 4)
    assert.equal(sleptMs.length, 3)
    const [first = 0, second = 0, third = 0] = sleptMs
    assert.ok(first <= second && second <= third)
  })
})

describe('a free call fails at once', () => {
  const refused = (status_code: number) => envelope(null, { status_code })
  const ofTask = (status_code: number) => envelope([taskWith(null, { status_code })])
  const PASSWORD = /\(40100\).* Check APP_DATA_LOGIN and APP_DATA_PASSWORD\.$/
  const STATE = /Look at the state of the account with the service\.$/
  const MONEY = /Check the balance and the cost limits of the account\.$/
  const PACE = /the caller decides what to do with the rest of the minute\.$/
  const refusals = [
    [plainBody(401, ''), AccountError, 'account', PASSWORD],
    [refused(40100), AccountError, 'account', PASSWORD],
    [refused(40104), AccountError, 'account', /The account is not verified yet: .*\.$/],
    [refused(40207), AccountError, 'account', /does not allow calls from the address of this machine: .*\.$/],
    [refused(40204), AccountError, 'account', /may not use the App Data API: order it with the service\.$/],
    [refused(40201), AccountError, 'account', STATE],
    [refused(40199), AccountError, 'account', STATE],
    [plainBody(402, ''), AccountError, 'account_money', MONEY],
    [refused(40203), AccountError, 'account_money', MONEY],
    [ofTask(40210), AccountError, 'account_money', MONEY],
    [plainBody(404, ''), RejectedError, 'rejected', /Check APP_DATA_URL and APP_DATA_STORES\.$/],
    [plainBody(302, '', { location: '/v3/elsewhere' }), RejectedError, 'rejected', /refused again\.$/],
    [ofTask(40501), RejectedError, 'rejected', /was refused: .*\(40501\)\.$/],
    [plainBody(429, '', { 'retry-after': '3' }), RateLimitedError, 'rate_limited', PACE],
    [refused(40202), RateLimitedError, 'rate_limited', PACE],
    [ofTask(40202), RateLimitedError, 'rate_limited', PACE],
  ] as const
  for (const [index, [answer, type, code, message]] of refusals.entries()) {
    test(`as ${code}, and says what to do (${index + 1})`, async (t) => {
      const server = await startWireServer(t, answer)
      const error = await openClient(t, server.baseUrl)
        .getStatus()
        .catch((cause: unknown) => cause)
      assert.ok(error instanceof type)
      assert.equal('code' in error && error.code, code)
      assert.match(error.message, /^GET \/v3\/appendix\/status /)
      assert.match(error.message, message)
      assert.equal(error.message.includes('PASSWORD'), message === PASSWORD)
      assert.equal(server.received.length, 1)
      assert.doesNotMatch(`${error.message}${error.stack}`, /secret|bWU6c2VjcmV0/)
    })
  }

  test('with the pause that the service asks for, or a minute', async (t) => {
    const asked = await startWireServer(t, plainBody(429, '', { 'retry-after': '3' }))
    await assert.rejects(openClient(t, asked.baseUrl).getStatus(), { retryAfterMs: 3000 })
    const silent = await startWireServer(t, envelope(null, { status_code: 40202 }))
    await assert.rejects(openClient(t, silent.baseUrl).getStatus(), { retryAfterMs: 60_000 })
  })

  test('when the body grows past its bound', async (t) => {
    const body = Readable.from(Array(MAX_BODY_BYTES / 2 ** 20 + 1).fill(Buffer.alloc(2 ** 20, ' ')))
    const server = await startWireServer(t, (_, response) => void body.pipe(response))
    await assert.rejects(openClient(t, server.baseUrl).getStatus(), UnreadableError)
    assert.equal(server.received.length, 1)
  })

  for (const value of ['{},', '[],', '1,', '[']) {
    test(`when the body has more values than there is memory for, such as ${value}`, async (t) => {
      const body = `{"status_code":20000,"tasks":[${value.repeat((31 * 1024 * 1024) / value.length)}0]}`
      const server = await startWireServer(t, plainBody(200, body))
      const call = openClient(t, server.baseUrl).getStatus()
      await assert.rejects(call, { code: 'unreadable', path: OVERSIZED })
      assert.equal(server.received.length, 1)
    })
  }
})

describe('a permit', () => {
  test('that ran out before the request began is given back, and a new one taken', async (t) => {
    const server = await startWireServer(t, FINE)
    const validities = [0, 0]
    const { gate, opened, ended } = recordingGate(() => validities.shift() ?? Number.POSITIVE_INFINITY)
    await openClient(t, server.baseUrl, { gate }).getStatus()
    assert.equal(server.received.length, 1)
    assert.equal(opened.length, 3)
    const givenBack = { error: 'the permit ran out before the request began' }
    assert.deepEqual(ended, [givenBack, givenBack, { httpStatus: 200, statusCode: 20000 }])
  })

  test('that always runs out ends in an error and not in a loop', async (t) => {
    const server = await startWireServer(t, FINE)
    const { gate, opened, ended } = recordingGate(() => 0)
    await assert.rejects(openClient(t, server.baseUrl, { gate }).getStatus(), UnavailableError)
    assert.equal(server.received.length, 0)
    assert.equal(opened.length, ended.length)
  })

  test('is needed for a free POST too', async (t) => {
    const server = await startWireServer(t, FINE)
    const { gate, opened } = recordingGate()
    await openClient(t, server.baseUrl, { gate }).listFailedTasks({})
    assert.deepEqual(opened, ['failed_tasks /v3/app_data/errors'])
  })

  test('that the gate refuses stops the call before the wire', async (t) => {
    const server = await startWireServer(t, FINE)
    const gate: CallGate = { open: () => Promise.reject(new Error('no more today')) }
    await assert.rejects(openClient(t, server.baseUrl, { gate }).getStatus(), /no more today/)
    assert.equal(server.received.length, 0)
  })
})

describe('the client', () => {
  test('has at most so many permits and requests in flight', async (t) => {
    let inFlight = 0
    let most = 0
    const held: (() => void)[] = []
    const server = await startWireServer(t, (request, response, socket) => {
      inFlight += 1
      most = Math.max(most, inFlight)
      held.push(() => {
        inFlight -= 1
        FINE(request, response, socket)
      })
      if (held.length % 3 === 0) for (const release of held.splice(0)) release()
    })
    const { gate, opened, ended } = recordingGate(() => {
      assert.ok(opened.length - ended.length <= 3)
      return Number.POSITIVE_INFINITY
    })
    const client = openClient(t, server.baseUrl, { maxConcurrent: 3, gate })
    await Promise.all(Array.from({ length: 9 }, () => client.getStatus()))
    assert.equal(most, 3)
    assert.equal(ended.length, 9)
  })

  test('makes no call once it is closed, and may be closed twice', async (t) => {
    const server = await startWireServer(t, FINE)
    const client = openClient(t, server.baseUrl)
    await client.close()
    await client.close()
    await assert.rejects(client.getStatus(), UnavailableError)
    const send = { deadlineMs: performance.now() + 30_000 }
    const task = { tag: 'a.1', subject: 'x', locationCode: 1 }
    assert.equal((await client.postTasks('ios_store', 'app_info', [task], send)).kind, 'not_sent')
    assert.equal(server.received.length, 0)
  })

  const unusable = [
    { baseUrl: 'http://api.example.com' },
    { baseUrl: 'http://127.0.0.1.example.com' },
    { baseUrl: 'ftp://127.0.0.1' },
    { baseUrl: 'api.example.com' },
    { baseUrl: 'https://me:secret@api.example.com' },
    { baseUrl: 'https://api.example.com/?key=secret' },
    { login: '' },
    { password: '' },
    { login: 'a:b' },
  ]
  for (const settings of unusable) {
    test(`is not made with ${JSON.stringify(settings)}`, () => {
      const options = { baseUrl: 'https://api.example.com', login: 'me', password: 'secret', ...settings }
      assert.throws(
        () => new AppDataClient(options),
        (error) => error instanceof ConfigurationError && !error.message.includes('secret'),
      )
    })
  }

  for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '[::1]']) {
    test(`takes plain http to ${host}`, (t: TestContext) => {
      openClient(t, `http://${host}:8080`)
    })
  }
})

function failure(kind: Failure['kind'], retryAfterMs?: number): Failure {
  return { kind, message: 'x', statusCode: 0, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

const transient = ['network', 'not_an_envelope', 'server', 'too_many_at_once'] as const
const final = ['oversized', 'rate_limited', 'account', 'money', 'rejected'] as const

test('what may pass is repeated, what will not is given back at once, each with its own reason', () => {
  for (const kind of transient) assert.equal(decideRetry(failure(kind), 1, 0, 0).retry, true)
  const reasons = final.map((kind) => {
    const decision = decideRetry(failure(kind), 1, 0, 0)
    assert.equal(decision.retry, false)
    return decision.reason
  })
  assert.equal(new Set(reasons).size, final.length - 1, 'account and money share theirs')
})

test('attempts and time are bounded whatever fails', () => {
  const anyTransient = fc.constantFrom(...transient)
  fc.assert(
    fc.property(
      anyTransient,
      fc.nat(),
      fc.nat(),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (kind, n, ms, jitter) => {
        const decision = decideRetry(failure(kind), n + 1, ms, jitter)
        if (!decision.retry) return
        assert.ok(n + 1 < MAX_ATTEMPTS)
        assert.ok(ms + decision.delayMs <= MAX_ELAPSED_MS)
      },
    ),
  )
})

test('pauses double, and jitter moves them within their upper half', () => {
  const delays = [1, 2, 3].map((attempt) => {
    const [least, most] = [0, 1].map((jitter) => decideRetry(failure('server'), attempt, 0, jitter))
    assert.ok(least?.retry && most?.retry)
    assert.equal(least.delayMs * 2, most.delayMs)
    return most.delayMs
  })
  assert.deepEqual(delays, [500, 1000, 2000])
})

test('the service’s own wish for a pause is the least', () => {
  const decision = decideRetry(failure('too_many_at_once', 3000), 1, 0, 1)
  assert.equal(decision.retry && decision.delayMs, 3000)
})
