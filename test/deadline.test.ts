import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDeadline } from '../src/deadline.ts'

test('a deadline aborts its signal when its time is over, with what was to be done in it', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const deadline = startDeadline(5_000, 'The job did not end.')
  t.mock.timers.tick(4_999)
  assert.equal(deadline.signal.aborted, false)
  t.mock.timers.tick(1)
  assert.equal(deadline.signal.reason.name, 'TimeoutError')
  assert.equal(deadline.signal.reason.message, 'The job did not end.')
})

test('a deadline that work has left behind holds nothing until its time is over', async () => {
  const listens = (() => {
    using deadline = startDeadline(60_000, 'The work did not end.')
    return new WeakRef(deadline.signal)
  })()
  const { setFlagsFromString } = await import('node:v8')
  const { runInNewContext } = await import('node:vm')
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 10 && listens.deref() !== undefined; round += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
  }
  assert.equal(listens.deref(), undefined)
})
