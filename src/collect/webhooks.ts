/**
 * What webhooks bring: a postback the result of a task, a pingback the news that it can be fetched. Tasks are
 * recognized by the id and the tag in the URL. A pingback, and a postback whose body has the same id and tag,
 * prove that the task was created: it is adopted when its post is not settled yet. Webhooks are idempotent,
 * because the state of the task guards every write: one may come twice, late, or while the collector fetches
 * the same result.
 */
import type { Database, SqlRunner } from '../db/database.ts'
import { UnavailableError, UnreadableError } from '../errors.ts'
import { adoptOrphans } from '../ledger/adopt.ts'
import { askedColumn, type FetchItem } from '../ledger/hand-out.ts'
import { parseTag } from '../ledger/tag.ts'
import { OVERSIZED, readPostback } from '../service/postback.ts'
import type { ResultOutcome } from '../service/task-result.ts'
import { type EnqueueFetch, handOutRows, toCreated } from './enqueue-results.ts'
import { type Fetched, type FindKnown, readFailure, readOutcome } from './fetch.ts'

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
  readonly findKnown?: FindKnown
  /** Stores a batch of results that are all of different tasks. */
  readonly store: (batch: readonly Fetched[]) => Promise<unknown>
}

/**
 * The HTTP status of the answer. After 200 the service takes the task off its ready list. After any other
 * status the task stays there, for the collector or for the program that it belongs to.
 */
export type Verdict = 200 | 400 | 404 | 413 | 503

/** A task or charge of ours. It is open while the task is `posted` under this service id. */
type KnownTask = FetchItem & { readonly isOpen: boolean }

/** A postback whose body was read; `verdict` when the body cannot be used or need not be read. */
type Opened = Pingback &
  (
    | { readonly outcome: ResultOutcome }
    | { readonly trouble: UnavailableError }
    | { readonly verdict: Verdict }
  )

/**
 * Stores the results of postbacks. They are committed when the verdicts are returned. A task without a charge
 * is adopted after its body was read: an id in the URL alone proves no payment.
 */
export async function storePostbacks(deps: WebhookDeps, postbacks: readonly Postback[]): Promise<Verdict[]> {
  const known = await findTasks(deps.db.sql, postbacks)
  const opened = postbacks.map(({ body, ...webhook }) => openBody(webhook, body, known.get(webhook.id)))
  const proven = opened.filter((postback) => !known.has(postback.id) && isProof(postback))
  const tasks = new Map([...known, ...(await adoptTasks(deps, proven))])
  const readings = opened.map((postback) => readOpened(postback, tasks.get(postback.id), deps.findKnown))
  const fetched = takeOnePerTask(readings.flatMap((reading) => reading.fetched ?? []))
  if (fetched.length > 0) await deps.store(fetched)
  return readings.map((reading) => reading.verdict)
}

/** Hands the tasks that pingbacks name to fetch jobs, in one transaction. */
export async function handOutPingbacks(
  { db, overdueAfterMs, enqueue }: Omit<WebhookDeps, 'store'>,
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

/** Tasks by service id. An id that only `charge` knows is ours too, and is not open. */
async function findTasks(sql: SqlRunner, webhooks: readonly Pingback[]): Promise<Map<string, KnownTask>> {
  const rows = await sql<KnownTask[]>`
    select w.service_id as "serviceId", null as path, 'advanced' as kind, k.html, null as "htmlPath", t.store,
      t.function, k.depth,
      ${askedColumn(sql)}, coalesce(k.state = 'posted', false) as "isOpen"
    from unnest(${webhooks.map(({ id }) => id)}::text[]) as w (service_id)
    left join task k using (service_id) left join target t on t.id = k.target_id
    where k.id is not null
      or exists (select from charge c where c.service_id = w.service_id)`
  return new Map(rows.map((row) => [row.serviceId, row]))
}

/** Reads the body when the task is open, or when its tag says that it may be ours. */
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

function readOpened(
  opened: Opened,
  task: KnownTask | undefined,
  findKnown?: FindKnown,
): { fetched?: Fetched; verdict: Verdict } {
  if ('verdict' in opened) return { verdict: opened.verdict }
  if (task === undefined) return { verdict: 404 }
  if ('trouble' in opened) return { fetched: readFailure(task, opened.trouble), verdict: 503 }
  if (!task.isOpen) return { verdict: 200 }
  const fetched = readOutcome(task, opened.outcome, findKnown)
  return { fetched, verdict: fetched.kind === 'later' ? 503 : 200 }
}

/** One outcome per task: an outcome that ends the task replaces one that defers it. */
function takeOnePerTask(fetched: readonly Fetched[]): Fetched[] {
  const byTask = new Map<string, Fetched>()
  for (const outcome of fetched) {
    const before = byTask.get(outcome.item.serviceId)
    if (before === undefined || before.kind === 'later') byTask.set(outcome.item.serviceId, outcome)
  }
  return [...byTask.values()]
}
