import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

import { classifyCall, classifyStatus, type StatusClass } from '../../src/service/status-codes.ts'

const KNOWN: [number, StatusClass][] = [
  [20000, 'ok'],
  [20100, 'created'],
  [40000, 'rejected'],
  [40006, 'rejected'],
  [40100, 'account'],
  [40101, 'store_failed'],
  [40102, 'no_results'],
  [40103, 'store_failed'],
  [40104, 'account'],
  [40105, 'rejected'],
  [40200, 'money'],
  [40202, 'rate_limited'],
  [40203, 'money'],
  [40201, 'account'],
  [40204, 'account'],
  [40205, 'rejected'],
  [40206, 'rejected'],
  [40207, 'account'],
  [40209, 'too_many_at_once'],
  [40210, 'money'],
  [40401, 'rejected'],
  [40403, 'rejected'],
  [40501, 'rejected'],
  [40506, 'rejected'],
  [40601, 'pending'],
  [40602, 'pending'],
  [50000, 'server'],
  [50301, 'server'],
  [60000, 'server'],
  [10000, 'unknown'],
  [0, 'unknown'],
]

test('every code that the notes name has its class', () => {
  for (const [code, expected] of KNOWN) assert.equal(classifyStatus(code), expected, String(code))
})

test('an unknown 401xx or 402xx is about a task where it stands at one, else of the account', () => {
  for (const code of [40105, 40199, 40205, 40206, 40299])
    assert.deepEqual([classifyStatus(code), classifyCall(code)], ['rejected', 'account'])
  for (const [code, expected] of KNOWN.filter(([known]) => known < 40105 || known > 40299))
    assert.equal(classifyCall(code), expected, String(code))
  assert.deepEqual([classifyCall(40202), classifyCall(40210)], ['rate_limited', 'money'])
})

test('any 4xxxx is somebody’s fault and any 5xxxx the server’s, never a success', () => {
  const successes = new Set<StatusClass>(['ok', 'created', 'unknown', 'server'])
  fc.assert(
    fc.property(fc.integer({ min: 40000, max: 49999 }), (code) => !successes.has(classifyStatus(code))),
  )
  fc.assert(fc.property(fc.integer({ min: 50000, max: 60000 }), (code) => classifyStatus(code) === 'server'))
})
