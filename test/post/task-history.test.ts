import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reconcile } from '../../jobs/reconcile.ts'
import { scanTaskHistory } from '../../src/post/task-history.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import type { TaskIdQuery, TaskIdRow } from '../../src/service/history.ts'

const CALLS_PER_MINUTE = 10
const RANGE = { from: new Date('2026-11-21T03:00:00Z'), to: new Date('2026-11-21T03:30:00Z') }

/** The rows by execution time as the service lists them: those that are not finished stand last, until they are. */
function makeHistory(tasks: number, finishBetweenPages: number) {
  const finished: string[] = []
  const unfinished = Array.from({ length: tasks }, (_, number) => `task-${number}`)
  let pages = 0
  const listTaskIds = async ({ offset, limit }: TaskIdQuery): Promise<TaskIdRow[]> => {
    pages += 1
    // From the back, where a reader comes last: what jumps in front of it is missed.
    finished.push(...unfinished.splice(unfinished.length - finishBetweenPages))
    const ids: string[] = []
    for (let place = offset; place < Math.min(offset + limit, tasks); place += 1) {
      ids.push(finished[place] ?? unfinished[place - finished.length] ?? '')
    }
    return ids.map((id) => ({ id }) as TaskIdRow)
  }
  return { client: { listTaskIds } as unknown as AppDataClient, countPages: () => pages }
}

for (const finishBetweenPages of [0, 100, 700, 5_000]) {
  test(`200,000 tasks are seen, each once, within the time of the job, while ${finishBetweenPages} finish from page to page`, async (t) => {
    const { client, countPages } = makeHistory(200_000, finishBetweenPages)
    const { found, isComplete } = await scanTaskHistory(client, RANGE, ({ id }) => id)
    assert.ok(isComplete)
    assert.equal(new Set(found).size, 200_000)
    assert.equal(found.length, 200_000)
    // The audit may take every second call.
    t.diagnostic(`${countPages()} pages`)
    assert.ok((countPages() / CALLS_PER_MINUTE) * 2 * 60_000 < reconcile.timeoutMs, `${countPages()} pages`)
  })
}
