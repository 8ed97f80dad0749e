import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { reconcile } from '../../jobs/reconcile.ts'
import { rangeSinceLastCharge } from '../../src/post/restored.ts'
import { EDGE_MS, scanNewestTasks, scanTaskHistory } from '../../src/post/task-history.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import type { TaskIdQuery, TaskIdRow } from '../../src/service/task-ids.ts'

const CALLS_PER_MINUTE = 10
const RANGE = { from: new Date('2026-11-21T03:00:00Z'), to: new Date('2026-11-21T03:30:00Z') }

/**
 * The rows by execution time as the service lists them: those that are not finished stand last, until they
 * are.
 */
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

for (const finishBetweenPages of [0, 700]) {
  test(
    `200,000 tasks are seen, each once, within the time of the job, while ${finishBetweenPages} finish ` +
      'from page to page',
    async (t) => {
      const { client, countPages } = makeHistory(200_000, finishBetweenPages)
      const { found, isComplete } = await scanTaskHistory(client, RANGE, ({ id }) => id)
      assert.ok(isComplete)
      assert.equal(new Set(found).size, 200_000)
      assert.equal(found.length, 200_000)
      // The audit may take every second call.
      t.diagnostic(`${countPages()} pages`)
      assert.ok((countPages() / CALLS_PER_MINUTE) * 2 * 60_000 < reconcile.timeoutMs, `${countPages()} pages`)
    },
  )
}

test('a list that ignores the offset is no proof, and ends with a page that brings nothing new', async () => {
  const { client, countPages } = makeHistory(5_000, 0)
  const listTaskIds = (query: TaskIdQuery) => client.listTaskIds({ ...query, offset: 0 })
  const deaf = { listTaskIds } as unknown as AppDataClient
  const { found, isComplete } = await scanTaskHistory(deaf, RANGE, ({ id }) => id)
  assert.equal(isComplete, false)
  assert.equal(found.length, 1000)
  assert.equal(countPages(), 8)
})

const SECOND_MS = 1000

/**
 * A list that stands still: `ownSeconds` and `otherSeconds` of the range in which tasks of ours and of other
 * programs were posted.
 */
function makeStanding(ownSeconds: readonly number[], otherSeconds: readonly number[]) {
  const at = (second: number) => RANGE.from.getTime() + second * SECOND_MS
  const tasks = [
    ...ownSeconds.map((second, number) => ({ id: `own-${number}`, postedMs: at(second) })),
    ...otherSeconds.map((second, number) => ({ id: `other-${number}`, postedMs: at(second) })),
  ].sort((one, two) => one.postedMs - two.postedMs)
  let pages = 0
  const listTaskIds = async ({ from, to, offset, limit }: TaskIdQuery): Promise<TaskIdRow[]> => {
    pages += 1
    assert.ok(from <= to)
    const listed = tasks.filter(({ postedMs }) => postedMs >= from.getTime() && postedMs <= to.getTime())
    return listed.slice(offset, offset + limit).map(({ id }) => ({ id }) as TaskIdRow)
  }
  return { tasks, client: { listTaskIds } as unknown as AppDataClient, countPages: () => pages }
}

const keepOwn = ({ id }: TaskIdRow) => (id.startsWith('own') ? id : null)
const lastSecond = (RANGE.to.getTime() - RANGE.from.getTime()) / SECOND_MS
/** Posts of a program: so many tasks in one second. */
const bursts = fc
  .array(
    fc.record({ second: fc.integer({ min: 0, max: lastSecond }), tasks: fc.integer({ min: 1, max: 1200 }) }),
    { maxLength: 6 },
  )
  .map((posts) => posts.flatMap(({ second, tasks }) => Array.from({ length: tasks }, () => second)))

test('the newest tasks of ours are found, with all of ours that were posted since', async () => {
  const guesses = fc.integer({ min: -lastSecond, max: 2 * lastSecond })
  await fc.assert(
    fc.asyncProperty(bursts, bursts, guesses, async (own, others, guess) => {
      const { tasks, client } = makeStanding(own, others)
      const guessed = new Date(RANGE.from.getTime() + guess * SECOND_MS)
      const { found, isComplete } = await scanNewestTasks(client, RANGE, guessed, keepOwn)
      assert.ok(isComplete)
      const ours = tasks.map(({ id }) => id).filter((id) => id.startsWith('own'))
      assert.equal(found.length > 0, ours.length > 0)
      assert.deepEqual(new Set(found), new Set(ours.slice(ours.length - found.length)))
    }),
    { numRuns: 60 },
  )
})

test('a day of a million tasks is told from its newest by a few pages', async () => {
  const own = Array.from({ length: 1_000_000 }, (_, number) => Math.floor(number / 1000))
  const { client, countPages } = makeStanding(own, [])
  const lastCharge = new Date(RANGE.from.getTime() + 1001 * SECOND_MS)
  const { found } = await scanNewestTasks(client, RANGE, lastCharge, keepOwn)
  assert.ok(found.length >= 1000)
  assert.ok(countPages() <= CALLS_PER_MINUTE, `${countPages()} pages`)
})

test('of fewer tasks those of half an hour before the last charge are compared', async () => {
  const own = Array.from({ length: 1_350 }, (_, number) => -4 * number)
  const { client } = makeStanding(own, [])
  const range = { from: new Date(RANGE.from.getTime() - 3 * EDGE_MS), to: RANGE.from }
  const lastCharge = new Date(RANGE.from.getTime() - 10 * SECOND_MS)
  const { found } = await scanNewestTasks(client, range, lastCharge, keepOwn)
  assert.ok(found.length >= 400, `${found.length}`)
})

test('where the clock was ahead more is read, and the last charge is looked for where it is', async () => {
  const now = RANGE.to
  const ago = (ms: number) => new Date(now.getTime() - ms)
  const client = { readListEnd: async () => ({ present: now, listedTo: now }) } as unknown as AppDataClient
  const { from, lastCharge } = await rangeSinceLastCharge(client, {
    ...{ installation: '', recoverFrom: null, isApart: false, now, clockAt: now },
    ...{ lastChargeAt: ago(60_000), checkedAt: ago(120_000), wasAheadMs: 3_600_000 },
  })
  assert.deepEqual([from, lastCharge], [ago(120_000 + 3_600_000 + EDGE_MS), ago(60_000)])
})
