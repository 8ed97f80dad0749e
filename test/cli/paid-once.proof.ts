import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { askService, makeCommandHome, querySql, readSandbox, runCommand } from '../support/command.ts'

/** Every target of the example, bought exactly once, by our charges and by the books of the service. */
async function assertPaidOnce(t: TestContext, home: string) {
  const [ours] = await querySql(
    t,
    `select count(distinct service_id)::int as tasks, sum(amount_micros)::int as micros from charge`,
    { home },
  )
  const [slots] = await querySql(
    t,
    `select count(*)::int as tasks, count(distinct (target_id, slot))::int as slots,
      count(*) filter (where state = 'collected')::int as collected from task`,
    { home },
  )
  assert.deepEqual(slots, { tasks: 33, slots: 33, collected: 33 })
  assert.deepEqual(await askService(readSandbox(home)?.url ?? ''), ours)
  assert.equal(ours?.tasks, 33)
}

test('two runs at the same moment on one home buy everything once', async (t) => {
  const home = await makeCommandHome(t)
  const runs = await Promise.all([runCommand(t, ['run'], { home }), runCommand(t, ['run'], { home })])
  for (const { code, stdout, stderr } of runs) {
    assert.equal(code, 0, stderr)
    assert.match(stdout, /\nOwn apps\n/)
  }
  await assertPaidOnce(t, home)
})
