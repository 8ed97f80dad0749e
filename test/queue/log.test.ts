/** The log of a runner: which ids stand on its lines. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { auditPosted } from '../../src/audit/audit.ts'
import { handOutOverdue, handOutReady } from '../../src/collect/enqueue-results.ts'
import { planDueTasks } from '../../src/plan/plan.ts'
import { recoverForgottenTasks } from '../../src/post/recover.ts'
import { executeJob } from '../../src/queue/job.ts'
import { listen, startRunner } from '../../src/queue/runner.ts'
import { Secret } from '../../src/secret.ts'
import { range, rowOf, withHistory } from '../audit/auditing.ts'
import { buyTasks } from '../collect/receiving.ts'
import { answered, answerOf, countStates, readOwnBooks, replaceCalls } from '../post/posting.ts'
import { buy, watchKeywords } from '../support/stages.ts'
import { createWorld, until, type World } from '../support/world.ts'

// biome-ignore lint/suspicious/noExplicitAny: a line of the log has any fields.
type Line = any

async function openLogged(t: TestContext) {
  const world = await createWorld()
  t.after(() => world.close())
  const lines: Line[] = []
  const log = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) })
  const { context } = await world.openRunner()
  const find = (msg: string): Line[] => lines.filter((line) => line.msg === msg)
  return { world, context: { ...context, log }, find }
}

async function readTasks(world: World) {
  return world.db.sql<{ taskId: string; serviceId: string | null; postId: string; state: string }[]>`
    select id as "taskId", service_id as "serviceId", post_id as "postId", state from task order by id`
}

test('a post and a batch have one line each with their ids, and each task that failed has one', async (t) => {
  const { world, context, find } = await openLogged(t)
  const expired = {
    kind: 'failed',
    statusCode: 40403,
    message: 'Results Expired.',
    echo: null,
    path: null,
  } as const
  let asked = 0
  const client = replaceCalls(world.client, {
    getResult: async (address, read = (outcome) => outcome as never) => {
      asked += 1
      return asked === 1 ? read(expired) : world.client.getResult(address, read)
    },
  })
  await watchKeywords(world, ['yoga', 'chess'])
  await startRunner({ ...context, client }, [])
  await planDueTasks(world.db, world.settings.budget, context.queue.enqueuePosts)
  await until('the post is settled', async () => find('post settled').length === 1)
  await handOutReady(world.db, world.client, world.settings, context.queue.enqueueFetch)
  await until('the failed task is told', async () => find('task failed').length === 1)
  const [settled] = find('post settled')
  const [stored] = find('batch stored')
  const failed = (await readTasks(world)).filter(({ state }) => state === 'failed')
  assert.equal(failed.length, 1)
  assert.deepEqual([settled.postId, settled.created], [failed[0]?.postId, 2])
  assert.match(settled.jobId, /^[0-9a-f-]{36}$/)
  assert.deepEqual([stored.results, stored.stored, stored.failed], [2, 1, 1])
  assert.match(stored.jobId, /^[0-9a-f-]{36}$/)
  const { jobId, taskId, serviceId, postId, statusCode } = find('task failed')[0]
  assert.deepEqual({ taskId, serviceId, postId, state: 'failed' }, failed[0])
  assert.deepEqual([jobId, statusCode], [stored.jobId, 40403])
})

test(
  'of many tasks that the service refuses at once twenty have a line, and one says how many more there ' +
    'are',
  async (t) => {
    const { world, context, find } = await openLogged(t)
    const client = replaceCalls(world.client, {
      postTasks: async (_store, _fn, tasks) =>
        answered(tasks.map(({ tag = '' }) => answerOf(tag, 40501, "Invalid Field: 'keyword'."))),
    })
    await watchKeywords(
      world,
      Array.from({ length: 23 }, (_, n) => `yoga ${n}`),
    )
    await startRunner({ ...context, client }, [])
    await planDueTasks(world.db, world.settings.budget, context.queue.enqueuePosts)
    await until('the post is settled', async () => find('post settled').length === 1)
    assert.deepEqual(await countStates(world.db), { failed: 23 })
    const ids = new Set((await readTasks(world)).map(({ taskId, postId }) => `${taskId} ${postId}`))
    assert.equal(find('task failed').length, 20)
    for (const { taskId, postId } of find('task failed')) assert.ok(ids.has(`${taskId} ${postId}`))
    assert.deepEqual(
      find('further tasks failed').map(({ tasks }) => tasks),
      [3],
    )
  },
)

test('a result that is rejected has a line with its ids', async (t) => {
  const { world, context, find } = await openLogged(t)
  const client = replaceCalls(world.client, {
    postTasks: async (_store, _fn, tasks) =>
      answered(tasks.map(({ tag = '' }) => answerOf(tag, 20100, 'Task Created.', 'first'))),
    getResult: async (_, read = (outcome) => outcome as never) =>
      read({
        kind: 'done',
        serviceId: 'first',
        tag: null,
        statusCode: 20000,
        result: {},
        ...{ echo: null, path: null, results: 1 },
        answeredAt: null,
        rawBytes: 2,
      }),
  })
  await watchKeywords(world, ['yoga'])
  await startRunner({ ...context, client }, [])
  await planDueTasks(world.db, world.settings.budget, context.queue.enqueuePosts)
  await until('the post is settled', async () => find('post settled').length === 1)
  const [task] = await readTasks(world)
  await world.db.sql`update task set unusable_answers = 5, ask_at = posted_at`
  await handOutOverdue(world.db, context.queue.enqueueFetch)
  await until('the rejected result is told', async () => find('result rejected').length === 1)
  const [rejected] = find('result rejected')
  assert.deepEqual([rejected.taskId, rejected.postId, rejected.level], [task?.taskId, task?.postId, 40])
  assert.equal(rejected.serviceId, task?.serviceId)
  assert.equal(typeof rejected.path, 'string')
})

test('deliveries have the id of their batch, and name their tasks where they are few', async (t) => {
  const { world, context, find } = await openLogged(t)
  const secret = 'a'.repeat(32)
  const settings = { ...context.settings, postbackUrl: new Secret(`https://ranks.example.com/${secret}`) }
  const receiver = await listen({ ...context, settings }, { host: '127.0.0.1', port: 0 })
  t.after(() => receiver?.close())
  const [task] = await buyTasks(world, ['yoga'])
  assert.ok(task !== undefined)
  const query = new URLSearchParams({ id: task.id, tag: task.tag })
  const response = await fetch(`http://127.0.0.1:${receiver?.address.port}/${secret}?${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: task.answer,
  })
  assert.equal(response.status, 200)
  const [stored] = find('deliveries stored')
  assert.match(stored.batchId, /^[0-9a-f-]{36}$/)
  assert.deepEqual([stored.stored, stored.serviceIds], [1, [task.id]])
})

test('a run of a job has a line with its name and its slot', async (t) => {
  const { context, find } = await openLogged(t)
  const slot = new Date('2026-11-21T03:00:00Z')
  const job = {
    name: 'job',
    description: 'A test.',
    cron: '0 3 * * *',
    catchUp: 'latest',
    timeoutMs: 60_000,
  } as const
  const summary = { tasks: 3, none: 0, written: ['a'], left: [], until: null, isWhole: false }
  await executeJob(context, { ...job, run: async () => summary }, slot)
  const [{ time: _, pid, hostname, level, msg, ...told }] = find('job done')
  assert.deepEqual(told, { job: 'job', slot: slot.toISOString(), tasks: 3, written: ['a'] })
  await executeJob(context, { ...job, run: async () => ({ tasks: 0 }) }, new Date('2026-11-21T04:00:00Z'))
  assert.equal(find('job done').length, 1, 'what found nothing to do is told at debug')
})

test('a second charge has a line with its ids where audit or recovery finds it', async (t) => {
  const { world, context, find } = await openLogged(t)
  await watchKeywords(world, ['yoga'])
  await buy(world)
  const [own] = await readOwnBooks(world)
  const [task] = await readTasks(world)
  const rows = [rowOf(own?.id ?? '', { tag: own?.tag ?? null })]
  const client = withHistory(world, async ({ offset, limit }) => rows.slice(offset, offset + limit))
  const options = { overdueAfterMs: world.settings.overdueAfterMs, log: context.log, signal: context.signal }
  const findSecond = {
    audit: () => auditPosted(world.db, client, range(), options),
    recovery: () => recoverForgottenTasks(world.db, client, { ...options, quietMs: 0 }),
  }
  for (const [id, look] of Object.entries(findSecond)) {
    rows.push(rowOf(id, { tag: own?.tag ?? null }))
    await look()
    const { taskId, serviceId, postId, amountMicros } = find('task charged twice').at(-1)
    assert.deepEqual([taskId, serviceId, postId, amountMicros], [task?.taskId, id, task?.postId, 1200])
  }
  assert.equal(find('task charged twice').length, 2)
})
