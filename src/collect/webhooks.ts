/**
 * What webhooks say: a postback brings the result of a task, a pingback that it can be fetched. Tasks are recognized by the id
 * and the tag in the URL, which are evidence: one whose post is not settled yet is adopted first. Nothing here is decided
 * that the task's state does not guard, so that a webhook may come twice, late, or beside the collector.
 */
import type { Database, SqlRunner } from '../db/database.ts'
import { UnavailableError, UnreadableError } from '../errors.ts'
import { adoptOrphans } from '../post/evidence.ts'
import { OVERSIZED, readPostback } from '../service/postback.ts'
import { type Fetched, readFailure, readOutcome } from './fetch.ts'
import { type EnqueueFetch, type FetchItem, handOutRows, toCreated } from './hand-out.ts'

export interface Pingback {
  readonly id: string
  readonly tag: string | null
}

export interface Postback extends Pingback {
  readonly body: Buffer
}

export interface WebhookDeps {
  readonly db: Database
  readonly overdueAfterMs: number
  readonly enqueue: EnqueueFetch
  /** Stores a batch of results that are all of different tasks. */
  readonly store: (batch: readonly Fetched[]) => Promise<unknown>
}

/**
 * The HTTP status of the answer. Only 200 ends the service's own keeping: whatever is answered otherwise stays in the ready
 * list, for the collector or for the program that the task belongs to.
 */
export type Verdict = 200 | 400 | 404 | 413 | 503

/** A task that we know; no longer open when it has ended, or when the id is that of an attempt which does not count. */
type KnownTask = FetchItem & { readonly isOpen: boolean }

/** Stores what postbacks bring. It has been committed when the verdicts are given. */
export async function storePostbacks(deps: WebhookDeps, postbacks: readonly Postback[]): Promise<Verdict[]> {
  const tasks = await recognizeTasks(deps, postbacks)
  const readings = postbacks.map(({ id, body }) => readBody(tasks.get(id), body))
  const fetched = takeOnePerTask(readings.flatMap((reading) => reading.fetched ?? []))
  if (fetched.length > 0) await deps.store(fetched)
  return readings.map((reading) => reading.verdict)
}

/** Hands the tasks that pingbacks name to fetch jobs, in one transaction. */
export async function handOutPingbacks(
  { db, overdueAfterMs, enqueue }: WebhookDeps,
  pingbacks: readonly Pingback[],
): Promise<Verdict[]> {
  const rows = pingbacks.map(({ id, tag }) => ({
    id,
    tag,
    path: null,
    kind: 'advanced' as const,
    htmlPath: null,
  }))
  await handOutRows(db, rows, { overdueAfterMs }, enqueue)
  const tasks = await findTasks(db.sql, pingbacks)
  return pingbacks.map(({ id }) => (tasks.has(id) ? 200 : 404))
}

async function recognizeTasks(
  { db, overdueAfterMs }: WebhookDeps,
  webhooks: readonly Pingback[],
): Promise<Map<string, KnownTask>> {
  const tasks = await findTasks(db.sql, webhooks)
  const strangers = webhooks.filter(({ id }) => !tasks.has(id))
  if (strangers.length === 0) return tasks
  const adopted = await db.begin(async (tx) => {
    await adoptOrphans(tx, strangers.flatMap(toCreated), overdueAfterMs)
    return findTasks(tx, strangers)
  })
  return new Map([...tasks, ...adopted])
}

/** By service id: an id that only the ledger knows is ours, and there is nothing to be done for it. */
async function findTasks(sql: SqlRunner, webhooks: readonly Pingback[]): Promise<Map<string, KnownTask>> {
  const rows = await sql<KnownTask[]>`
    select w.service_id as "serviceId", null as path, 'advanced' as kind, k.html, null as "htmlPath", t.store, t.function, k.depth,
      coalesce(k.state in ('planned', 'posting', 'posted'), false) as "isOpen"
    from unnest(${webhooks.map(({ id }) => id)}::text[]) as w (service_id)
    left join task k using (service_id) left join target t on t.id = k.target_id
    where k.id is not null
      or exists (select from charge c where c.service_id = w.service_id and c.kind <> 'estimate')`
  return new Map(rows.map((row) => [row.serviceId, row]))
}

function readBody(task: KnownTask | undefined, body: Buffer): { fetched?: Fetched; verdict: Verdict } {
  if (task === undefined) return { verdict: 404 }
  if (!task.isOpen) return { verdict: 200 }
  try {
    const fetched = readOutcome(task, readPostback(body, task.serviceId))
    return { fetched, verdict: fetched.kind === 'later' ? 503 : 200 }
  } catch (error) {
    if (error instanceof UnreadableError) return { verdict: error.path === OVERSIZED ? 413 : 400 }
    if (!(error instanceof UnavailableError)) throw error
    return { fetched: readFailure(task, error), verdict: 503 }
  }
}

/** What ends a task goes before what only puts it off. */
function takeOnePerTask(fetched: readonly Fetched[]): Fetched[] {
  const byTask = new Map<string, Fetched>()
  for (const one of fetched) {
    const before = byTask.get(one.item.serviceId)
    if (before === undefined || before.kind === 'later') byTask.set(one.item.serviceId, one)
  }
  return [...byTask.values()]
}
