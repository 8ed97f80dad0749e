/**
 * `release`: tasks that the service provably did not create are `planned` again, with a new attempt: a tag is
 * never sent twice. Their reservations stay. The caller holds the claim's token or the proof. `unknown`:
 * posts whose answer is overdue or incomplete, until the service has forgotten their tags.
 */
import type { SqlRunner, Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { sql } from '../db/sql.ts'
import { TIMINGS } from '../timings.ts'
import { settleKnownPosts } from './adopt.ts'
import { lockTasksOfPosts } from './lock.ts'
import { insertSpendChanges, RESERVATION, releasedReservations } from './money.ts'
import type { TaskTag } from './tag.ts'

export interface Released extends TaskTag {
  /** Why not, as a sentence with what to do; null where there is nothing to do but to wait. */
  readonly problem: string | null
  /**
   * It is posted again for raw pages and a pingback, as the service does not post back the form that was
   * asked for; one that had asked for pages is not released.
   */
  readonly forPages: boolean
}

/** Releases tasks that the service refused for now. One that was charged before keeps its problem. */
export async function releaseTasks(
  tx: SqlRunner,
  postId: string,
  refused: readonly Released[],
): Promise<number> {
  if (refused.length === 0) return 0
  const types = 'taskId uuid, attempt int, problem text, forPages boolean'
  const { count } = await tx`
    update task k set state = 'planned', attempt = k.attempt + 1, post_id = null,
      html = k.html or r.for_pages,
      problem = case when k.status_code is null then r.problem else k.problem end
    from ${sql.rows('r', refused, types)}
    where k.id = r.task_id and k.attempt = r.attempt and k.post_id = ${postId} and k.state = 'posting'
      and not (r.for_pages and k.html)`
  return count
}

/**
 * Releases a whole post, on proof that the service created none of its tasks; only the holder of the token
 * can. Counting the tasks makes it wait for their locks first.
 * @returns false when it holds it no more
 */
export async function releasePost(
  db: SqlRunner,
  postId: string,
  token: string,
  problem: string,
): Promise<boolean> {
  const rows = await db<{ released: boolean }[]>`
    with locked as (
      select id from task where post_id = ${postId} and state = 'posting' order by id for update
    ),
    held as (
      update post set state = 'ready', token = null, problem = ${problem}
      where id = ${postId} and token = ${token} and state = 'sending' and (select count(*) from locked) >= 0
      returning id
    ),
    released as (
      update task k set state = 'planned', attempt = k.attempt + 1
      from held where k.post_id = held.id and k.state = 'posting'
    )
    select exists (select from held) as released`
  return oneRow(rows).released
}

/**
 * Releases the posts whose tasks two complete scans did not find, the second begun after the quiet time: they
 * were never created. Of the others, records that their first scan did not find them.
 * @returns how many tasks were released
 */
export async function releaseMissing(
  tx: Transaction,
  postIds: readonly string[],
  scannedTo: Date,
  quietMs: number,
): Promise<number> {
  const { count } = await tx`
    with proven as (
      select id from post
      where id = any(${postIds}) and state = 'unknown' and scanned_at < ${scannedTo}
        and ${scannedTo}::timestamptz > send_before + make_interval(secs => ${quietMs / 1000})
    ),
    released as (
      update task k set state = 'planned', attempt = k.attempt + 1
      from proven p where k.post_id = p.id and k.state = 'posting'
      returning k.id
    ),
    reopened as (
      update post p set state = 'ready', token = null, scanned_at = null,
        problem = 'Two complete scans of the service did not find its tasks.'
      from proven where p.id = proven.id
    )
    select id from released`
  await tx`
    update post set scanned_at = ${scannedTo}
    where id = any(${postIds}) and state = 'unknown' and scanned_at is null and send_before < ${scannedTo}`
  return count
}

/** Posts whose answer is overdue become `unknown`: their runner is dead or frozen. */
export async function markOverduePosts(db: SqlRunner): Promise<number> {
  const { count } = await db`
    update post set state = 'unknown', problem = 'Its runner never reported an answer.'
    where state = 'sending' and id in (
      select id from post where state = 'sending' and answer_before < clock_timestamp() order by id
        for update)`
  return count
}

/** The post's answer was incomplete: tasks without an answer are reconciled. The caller holds the claim. */
export async function markUnknown(tx: Transaction, postId: string, problem: string): Promise<void> {
  await tx`update post set state = 'unknown', problem = ${problem} where id = ${postId}`
}

/**
 * How many posts are unknown, and when the last of them may be released (docs/protocol.md: Where the list
 * ends); null when nothing is unknown.
 */
export async function readUnknownPosts(db: SqlRunner, quietMs: number) {
  const rows = await db<{ unknownPosts: number; waitsUntil: Date | null }[]>`
    select count(*) as "unknownPosts",
      max(send_before + make_interval(secs => ${(quietMs + TIMINGS.unlistedMs) / 1000})) as "waitsUntil"
    from post where state = 'unknown'`
  return oneRow(rows)
}

export type UnknownPosts = Awaited<ReturnType<typeof readUnknownPosts>>

/** How many posts a runner is sending. When it ends before their answers, they become unknown. */
export async function countSendingPosts(db: SqlRunner, runner: string): Promise<number> {
  const rows = await db<{ sending: number }[]>`
    select count(*) as sending from post where state = 'sending' and runner = ${runner}`
  return oneRow(rows).sending
}

/** Fails the tasks of posts that are unknown since before the service has forgotten their tags. */
export async function giveUpUnknownPosts(tx: Transaction, afterDays: number): Promise<void> {
  const isForgotten = sql`
    state = 'unknown' and send_before < clock_timestamp() - make_interval(days => ${afterDays})`
  const forgotten = await tx<{ id: string }[]>`select id from post where ${isForgotten}`
  if (forgotten.length === 0) return
  const ids = forgotten.map((post) => post.id)
  await lockTasksOfPosts(tx, ids)
  const posts = await tx<{ id: string }[]>`
    select id from post where id = any(${ids}::uuid[]) and ${isForgotten} order by id for update`
  const postIds = posts.map((post) => post.id)
  await tx`
    with ended as (
      update task k set state = 'failed', ended_at = clock_timestamp(),
        problem = 'Its answer was lost, and the service was not asked while it still knew of it.'
      where k.post_id = any(${postIds}) and k.state = 'posting'
      returning ${RESERVATION}
    ),
    ${insertSpendChanges(releasedReservations('ended'))}
    select`
  await settleKnownPosts(tx, postIds)
}
