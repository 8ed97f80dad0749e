/**
 * Posting by hand: plans posts without a queue, works them with any client, and compares what the service
 * wrote down with what we did.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { planDueTasks } from '../../src/plan/plan.ts'
import { type Claim, type ClaimedPost, claimPost } from '../../src/post/claim.ts'
import { type Swept, sweepPosts } from '../../src/post/reconcile.ts'
import { type Settled, settlePost } from '../../src/post/settle.ts'
import { type PostDeps, type PostResult, workPost } from '../../src/post/work-post.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import type { PostOutcome } from '../../src/service/post-tasks.ts'
import type { SendWindow } from '../../src/service/transport.ts'
import { emptyTables } from '../support/database.ts'
import { putFaults } from '../support/faults.ts'
import { rememberPrices } from '../support/ledger.ts'
import type { World } from '../support/world.ts'

type Fields = Record<string, string | number | boolean>

/** Watches each keyword, in the United States at depth 100: one task of $0.0012 each. */
export async function watch(world: World, keywords: readonly string[], fields: Fields = {}): Promise<void> {
  const rows = keywords.map((keyword) => ({
    project: 'fitness',
    store: 'ios_store',
    keyword,
    location_code: 2840,
    language_code: 'en',
    ...fields,
  }))
  await world.db.sql`insert into keyword_watch ${sql.row(...rows)}`
}

/** Plans what is due, and returns the ids of its posts, which nobody works yet. */
export async function planPosts(world: World): Promise<string[]> {
  const postIds: string[] = []
  await planDueTasks(world.db, world.settings.budget, async (_, ids) => {
    postIds.push(...ids)
  })
  return postIds
}

/** Watches the keywords and plans them, as one post. */
export async function planPost(
  world: World,
  keywords: readonly string[],
  fields: Fields = {},
): Promise<string> {
  await watch(world, keywords, fields)
  const [postId, ...more] = await planPosts(world)
  assert.ok(postId !== undefined && more.length === 0)
  return postId
}

export function depsOf(world: World, changes: Partial<PostDeps> = {}): PostDeps {
  return {
    db: world.db,
    client: world.client,
    log: pino({ level: 'silent' }),
    budget: world.settings.budget,
    window: { ...world.settings, runner: 'test' },
    overdueAfterMs: world.settings.overdueAfterMs,
    postbackUrl: world.settings.postbackUrl,
    ...changes,
  }
}

/** Claims a post, whatever comes of it. */
export function claim(
  world: World,
  postId: string | undefined,
  changes: Partial<PostDeps> = {},
): Promise<Claim> {
  return claimPost(world.db, postId ?? '', randomUUID(), depsOf(world, changes))
}

/** Claims a post that can be claimed. */
export async function claimed(
  world: World,
  postId: string | undefined,
  changes: Partial<PostDeps> = {},
): Promise<ClaimedPost> {
  const made = await claim(world, postId, changes)
  assert.ok(made.kind === 'claimed')
  return made.post
}

/** What was claimed of a post, by its keywords. */
export async function subjectsClaimed(
  world: World,
  postId: string | undefined,
  changes: Partial<PostDeps> = {},
): Promise<string[]> {
  return (await claimed(world, postId, changes)).tasks.map((task) => task.subject)
}

/** A budget for a day. */
export function perDay(maxDayMicros: number): Pick<PostDeps, 'budget'> {
  return { budget: { maxDayMicros, maxMonthMicros: null } }
}

export function settle(
  world: World,
  post: { readonly postId: string; readonly token: string },
  answers: readonly ReturnType<typeof answerOf>[],
  problem: string | null = null,
): Promise<Settled> {
  return settlePost(world.db, post, answers, 60_000, problem)
}

/** Settles a post by the same answer to each of its tasks. */
export function answerAll(world: World, post: ClaimedPost, statusCode: number): Promise<Settled> {
  const answers = post.tasks.map((task) => answerOf(task.tag, statusCode))
  return settle(world, post, answers)
}

/** The next posts of what was given back, as the sweep packs and enqueues them. */
export async function sweep(world: Pick<World, 'db'>): Promise<Swept & { enqueued: string[] }> {
  const enqueued: string[] = []
  const swept = await sweepPosts(world.db, async (_, ids) => void enqueued.push(...ids))
  return { ...swept, enqueued }
}

/** The rows of a statement, as plain records. */
export async function rowsOf(world: World, statement: string): Promise<Record<string, unknown>[]> {
  return (await world.db.sql.unsafe(statement)).map((row) => ({ ...row }))
}

/** The gaps that the history has. */
export const readGaps = (world: World) => rowsOf(world, 'select gap, reason from ranking order by 1')

/** What the budgets cut of the slots that are due. */
export const readCuts = (world: World) =>
  rowsOf(world, 'select cut as reason, price_micros from due_slot where slot <= now() order by 1 desc')

export function work(world: World, postId: string, changes: Partial<PostDeps> = {}): Promise<PostResult> {
  return workPost(depsOf(world, changes), postId, AbortSignal.timeout(60_000))
}

/** The sandbox's clock against ours, until the test ends. */
export async function setServiceClock(t: TestContext, world: World, hoursAhead: number): Promise<void> {
  await putFaults(world.sandboxUrl, { clockOffsetMs: hoursAhead * 3_600_000 })
  t.after(() => putFaults(world.sandboxUrl, { clockOffsetMs: 0 }))
}

export interface PostCall {
  readonly tags: readonly string[]
  readonly send: SendWindow
}

/** The client, with some of its calls done by the test. */
export function replaceCalls(client: AppDataClient, calls: Partial<AppDataClient>): AppDataClient {
  return new Proxy(client, {
    get: (target, name) => {
      const found = Reflect.get(calls, name) ?? Reflect.get(target, name)
      return typeof found === 'function' ? found.bind(target) : found
    },
  })
}

/** The client, with a `postTasks` that writes down each call and does what the test says. */
export function clientThat(
  world: World,
  calls: PostCall[],
  post: (call: PostCall) => PostOutcome | Promise<PostOutcome>,
): AppDataClient {
  return replaceCalls(world.client, {
    postTasks: async (_store, _fn, tasks, send) => {
      assert.ok(send !== undefined)
      const call = { tags: tasks.map((task) => task.tag), send }
      calls.push(call)
      return post(call)
    },
  })
}

/** The answer to one tag of a POST. */
export function answerOf(tag: string, statusCode: number, message = 'Task Created.', serviceId = `s-${tag}`) {
  return { tag, serviceId, statusCode, message, costMicros: statusCode === 20100 ? 1200 : 0 }
}

export function answered(answers: readonly ReturnType<typeof answerOf>[]): PostOutcome {
  return { kind: 'answered', answers, httpStatus: 200, statusCode: 20000 }
}

export interface BookEntry {
  readonly id: string
  readonly tag: string
  /** How it ended there, such as 20000 or 40101. */
  readonly status: string
  readonly costMicros: number
}

/** Asks the sandbox as the owner of its account, past all of our code. */
export async function askSandbox<T>(world: World, method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(world.sandboxUrl + path, {
    method,
    headers: { authorization: `Basic ${btoa('sandbox:sandbox')}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  assert.equal(response.status, 200)
  return (await response.json()) as T
}

/** The sandbox's own books of the last hour, by its own clock. */
async function readBooks(world: World): Promise<BookEntry[]> {
  type Rows = { id: string; cost: number; status: string; metadata: { tag: string } }[]
  const entries: BookEntry[] = []
  const { clockOffsetMs } = await askSandbox<{ clockOffsetMs: number }>(world, 'GET', '/faults')
  const nowMs = Date.now() + clockOffsetMs
  const stamp = (ms: number) => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} +00:00`
  const range = { datetime_from: stamp(nowMs - 3_600_000), datetime_to: stamp(nowMs) }
  for (let offset = 0; ; offset += 1000) {
    const query = [{ ...range, offset, limit: 1000, include_metadata: true }]
    const path = '/v3/app_data/id_list'
    const { tasks } = await askSandbox<{ tasks: [{ result: Rows }] }>(world, 'POST', path, query)
    for (const { id, cost, status, metadata } of tasks[0].result) {
      entries.push({ id, status, tag: metadata.tag, costMicros: Math.round(cost * 1_000_000) })
    }
    if (tasks[0].result.length < 1000) return entries
  }
}

/** What the books hold of the tasks of our database. */
export async function readOwnBooks(world: World): Promise<BookEntry[]> {
  const tasks = await world.db.sql<{ id: string }[]>`select id from task`
  const own = new Set(tasks.map((task) => task.id))
  return (await readBooks(world)).filter((entry) => own.has(entry.tag.split('.')[0] ?? ''))
}

/** Task states and how many tasks have each. */
export async function countStates(db: Database): Promise<Record<string, number>> {
  const rows = await db.sql<{ state: string; tasks: number }[]>`
    select state, count(*) as tasks from task group by state order by state`
  return Object.fromEntries(rows.map((row) => [row.state, row.tasks]))
}

/** Micro-dollars by kind of charge; `reserved` is what planned and posting tasks hold. */
export async function readMoney(db: Database): Promise<Record<string, number>> {
  const rows = await db.sql<{ kind: string; micros: number }[]>`
    select kind, sum(micros)::bigint as micros
    from (
      select kind, amount_micros as micros from charge
      union all
      select 'reserved', estimate_micros from task where state in ('planned', 'posting')
        and estimate_micros > 0
    ) as money group by 1 order by 1`
  return Object.fromEntries(rows.map((row) => [row.kind, row.micros]))
}

/** Sessions that wait for a lock. */
export async function countWaiting(world: World): Promise<number> {
  const [row] = await world.db.sql<{ waiting: number }[]>`
    select count(*) as waiting from pg_stat_activity where datname = current_database()
      and wait_event_type = 'Lock'`
  return row?.waiting ?? 0
}

/** Everything that was watched, planned and paid is gone; the sandbox keeps its books. */
export async function forgetAll(world: World): Promise<void> {
  await emptyTables(world.db.sql)
  await rememberPrices(world.db.sql)
}

/**
 * A database that is another process as far as Postgres can tell; `close` cuts it off in the middle of
 * whatever it does.
 */
export function openOther(world: World): Database {
  return openDatabase(world.db.url, { name: 'other' })
}

/** Does its work as a runner whose business time is `now`. */
export async function runAt<T>(
  { db }: Pick<World, 'db'>,
  now: string,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  const other = openDatabase(db.url, { maxConnections: 1 })
  try {
    await other.sql`select set_config('storerank.now', ${now}, false)`
    return await work(other)
  } finally {
    await other.close()
  }
}

/** Claims a post as a runner whose business time is `now`. */
export function claimAt(world: World, postId: string, now: string): Promise<Claim> {
  return runAt(world, now, (db) => claimPost(db, postId, randomUUID(), depsOf(world)))
}

/** All tasks are as one is that the service charged and failed, and that is planned again. */
export async function failAtService(world: World): Promise<void> {
  await world.db.sql`update task set attempt = 2, status_code = 40101, problem = '40101: It failed.'`
}
