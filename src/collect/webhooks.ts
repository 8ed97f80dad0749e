/**
 * What webhooks say: a postback brings the result of a task, a pingback that it can be fetched. Tasks are recognized by the id
 * and the tag in the URL. These are evidence, where the body says so as well: a task whose post is not settled yet is adopted. Nothing here is decided
 * that the task's state does not guard, so that a webhook may come twice, late, or beside the collector.
 */
import type { Database, SqlRunner } from '../db/database.ts'
import { UnavailableError, UnreadableError } from '../errors.ts'
import { adoptOrphans } from '../ledger/adopt.ts'
import type { FetchItem } from '../ledger/hand-out.ts'
import { parseTag } from '../ledger/tag.ts'
import { OVERSIZED, readPostback } from '../service/postback.ts'
import type { ResultOutcome } from '../service/task-result.ts'
import { type EnqueueFetch, handOutRows, toCreated } from './enqueue-results.ts'
import { type Fetched, readFailure, readOutcome } from './fetch.ts'

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

/** A postback whose body was read; `verdict` where it says nothing of use, or need not be read. */
type Opened = Pingback &
  (
    | { readonly outcome: ResultOutcome }
    | { readonly trouble: UnavailableError }
    | { readonly verdict: Verdict }
  )

/**
 * Stores what postbacks bring. It has been committed when the verdicts are given. A task that is not known is adopted after its
 * body was read: an id in the URL alone proves no payment.
 */
export async function storePostbacks(deps: WebhookDeps, postbacks: readonly Postback[]): Promise<Verdict[]> {
  const known = await findTasks(deps.db.sql, postbacks)
  const opened = postbacks.map(({ body, ...webhook }) => openBody(webhook, body, known.get(webhook.id)))
  const proven = opened.filter((one) => !known.has(one.id) && isProof(one))
  const tasks = new Map([...known, ...(await adoptTasks(deps, proven))])
  const readings = opened.map((one) => readOpened(one, tasks.get(one.id)))
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

async function adoptTasks(
  { db, overdueAfterMs }: WebhookDeps,
  proven: readonly Pingback[],
): Promise<Map<string, KnownTask>> {
  if (proven.length === 0) return new Map()
  return db.begin(async (tx) => {
    await adoptOrphans(tx, proven.flatMap(toCreated), overdueAfterMs)
    return findTasks(tx, proven)
  })
}

/** By service id: an id that only the ledger knows is ours, and there is nothing to be done for it. */
async function findTasks(sql: SqlRunner, webhooks: readonly Pingback[]): Promise<Map<string, KnownTask>> {
  const rows = await sql<KnownTask[]>`
    select w.service_id as "serviceId", null as path, 'advanced' as kind, k.html, null as "htmlPath", t.store, t.function, k.depth,
      coalesce(k.state = 'posted', false) as "isOpen"
    from unnest(${webhooks.map(({ id }) => id)}::text[]) as w (service_id)
    left join task k using (service_id) left join target t on t.id = k.target_id
    where k.id is not null
      or exists (select from charge c where c.service_id = w.service_id)`
  return new Map(rows.map((row) => [row.serviceId, row]))
}

/** Reads the body of what is open, or may be ours: nothing else is worth the time. */
function openBody(webhook: Pingback, body: Buffer, task: KnownTask | undefined): Opened {
  if (task === undefined && parseTag(webhook.tag) === null) return { ...webhook, verdict: 404 }
  if (task?.isOpen === false) return { ...webhook, verdict: 200 }
  try {
    return { ...webhook, outcome: readPostback(body, webhook.id) }
  } catch (error) {
    if (error instanceof UnreadableError) {
      return { ...webhook, verdict: error.path === OVERSIZED ? 413 : 400 }
    }
    if (error instanceof UnavailableError) return { ...webhook, trouble: error }
    throw error
  }
}

/** A result under the id and with the tag of the URL: the service created that task. */
function isProof(opened: Opened): boolean {
  if (!('outcome' in opened) || opened.outcome.kind !== 'done') return false
  const { serviceId, tag } = opened.outcome
  return serviceId === opened.id && (tag ?? opened.tag) === opened.tag
}

function readOpened(opened: Opened, task: KnownTask | undefined): { fetched?: Fetched; verdict: Verdict } {
  if ('verdict' in opened) return { verdict: opened.verdict }
  if (task === undefined) return { verdict: 404 }
  if ('trouble' in opened) return { fetched: readFailure(task, opened.trouble), verdict: 503 }
  if (!task.isOpen) return { verdict: 200 }
  const fetched = readOutcome(task, opened.outcome)
  return { fetched, verdict: fetched.kind === 'later' ? 503 : 200 }
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
