/**
 * Posts whose outcome nobody knows. One scan of the service's own task history serves them all: tags found are adopted;
 * "not found" takes two complete scans, the second begun after the quiet time, and an adoption always beats a release.
 */
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import type { AppDataClient } from '../service/client.ts'
import { MAX_TASK_ID_ROWS, type TaskIdRow } from '../service/history.ts'
import { type CreatedTask, recordCreated, settleKnownPosts } from './evidence.ts'
import { parseTag } from './tag.ts'

export interface ReconcileOptions {
  /** Longer than TCP may still deliver what a dead runner wrote. */
  readonly quietMs: number
  readonly overdueAfterMs: number
}

export interface UnknownPosts {
  readonly unknownPosts: number
  /** When the last of them may be released; null when nothing is unknown. */
  readonly waitsUntil: Date | null
}

export interface Reconciled extends UnknownPosts {
  readonly adopted: number
  readonly duplicates: number
  readonly released: number
}

/** The clocks of runner, database and service may differ by this much. */
const CLOCK_SKEW_MS = 5 * 60_000
/** Pages shift while tasks finish, so each begins a little before the last one ended. */
const PAGE_OVERLAP_ROWS = 100

/** Posts whose answer is overdue become unknown: whoever sent them is dead, frozen, or will find its token gone. */
export async function markOverduePosts(db: Database): Promise<number> {
  const rows = await db.sql`
    update post set state = 'unknown', problem = 'Its runner never reported an answer.'
    where state = 'sending' and answer_before < clock_timestamp()
    returning id`
  return rows.length
}

/** Scans once for all unknown posts, adopts what is found and releases what is proven missing. Free of charge. */
export async function reconcileUnknownPosts(
  db: Database,
  client: AppDataClient,
  options: ReconcileOptions,
): Promise<Reconciled> {
  const [scan] = await db.sql<{ earliest: Date | null; began: Date }[]>`
    select min(send_before) as earliest, clock_timestamp() as began from post where state = 'unknown'`
  if (scan?.earliest == null) {
    return { unknownPosts: 0, waitsUntil: null, adopted: 0, duplicates: 0, released: 0 }
  }
  const { began } = scan
  const found = await scanTaskHistory(client, new Date(scan.earliest.getTime() - CLOCK_SKEW_MS))
  return db.sql.begin(async (tx) => {
    const evidence = await recordCreated(tx, found, options.overdueAfterMs)
    const posts = await tx<
      { id: string }[]
    >`select id from post where state = 'unknown' order by id for update`
    await settleKnownPosts(
      tx,
      posts.map((post) => post.id),
    )
    const released = await releaseMissing(tx, began, options.quietMs)
    await tx`
      update post set scanned_at = ${began} where state = 'unknown' and scanned_at is null and send_before < ${began}`
    return { ...evidence, released, ...(await readUnknownPosts(tx, options.quietMs)) }
  }) as Promise<Reconciled>
}

/** How many posts are unknown, and what they wait for. */
export async function readUnknownPosts(sql: SqlRunner, quietMs: number): Promise<UnknownPosts> {
  const [row] = await sql<UnknownPosts[]>`
    select count(*) as "unknownPosts", max(send_before + make_interval(secs => ${quietMs / 1000})) as "waitsUntil"
    from post where state = 'unknown'`
  return row ?? { unknownPosts: 0, waitsUntil: null }
}

async function scanTaskHistory(client: AppDataClient, from: Date): Promise<CreatedTask[]> {
  const found = new Map<string, CreatedTask>()
  const to = new Date()
  for (let offset = 0; ; offset += MAX_TASK_ID_ROWS - PAGE_OVERLAP_ROWS) {
    const rows = await client.listTaskIds({
      from,
      to,
      offset,
      limit: MAX_TASK_ID_ROWS,
      includeMetadata: true,
      sort: 'asc',
    })
    for (const row of rows) addCreated(found, row)
    if (rows.length < MAX_TASK_ID_ROWS) return [...found.values()]
  }
}

function addCreated(found: Map<string, CreatedTask>, row: TaskIdRow): void {
  const tag = parseTag(row.tag)
  if (tag !== null) found.set(row.id, { ...tag, serviceId: row.id, costMicros: row.costMicros })
}

/**
 * The scan that began at `scanBegan` did not find them, an earlier one did not either, and the quiet time was over:
 * they were never created. The state is the guard: what was adopted meanwhile is no longer `posting`.
 */
async function releaseMissing(tx: Transaction, scanBegan: Date, quietMs: number): Promise<number> {
  const rows = await tx`
    with proven as (
      select id from post
      where state = 'unknown' and scanned_at < ${scanBegan}
        and ${scanBegan}::timestamptz > send_before + make_interval(secs => ${quietMs / 1000})
    ),
    released as (
      update task k set state = 'planned', attempt = k.attempt + 1
      from proven p where k.post_id = p.id and k.state = 'posting'
      returning k.id, k.attempt
    ),
    moved as (update charge c set attempt = r.attempt from released r where c.task_id = r.id and c.open),
    reopened as (
      update post p set state = 'ready', token = null, scanned_at = null,
        problem = 'Two complete scans of the service did not find its tasks.'
      from proven where p.id = proven.id
    )
    select id from released`
  return rows.length
}

/** Posts of one runner that are being sent: should it end now, they become unknown. */
export async function countSendingPosts(sql: SqlRunner, runner: string): Promise<number> {
  const [row] = await sql<{ sending: number }[]>`
    select count(*) as sending from post where state = 'sending' and runner = ${runner}`
  return row?.sending ?? 0
}
