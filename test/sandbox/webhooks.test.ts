import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { fillUrl } from '../../src/sandbox/webhooks.ts'
import {
  AMPLE,
  type Caller,
  fetchTask,
  fileOf,
  type Json,
  listErrors,
  listReady,
  openSandbox,
  postTasks,
  task,
} from './caller.ts'
import { openReceiver, type Receiver, until } from './receiver.ts'

const postback = (receiver: Receiver, fields: Record<string, unknown> = {}) =>
  task({ postback_url: `${receiver.url}/p?id=$id&tag=$tag`, postback_data: 'advanced', ...fields })
const pingback = (receiver: Receiver, fields: Record<string, unknown> = {}) =>
  task({ pingback_url: `${receiver.url}/ping/$id/$tag`, ...fields })

const resend = async (caller: Caller, id: unknown): Promise<Json> =>
  (await caller.post('/v3/appendix/webhook_resend', [{ id }])).tasks[0]
const isReady = async (caller: Caller, id: string) => (await listReady(caller)).some((row) => row.id === id)
const refuse = (status: number, text: string) => (response: ServerResponse) =>
  void response.writeHead(status).end(text)

describe('webhooks', () => {
  test('$id and $tag are substituted once, and the tag is urlencoded', () => {
    assert.equal(
      fillUrl('http://h/?a=$id&b=$tag&c=$id', 'ID', 'x y&z/ü'),
      'http://h/?a=ID&b=x%20y%26z%2F%C3%BC&c=ID',
    )
    assert.equal(fillUrl('http://h/?b=$tag', 'ID', '$id'), 'http://h/?b=%24id')
    assert.equal(fillUrl('http://h/$tag', 'ID', ''), 'http://h/')
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (tag) => {
        const url = new URL(fillUrl('http://h/?tag=$tag&id=$id', 'ID', tag))
        assert.deepEqual(
          [...url.searchParams],
          [
            ['tag', tag],
            ['id', 'ID'],
          ],
        )
      }),
    )
  })

  test('a hundred tasks with both webhooks bring each exactly once', async (t) => {
    const [caller, receiver] = [await openSandbox(t, { readyMs: 0, ...AMPLE }), await openReceiver(t)]
    const both = { ...postback(receiver), ...pingback(receiver) }
    const tasks = Array.from({ length: 100 }, (_, index) => ({ ...both, depth: 10, tag: `${index}` }))
    await postTasks(caller, tasks)
    await until(() => receiver.received.length === 200)
    assert.equal(new Set(receiver.received.map(({ path }) => path)).size, 200)
    await until(async () => (await listReady(caller)).length === 0)
    assert.equal(receiver.received.length, 200)
  })

  test('no more webhooks are under way than allowed', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, webhooksInFlight: 3, ...AMPLE })
    const receiver = await openReceiver(t)
    const waiting: ServerResponse[] = []
    receiver.answer = (response) => void waiting.push(response)
    await postTasks(
      caller,
      Array.from({ length: 20 }, () => pingback(receiver)),
    )
    for (let served = 0; served < 20; served += 1) {
      await until(() => receiver.received.length >= Math.min(20, served + 3))
      assert.ok(receiver.received.length <= served + 3)
      waiting.shift()?.end()
    }
  })

  test('webhooks not delivered when the sandbox stopped are sent after its next start', async (t) => {
    const options = { readyMs: 10_000, stateFile: await fileOf(t, 'state.jsonl'), ...AMPLE }
    const receiver = await openReceiver(t)
    const before = await openSandbox(t, options)
    const [done] = await postTasks(before, [postback(receiver, { tag: 'done' })])
    before.clock.nowMs += 10_000
    await until(() => receiver.received.length === 1)
    receiver.answer = refuse(500, '')
    const [failed] = await postTasks(before, [postback(receiver, { tag: 'failed' })])
    before.clock.nowMs += 10_000
    await until(() => isReady(before, failed.id))
    receiver.answer = () => {}
    await postTasks(before, [postback(receiver, { tag: 'hanging' })])
    before.clock.nowMs += 10_000
    await until(() => receiver.received.length === 3)
    const [pending] = await postTasks(before, [postback(receiver, { tag: 'pending' })])
    await before.close()

    receiver.answer = refuse(200, '')
    const after = await openSandbox(t, options)
    after.clock.nowMs = before.clock.nowMs + 10_000
    await until(() => receiver.received.length === 5)
    const tags = receiver.received.map(({ path }) => path.split('tag=')[1])
    assert.deepEqual(tags.slice(0, 3), ['done', 'failed', 'hanging'])
    assert.deepEqual(tags.slice(3).toSorted(), ['hanging', 'pending'])
    await until(async () => (await listReady(after)).length === 1)
    assert.ok(await isReady(after, failed.id), 'a failure is not tried again by itself')
    assert.equal((await listErrors(after)).length, 1)
    assert.equal((await fetchTask(after, done.id)).status_code, 20000)
    assert.equal((await fetchTask(after, pending.id)).status_code, 20000)
  })

  test('a resend that was not delivered when the sandbox stopped is sent after its next start', async (t) => {
    const options = { readyMs: 0, stateFile: await fileOf(t, 'state.jsonl'), ...AMPLE }
    const receiver = await openReceiver(t)
    const before = await openSandbox(t, options)
    const [{ id }] = await postTasks(before, [pingback(receiver)])
    await until(() => receiver.received.length === 1)
    receiver.answer = () => {}
    await until(async () => {
      assert.equal((await resend(before, id)).status_code, 20100)
      return receiver.received.length > 1
    })
    const sent = receiver.received.length
    await before.close()
    await openSandbox(t, options)
    await until(() => receiver.received.length === sent + 1)
  })
})
