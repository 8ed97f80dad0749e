import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Caller, DAY_MS, MINUTE_MS, measure, openSandbox, postTasks, stamp, USA } from './caller.ts'

const task = (fields: Record<string, unknown> = {}) => ({ keyword: 'yoga', location_code: USA, ...fields })

const balanceOf = async (caller: Caller): Promise<number> =>
  (await caller.get('/v3/appendix/user_data')).tasks[0].result[0].rates.money.balance

const costOf = async (caller: Caller, id: string): Promise<number> => {
  const body = { datetime_from: stamp(caller.clock.nowMs - DAY_MS), datetime_to: stamp(caller.clock.nowMs) }
  const rows = (await caller.post('/v3/app_data/id_list', body)).tasks[0].result
  return rows.find((row: { id: string }) => row.id === id).cost
}

describe('billing', () => {
  test('a search is charged at posting, and refunded at completion for the units that it did not fill', async (t) => {
    const caller = await openSandbox(t, { readyMs: 10_000, balanceUsd: 1 })
    const [posted] = await postTasks(caller, [task({ depth: 700 })])
    assert.equal(posted.cost, 0.0084)
    assert.equal(await balanceOf(caller), 0.9916)
    assert.equal(await costOf(caller, posted.id), 0.0084)
    caller.clock.nowMs += 10_000
    const { items } = (await caller.get(`/v3/app_data/ios_store/app_searches/task_get/advanced/${posted.id}`))
      .tasks[0].result[0]
    const organic = items.filter((item: { type: string }) => item.type.endsWith('_organic')).length
    assert.ok(organic > 200 && organic < 300, `${organic} results`)
    assert.equal(await costOf(caller, posted.id), 0.0036)
    assert.equal(await balanceOf(caller), 0.9964)
  })

  test('a keyword that finds nothing costs one unit', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, balanceUsd: 1 })
    const [posted] = await postTasks(caller, [task({ keyword: 'xkcdqwrt', depth: 500, priority: 2 })])
    assert.equal(posted.cost, 0.012)
    assert.equal(await costOf(caller, posted.id), 0.0024)
    assert.equal(await balanceOf(caller), 0.9976)
  })

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

  test('a limit per day refuses further tasks until midnight UTC', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, costLimitPerDayUsd: 0.0024 })
    const post = async () => (await postTasks(caller, [task()]))[0].status_code
    assert.deepEqual([await post(), await post(), await post()], [20100, 20100, 40203])
    caller.clock.nowMs += 12 * 60 * MINUTE_MS
    assert.equal(await post(), 20100)
  })

  test('a limit per minute refuses further tasks until the next minute', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, costLimitPerMinuteUsd: 0.0012 })
    const post = async () => (await postTasks(caller, [task()]))[0].status_code
    assert.deepEqual([await post(), await post()], [20100, 40203])
    caller.clock.nowMs += MINUTE_MS
    assert.equal(await post(), 20100)
  })
})
