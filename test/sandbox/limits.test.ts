import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { CallWindow } from '../../src/sandbox/limits.ts'
import { authorize, type Json, MINUTE_MS, openSandbox } from './caller.ts'

describe('limits and access', () => {
  test('the root says who is here without a login', async (t) => {
    const caller = await openSandbox(t, { seed: 7 })
    const root = (await (await fetch(caller.url)).json()) as Json
    assert.deepEqual([root.service, root.seed, root.pid], ['storerank sandbox', 7, process.pid])
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

  test('more than 30 requests in flight are refused, and a dropped one is out of flight', async (t) => {
    const caller = await openSandbox(t)
    const { port } = new URL(caller.url)
    const head = [
      'POST /v3/app_data/ios_store/app_searches/task_post HTTP/1.1',
      'Host: sandbox',
      `Authorization: ${authorize('sandbox', 'sandbox')}`,
      'Content-Type: application/json',
      'Content-Length: 1000',
      'Expect: 100-continue',
      '\r\n',
    ].join('\r\n')
    const sockets = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const socket = connect(Number(port), '127.0.0.1')
        socket.write(head)
        await once(socket, 'data')
        return socket
      }),
    )
    const refused = await caller.get('/v3/appendix/errors')
    assert.equal(refused.status_code, 40209)
    for (const socket of sockets) socket.destroy()
    let code = 40209
    for (let turn = 0; turn < 1000 && code === 40209; turn += 1) {
      code = (await caller.get('/v3/appendix/errors')).status_code
    }
    assert.equal(code, 20000)
  })
})
