import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { classifyCall, classifyStatus, type StatusClass } from '../../src/service/status-codes.ts'

const KNOWN: Readonly<Partial<Record<StatusClass, readonly number[]>>> = {
  ok: [20000],
  created: [20100],
  pending: [40601, 40602],
  no_results: [40102],
  store_failed: [40101, 40103],
  account: [40100, 40104, 40201, 40204, 40207],
  money: [40200, 40203, 40210],
  rate_limited: [40202],
  too_many_at_once: [40209],
  rejected: [40000, 40006, 40401, 40403, 40501, 40506],
  server: [50000, 50301, 60000],
  unknown: [0, 10000],
}

test('every code that the notes name has its class', () => {
  for (const [expected, codes] of Object.entries(KNOWN)) {
    for (const code of codes)
      assert.deepEqual([classifyStatus(code), classifyCall(code)], [expected, expected])
  }
})

test('an unknown 401xx or 402xx is about a task where it stands at one, else of the account', () => {
  for (const code of [40105, 40199, 40205, 40206, 40299])
    assert.deepEqual([classifyStatus(code), classifyCall(code)], ['rejected', 'account'])
})

test('any 4xxxx is somebody’s fault and any 5xxxx the server’s, never a success', () => {
  const successes = new Set<StatusClass>(['ok', 'created', 'unknown', 'server'])
  const within = (min: number, max: number, isFit: (code: number) => boolean) =>
    fc.assert(fc.property(fc.integer({ min, max }), isFit))
  within(40000, 49999, (code) => !successes.has(classifyStatus(code)))
  within(50000, 60000, (code) => classifyStatus(code) === 'server')
})
