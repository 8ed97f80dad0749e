import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Caller, measure, openSandbox, postTasks, USA } from './caller.ts'

const task = (fields: Record<string, unknown> = {}) => ({ keyword: 'yoga', location_code: USA, ...fields })

const balanceOf = async (caller: Caller): Promise<number> =>
  (await caller.get('/v3/appendix/user_data')).tasks[0].result[0].rates.money.balance

describe('billing', () => {
  test('results themselves are free, however often they are asked for', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, balanceUsd: 1 })
    await measure(caller, { keyword: 'yoga' })
    await measure(caller, { app_id: '1480010017' }, { name: 'app_info' })
    assert.equal(await balanceOf(caller), 0.9982)
  })

  test('when the money runs out the tasks that it does not reach are refused without cost', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, balanceUsd: 0.0037 })
    const answers = await postTasks(caller, [task({ depth: 200 }), task({ depth: 200 }), task(), task()])
    assert.deepEqual(
      answers.map((answer) => `${answer.status_code} ${answer.cost}`),
      ['20100 0.0024', '40210 0', '20100 0.0012', '40210 0'],
    )
    assert.equal(answers[1].status_message, 'Insufficient funds.')
    assert.equal(await balanceOf(caller), 0.0001)
  })
})
