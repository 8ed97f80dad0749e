/**
 * Posts whose outcome nobody knows. One scan of the service's own task history serves them all: tags found are adopted;
 * "not found" takes two complete scans, the second begun after the quiet time, and an adoption always beats a release.
 */
import { PERMIT_VALID_MS } from '../db/call-window.ts'
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import type { AppDataClient } from '../service/client.ts'
import { type CreatedTask, recordCreated, settleKnownPosts } from './evidence.ts'
import { type Range, scanTaskHistory, TAGS_KNOWN_DAYS, type TaskHistory, toCreated } from './task-history.ts'

export interface ReconcileOptions {
  /** Longer than TCP may still deliver what a dead runner wrote. */
  readonly quietMs: number
  readonly overdueAfterMs: number
  /** Ends the scan between two pages. */
  readonly signal?: AbortSignal
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

/** The scan begins earlier by this much: a clock may have been set between the sending and the scan. */
const CLOCK_CHANGE_MS = 5 * 60_000

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
  await giveUpForgotten(db)
  const [unknown] = await db.sql<{ postIds: string[] | null; from: Date; to: Date }[]>`
    select array_agg(id) as "postIds", clock_timestamp() as "to",
      min(send_before) - make_interval(secs => ${(PERMIT_VALID_MS + CLOCK_CHANGE_MS) / 1000}) as "from"
    from post where state = 'unknown'`
  if (unknown?.postIds == null) {
    return { unknownPosts: 0, waitsUntil: null, adopted: 0, duplicates: 0, released: 0 }
  }
  const { postIds } = unknown
  const scan = await scanUntilNow(client, unknown, options.signal)
  return db.begin(async (tx) => {
    const evidence = await recordCreated(tx, scan.found, options.overdueAfterMs)
    await tx`select id from post where id = any(${postIds}) order by id for update`
    await settleKnownPosts(tx, postIds)
    const released = scan.isComplete ? await releaseMissing(tx, postIds, unknown.to, options.quietMs) : 0
    return { ...evidence, released, ...(await readUnknownPosts(tx, options.quietMs)) }
  })
}

/** Nobody can say any more what became of them: they end as failed, and what was reserved for them is let go. */
async function giveUpForgotten(db: Database): Promise<void> {
  await db.begin(async (tx) => {
    const posts = await tx<{ id: string }[]>`
      select id from post
      where state = 'unknown' and send_before < clock_timestamp() - make_interval(days => ${TAGS_KNOWN_DAYS})
      order by id for update`
    const postIds = posts.map((post) => post.id)
    await tx`
      with ended as (
        update task k set state = 'failed', ended_at = clock_timestamp(),
          problem = 'Its answer was lost, and nobody asked the service while it still knew of it.'
        where k.post_id = any(${postIds}) and k.state = 'posting'
        returning k.id
      )
      update charge c set open = false from ended e where c.task_id = e.id and c.open`
    await settleKnownPosts(tx, postIds)
  })
}

/** How many posts are unknown, and what they wait for. */
export async function readUnknownPosts(sql: SqlRunner, quietMs: number): Promise<UnknownPosts> {
  const [row] = await sql<UnknownPosts[]>`
    select count(*) as "unknownPosts", max(send_before + make_interval(secs => ${quietMs / 1000})) as "waitsUntil"
    from post where state = 'unknown'`
  return row ?? { unknownPosts: 0, waitsUntil: null }
}

/**
 * The service is asked by its own clock, which may be hours from the database's: a range by the wrong one would be refused,
 * or miss what was created, and have it paid for again.
 * @param range by the clock of the database; `to` is its present
 */
async function scanUntilNow(
  client: AppDataClient,
  range: Range,
  signal?: AbortSignal,
): Promise<TaskHistory<CreatedTask>> {
  const to = await client.readServiceTime()
  const aheadMs = to.getTime() - range.to.getTime()
  const from = new Date(range.from.getTime() + aheadMs)
  return scanTaskHistory(client, { from, to }, toCreated, signal)
}

/**
 * The complete scan to `scannedTo` did not find them, an earlier one did not either, and the quiet time was over: they were
 * never created. The state is the guard: what was adopted meanwhile is no longer `posting`. For the rest of the posts this
 * was the first scan.
 */
async function releaseMissing(
  tx: Transaction,
  postIds: readonly string[],
  scannedTo: Date,
  quietMs: number,
): Promise<number> {
  const rows = await tx`
    with proven as (
      select id from post
      where id = any(${postIds}) and state = 'unknown' and scanned_at < ${scannedTo}
        and ${scannedTo}::timestamptz > send_before + make_interval(secs => ${quietMs / 1000})
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
  await tx`
    update post set scanned_at = ${scannedTo}
    where id = any(${postIds}) and state = 'unknown' and scanned_at is null and send_before < ${scannedTo}`
  return rows.length
}

/** Posts of one runner that are being sent: should it end now, they become unknown. */
export async function countSendingPosts(sql: SqlRunner, runner: string): Promise<number> {
  const [row] = await sql<{ sending: number }[]>`
    select count(*) as sending from post where state = 'sending' and runner = ${runner}`
  return row?.sending ?? 0
}
