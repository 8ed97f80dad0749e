/** What the sandbox answers when it answers for another task. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AMPLE, fetchTask, openSandbox, postTasks, task } from './caller.ts'

describe('faults that tell of other tasks', () => {
  test('a result is what another task found, under the id asked for, lacking items it counts', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, ...AMPLE, faults: { otherAnswer: { times: 1 } } })
    const [{ id }] = await postTasks(caller, [
      task({ keyword: 'yoga', tag: 'first' }),
      task({ keyword: 'chess', tag: 'second' }),
    ])
    const told = async () => {
      const answer = await fetchTask(caller, id)
      const { data, result } = answer
      return [answer.id, data.tag, data.keyword, result[0].keyword]
    }
    assert.deepEqual(await told(), [id, 'second', 'chess', 'chess'])
    assert.deepEqual(await told(), [id, 'first', 'yoga', 'yoga'])
    await caller.setFaults({ shortList: { times: 1 } })
    const count = async () => {
      const [{ items, items_count }] = (await fetchTask(caller, id)).result
      return items_count - items.length
    }
    assert.ok((await count()) > 0)
    assert.equal(await count(), 0)
  })

  test("another task's failure is told under the id that was asked for", async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, ...AMPLE, faults: { otherFailure: { times: 1 } } })
    const [{ id }] = await postTasks(caller, [
      task({ tag: 'first' }),
      task({ keyword: 'chess', tag: 'second' }),
    ])
    const told = async () => {
      const answer = await fetchTask(caller, id)
      return [answer.id, answer.status_code, answer.data.tag]
    }
    assert.deepEqual(await told(), [id, 40101, 'second'])
    assert.deepEqual(await told(), [id, 20000, 'first'])
  })

  test('the answer to a POST names ids that no task has, or those of other tasks', async (t) => {
    const caller = await openSandbox(t, { readyMs: 0, ...AMPLE })
    const post = async () => {
      const told = await postTasks(caller, [
        task({ tag: 'first' }),
        task({ keyword: 'chess', tag: 'second' }),
      ])
      return Promise.all(
        told.map(async ({ id }) => {
          const { status_code, data } = await fetchTask(caller, id)
          return [status_code, data.tag]
        }),
      )
    }
    await caller.setFaults({ turnedIds: 1 })
    assert.deepEqual(await post(), [
      [20000, 'second'],
      [20000, 'first'],
    ])
    await caller.setFaults({ wrongPostId: { times: 1 } })
    assert.deepEqual(await post(), [
      [40401, undefined],
      [20000, 'second'],
    ])
  })
})
