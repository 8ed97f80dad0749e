import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { StateInUseError } from '../../src/sandbox/books.ts'
import {
  type Caller,
  fetchTask,
  fileOf,
  listIds,
  listReady,
  openSandbox,
  postTasks,
  readMoney,
  task,
} from './caller.ts'

const openFolder = (t: TestContext) => fileOf(t, 'state.jsonl')

/** Everything that an account can see. */
const look = async (caller: Caller) => ({
  ids: await listIds(caller, 1, { include_metadata: true }),
  ready: await listReady(caller),
  money: await readMoney(caller),
})

describe('the books', () => {
  test('a restart changes no answer and no money', async (t) => {
    const stateFile = await openFolder(t)
    const before = await openSandbox(t, { readyMs: 10_000, stateFile })
    const [first, second, third] = await postTasks(before, [task({ depth: 500, tag: 'a' }), task(), task()])
    before.clock.nowMs += 10_000
    const fetched = await fetchTask(before, first.id)
    const [pending] = await postTasks(before, [task({ priority: 2, depth: 500 })])
    const seen = await look(before)
    await before.close()

    const after = await openSandbox(t, { readyMs: 10_000, stateFile })
    after.clock.nowMs = before.clock.nowMs
    assert.deepEqual(await look(after), seen)
    assert.deepEqual(seen.ready.map((row: { id: string }) => row.id).sort(), [second.id, third.id].sort())
    assert.deepEqual((await fetchTask(after, first.id)).result, fetched.result)
    assert.equal((await fetchTask(after, pending.id)).status_code, 40601)
    after.clock.nowMs += 5000
    assert.equal((await fetchTask(after, pending.id)).status_code, 20000)
  })

  test('what was answered is in the file before the answer', async (t) => {
    const stateFile = await openFolder(t)
    const caller = await openSandbox(t, { stateFile })
    const [posted] = await postTasks(caller, [task()])
    assert.ok(readFileSync(stateFile, 'utf8').includes(posted.id))
  })

  test('a torn last line is cut off, and the next entry stands on a line of its own', async (t) => {
    const stateFile = await openFolder(t)
    const before = await openSandbox(t, { stateFile })
    const [kept] = await postTasks(before, [task()])
    await before.close()
    appendFileSync(stateFile, '{"kind":"posted","tasks":[{"id":"torn')
    const between = await openSandbox(t, { stateFile })
    const [added] = await postTasks(between, [task()])
    await between.close()
    const after = await openSandbox(t, { stateFile })
    const { ids } = await look(after)
    assert.deepEqual(ids.map((row: { id: string }) => row.id).sort(), [kept.id, added.id].sort())
  })

  test('a damaged line in the middle is an error that says where, and not a loss', async (t) => {
    const stateFile = await openFolder(t)
    writeFileSync(stateFile, 'no json\n{"kind":"posted","tasks":[]}\n')
    await assert.rejects(openSandbox(t, { stateFile }), /damaged at byte 0/)
  })

  test('a second sandbox on the same file is refused while the first one has it', async (t) => {
    const stateFile = await openFolder(t)
    const first = await openSandbox(t, { stateFile })
    await assert.rejects(openSandbox(t, { stateFile }), StateInUseError)
    await first.close()
    await openSandbox(t, { stateFile })
  })

  test('a port in use is stepped around, unless it was asked for strictly', async (t) => {
    const first = await openSandbox(t)
    const port = Number(new URL(first.url).port)
    const second = await openSandbox(t, { port })
    assert.notEqual(second.url, first.url)
    await assert.rejects(openSandbox(t, { port, strictPort: true }), { code: 'EADDRINUSE' })
  })
})
