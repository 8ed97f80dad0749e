import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { pauseBetweenLists } from '../../src/queue/cycle.ts'

const MINUTE_MS = 60_500

/** Asks whenever the pause is over, for some minutes; results are never all fetched. */
function ask(awaited: number, minutes: number, callMs: number): number[] {
  const asked: number[] = []
  for (let nowMs = 0; nowMs < minutes * MINUTE_MS; ) {
    asked.push(nowMs)
    nowMs += callMs
    const lately = asked.filter((ms) => ms > nowMs - MINUTE_MS)
    nowMs += pauseBetweenLists(lately, awaited, nowMs)
  }
  return asked
}

describe('the ready lists', () => {
  test('are asked at most 20 times in any minute, and never rest long while much is awaited', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_001, max: 100_000 }),
        fc.integer({ min: 0, max: 900 }),
        (awaited, callMs) => {
          const asked = ask(awaited, 5, callMs)
          for (const [index, ms] of asked.entries()) {
            const twentieth = asked[index + 20]
            assert.ok(twentieth === undefined || twentieth - ms >= MINUTE_MS, `the call after ${ms} ms`)
            const next = asked[index + 1] ?? ms
            assert.ok(next - ms <= MINUTE_MS / 4, `${next - ms} ms after ${ms} ms`)
          }
          assert.ok(asked.length >= 5 * 15, `${asked.length} in five minutes`)
        },
      ),
    )
  })

  test('are asked every second at first when little is awaited', () => {
    assert.deepEqual(
      ask(1_000, 1, 0).slice(0, 12),
      Array.from({ length: 12 }, (_, index) => index * 1_000),
    )
  })

  test('of five thousand results are asked every second while what is left suffices', () => {
    const asked = ask(5_000, 1, 0)
    assert.deepEqual(
      asked.slice(0, 8),
      Array.from({ length: 8 }, (_, index) => index * 1_000),
    )
    assert.ok((asked[8] ?? 0) > 10_000, `${asked[8]} ms`)
  })
})
