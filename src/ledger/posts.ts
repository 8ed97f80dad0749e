/** `unknown`: posts whose answer is overdue or incomplete, until the service has forgotten their tags. */
import type { SqlRunner, Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { sql } from '../db/sql.ts'
import { TIMINGS } from '../timings.ts'
import { settleKnownPosts } from './adopt.ts'
import { lockTasksOfPosts } from './lock.ts'
import { insertSpendChanges, RESERVATION, releasedReservations } from './money.ts'

export interface UnknownPosts {
  readonly unknownPosts: number
  /** When the last of them may be released; null when nothing is unknown. */
  readonly waitsUntil: Date | null
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

/** How many posts are unknown, and until when (docs/protocol.md: Where the list ends). */
export async function readUnknownPosts(db: SqlRunner, quietMs: number): Promise<UnknownPosts> {
  const rows = await db<UnknownPosts[]>`
    select count(*) as "unknownPosts",
      max(send_before + make_interval(secs => ${(quietMs + TIMINGS.unlistedMs) / 1000})) as "waitsUntil"
    from post where state = 'unknown'`
  return oneRow(rows)
}

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
