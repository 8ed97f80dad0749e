/** Auditing by hand: what a test makes the service list, and what came of it. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Audited, auditPosted } from '../../src/audit/audit.ts'
import type { AppDataClient } from '../../src/service/client.ts'
import type { TaskIdRow } from '../../src/service/task-ids.ts'
import { readOwnBooks, replaceCalls } from '../post/posting.ts'
import { createTestDatabase, emptyTables } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { readSpendDifferences } from '../support/ledger.ts'
import { buy, collect, watchKeywords } from '../support/stages.ts'
import { createWorld, type World, type WorldOptions } from '../support/world.ts'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/**
 * For a file of tests: opens worlds on one database, each with empty tables and a service of its own. Raw
 * pages do not say how many results they hold, so that our books learn of a refund by the audit.
 */
export function useWorlds() {
  const database = lasting(createTestDatabase)
  return async (t: TestContext, options: WorldOptions = {}): Promise<World> => {
    await emptyTables(database.sql)
    await database.sql`truncate audit_difference`
    const shared = { ...database, drop: async () => {} }
    const sandbox = { htmlOnly: true, ...options.sandbox }
    const world = await createWorld({ ...options, sandbox, database: shared })
    t.after(() => world.close())
    return world
  }
}

/** Buys the keywords, and collects what comes. */
export async function measure(
  world: World,
  keywords: readonly string[],
  ...fields: Parameters<typeof watchKeywords>[2][]
): Promise<void> {
  for (const each of fields) await watchKeywords(world, keywords, each)
  await buy(world)
  await collect(world)
}

/** Everything that a test posts, by the clock of a service that is so much ahead. */
export function range(aheadMs = 0) {
  const nowMs = Date.now() + aheadMs
  return { from: new Date(nowMs - HOUR_MS), to: new Date(nowMs + HOUR_MS) }
}

export function auditAll(world: World, client: AppDataClient = world.client, aheadMs = 0): Promise<Audited> {
  return auditPosted(world.db, client, range(aheadMs), { overdueAfterMs: world.settings.overdueAfterMs })
}

/** The world's client, the rows of its task history changed by the test; null: not listed. */
export function withRows(world: World, change: (row: TaskIdRow) => TaskIdRow | null): AppDataClient {
  return replaceCalls(world.client, {
    listTaskIds: async (query) =>
      (await world.client.listTaskIds(query)).map(change).filter((row) => row !== null),
  })
}

/** A client whose task history is what the test says. */
export function withHistory(world: World, listTaskIds: AppDataClient['listTaskIds']): AppDataClient {
  return replaceCalls(world.client, { listTaskIds })
}

export function rowOf(id: string, fields: Partial<TaskIdRow> = {}): TaskIdRow {
  const at = { datetimePosted: new Date(), datetimeDone: new Date() }
  const done = { status: '20000', costMicros: 1200, url: SEARCHES, metadata: null }
  return { id, tag: null, ...at, ...done, ...fields }
}

/** The books agreed, or what did not. */
export const audited = (counts: Partial<Audited>): Audited => ({
  ...{ listed: 0, recorded: 0, adjusted: 0, missing: 0, unknown: 0 },
  ...counts,
})

export async function readProblems({ db }: World) {
  const rows = await db.sql<{ kind: string; subject: string | null; tasks: number; message: string }[]>`
    select kind, subject, tasks, message from audit_problem order by kind, subject, path, message`
  return rows.map((row) => ({ ...row }))
}

/**
 * Our net of each service id beside what the service says, in the order of ids; and the totals beside our
 * charges.
 */
export async function assertBooksAgree(world: World): Promise<void> {
  const ours = await world.db.sql<{ id: string; costMicros: number }[]>`
    select service_id as id, sum(amount_micros)::bigint as "costMicros" from charge
    group by service_id order by service_id`
  const theirs = (await readOwnBooks(world))
    .map(({ id, costMicros }) => ({ id, costMicros }))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  assert.deepEqual(
    ours.map((row) => ({ ...row })),
    theirs,
  )
  assert.deepEqual(await readSpendDifferences(world.db.sql), [])
}

/** Posts past all of our code, as another program of the account or as a runner that we have forgotten. */
export async function postRaw(world: World, path: string, tasks: readonly object[]): Promise<string[]> {
  const response = await fetch(`${world.sandboxUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Basic ${btoa('sandbox:sandbox')}` },
    body: JSON.stringify(tasks),
  })
  const answer = (await response.json()) as { tasks: { id: string; status_code: number }[] }
  assert.ok(answer.tasks.every((task) => task.status_code === 20100))
  return answer.tasks.map((task) => task.id)
}

export const SEARCHES = '/v3/app_data/ios_store/app_searches/task_post'
export const search = (fields: object) => ({
  keyword: 'tea',
  location_code: 2840,
  language_code: 'en',
  ...fields,
})
export const detail = (fields: object) => ({ app_id: '1480010017', location_code: 2840, ...fields })
