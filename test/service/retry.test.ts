import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

import { decideRetry, type Failure, MAX_ATTEMPTS, MAX_ELAPSED_MS } from '../../src/service/answer.ts'

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
