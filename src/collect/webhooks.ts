/**
 * What webhooks bring: a postback the result of a task, a pingback the news of one. They come from outside
 * and prove nothing: only a result under an id that the service has told is taken. The state of the task
 * guards every write, so that one may come twice, late, or beside the collector.
 */
import type { Database, SqlRunner } from '../db/database.ts'
import { UnavailableError, UnreadableError } from '../errors.ts'
import { BY_ID, FETCH_COLUMNS, type FetchItem } from '../ledger/hand-out.ts'
import { OVERSIZED } from '../service/answer.ts'
import { readPostback } from '../service/task-result.ts'
import { type EnqueueFetch, leaseRows } from './enqueue-results.ts'
import { type Fetched, readOutcome, resultBytes } from './fetch.ts'

export interface Pingback {
  /** Of the task, the service's own. */
  readonly id: string
}

export interface Postback extends Pingback {
  readonly body: Buffer
}

export interface WebhookDeps {
  readonly db: Database
  readonly enqueue: EnqueueFetch
  /** Stores results of different tasks. The id stands on each line of the log about the batch. */
  readonly store: (batch: readonly Fetched[], batchId: string) => Promise<unknown>
}

/** The HTTP status of the answer. Only after 200 the service takes the task off its ready list. */
export type Verdict = 200 | 400 | 404 | 413 | 503

/** A task or charge of ours. It is open while the task is `posted` under this service id. */
type KnownTask = FetchItem & { readonly isOpen: boolean }

/** Stores the results of postbacks. They are committed when the verdicts are returned. */
export async function storePostbacks(
  deps: WebhookDeps,
  postbacks: readonly Postback[],
  batchId: string,
): Promise<Verdict[]> {
  const tasks = await findTasks(deps.db.sql, postbacks)
  const readings = postbacks.map((postback) => read(postback, tasks.get(postback.id)))
  const results = readings.flatMap((reading) => reading.fetched ?? [])
  const fetched = [...new Map(results.map((result) => [result.item.serviceId, result])).values()]
  if (fetched.length > 0) await deps.store(fetched, batchId)
  return readings.map((reading) => reading.verdict)
}

/** Hands the tasks that pingbacks name to fetch jobs, in one transaction. */
export async function handOutPingbacks(
  { db, enqueue }: Omit<WebhookDeps, 'store'>,
  pingbacks: readonly Pingback[],
): Promise<Verdict[]> {
  const rows = pingbacks.map(({ id }) => ({ id, path: null, kind: 'advanced' as const, htmlPath: null }))
  await db.begin((tx) => leaseRows(tx, rows, enqueue))
  const tasks = await findTasks(db.sql, pingbacks)
  return pingbacks.map(({ id }) => (tasks.has(id) ? 200 : 404))
}

/** Tasks by service id. An id that only `charge` knows is ours too, and is not open. */
async function findTasks(db: SqlRunner, webhooks: readonly Pingback[]): Promise<Map<string, KnownTask>> {
  const rows = await db<KnownTask[]>`
    select w.service_id as "serviceId", ${BY_ID}, ${FETCH_COLUMNS},
      coalesce(k.state = 'posted', false) as "isOpen"
    from unnest(${webhooks.map(({ id }) => id)}::text[]) as w (service_id)
    left join task k using (service_id) left join target t on t.id = k.target_id
    where k.id is not null
      or exists (select from charge c where c.service_id = w.service_id)`
  return new Map(rows.map((row) => [row.serviceId, row]))
}

/** A task that is not done, or failed, stays on the ready list, and the service says so when it is asked. */
function read(
  { id, body }: Postback,
  task: KnownTask | undefined,
): { readonly fetched?: Fetched; readonly verdict: Verdict } {
  if (task === undefined) return { verdict: 404 }
  if (!task.isOpen) return { verdict: 200 }
  try {
    const outcome = readPostback(body, id, resultBytes(task))
    if (outcome.kind !== 'done') return { verdict: 503 }
    return { fetched: readOutcome(task, outcome), verdict: 200 }
  } catch (error) {
    if (error instanceof UnreadableError) return { verdict: error.path === OVERSIZED ? 413 : 400 }
    if (error instanceof UnavailableError) return { verdict: 503 }
    throw error
  }
}
