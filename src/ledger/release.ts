/**
 * `release`: tasks that the service provably did not create are `planned` again, with a new attempt: a tag is
 * never sent twice. Their reservations stay. The caller holds the claim's token or the proof.
 */
import type { SqlRunner, Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { sql } from '../db/sql.ts'
import type { TaskTag } from './tag.ts'

/** A task that was not created. */
export interface Released extends TaskTag {
  /** Why not, as a sentence with what to do; null where there is nothing to do but to wait. */
  readonly problem: string | null
  /**
   * It is posted again for raw pages and a pingback, as the service does not post back the form that was
   * asked for; one that had asked for pages is not released.
   */
  readonly forPages: boolean
}

/**
 * Releases tasks that the service refused for now: the next sweep packs them again. A task that was charged
 * before keeps the problem of that attempt.
 * @returns how many
 */
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
