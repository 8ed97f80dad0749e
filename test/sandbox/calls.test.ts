import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { CallWindow } from '../../src/sandbox/account.ts'
import { type Json, MINUTE_MS, openSandbox } from './caller.ts'

describe('limits and access', () => {
  test('the root says who is here without a login', async (t) => {
    const caller = await openSandbox(t)
    const root = (await (await fetch(caller.url)).json()) as Json
    assert.deepEqual([root.service, root.seed, root.pid], ['storerank sandbox', 1, process.pid])
  })

  test('no window of 60 seconds holds more calls than the limit, whenever they come', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.nat(30_000), { maxLength: 60 }),
        (limit, gapsMs) => {
          const window = new CallWindow(limit)
          const taken: number[] = []
          let nowMs = 0
          for (const gapMs of gapsMs) {
            nowMs += gapMs
            const inWindow = taken.filter((time) => time > nowMs - MINUTE_MS).length
            assert.equal(window.hasRoom(nowMs), inWindow < limit)
            if (!window.hasRoom(nowMs)) continue
            window.take(nowMs)
            taken.push(nowMs)
          }
        },
      ),
    )
  })
})
