/**
 * The sweep packs planned tasks that have no post, enqueues posts that have no job, and marks posts whose
 * answer is overdue.
 */
import type { Database, Transaction } from '../db/database.ts'
import { withLedgerLock } from '../ledger/lock.ts'
import { packTasks } from '../ledger/plan-tasks.ts'
import { markOverduePosts } from '../ledger/posts.ts'

export interface Swept {
  /** Posts whose answer is overdue, now unknown. */
  readonly overdue: number
  /** Posts made of tasks that had been released. */
  readonly packed: number
  /** Posts that are not sent yet, the oldest SWEPT_POSTS. */
  readonly ready: number
}

/**
 * The oldest posts (ids ascend) are sent next. A younger one that lost its job is found when it is among
 * them.
 */
const SWEPT_POSTS = 1_000

/** `enqueuePosts` ignores a post whose job is waiting or going on. */
export async function sweepPosts(
  db: Database,
  enqueuePosts: (tx: Transaction, postIds: readonly string[]) => Promise<void>,
): Promise<Swept> {
  const overdue = await markOverduePosts(db.sql)
  return withLedgerLock(db, 'The sweep', async (tx) => {
    const packed = await packTasks(tx)
    const ready = await tx<
      { id: string }[]
    >`select id from post where state = 'ready' order by id limit ${SWEPT_POSTS}`
    await enqueuePosts(tx, [...new Set([...packed, ...ready.map((post) => post.id)])])
    return { overdue, packed: packed.length, ready: ready.length }
  })
}
