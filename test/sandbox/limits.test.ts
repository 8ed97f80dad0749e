import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { CallWindow } from '../../src/sandbox/limits.ts'
import { authorize, type Json, MINUTE_MS, openSandbox } from './caller.ts'

describe('limits and access', () => {
  test('an unknown path is 404 with an envelope, and the root says who is here without a login', async (t) => {
    const caller = await openSandbox(t, { seed: 7 })
    const response = await caller.fetch('/v3/app_data/ios_store/app_list/tasks_ready')
    assert.equal(response.status, 404)
    assert.equal(((await response.json()) as Json).status_code, 40400)
    const root = (await (await fetch(caller.url)).json()) as Json
    assert.equal(root.service, 'storerank sandbox')
    assert.equal(root.seed, 7)
    assert.equal(root.pid, process.pid)
  })

  test('2,000 calls within any 60 seconds are served, the next one is refused whole', async (t) => {
    const caller = await openSandbox(t)
    for (let batch = 0; batch < 80; batch += 1) {
      const codes = await Promise.all(
        Array.from(
          { length: 25 },
          async () => (await caller.get('/v3/app_data/ios_store/categories')).status_code,
        ),
      )
      assert.ok(codes.every((code) => code === 20000))
    }
    const refused = await caller.get('/v3/app_data/ios_store/categories')
    assert.equal(`${refused.status_code} ${refused.status_message}`, '40202 Rate limit per minute exceeded.')
    assert.equal(refused.tasks, null)
    caller.clock.nowMs += MINUTE_MS - 1
    assert.equal((await caller.get('/v3/app_data/ios_store/categories')).status_code, 40202)
    caller.clock.nowMs += 1
    assert.equal((await caller.get('/v3/app_data/ios_store/categories')).status_code, 20000)
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
