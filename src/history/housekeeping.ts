/** Prunes the tables of work. The history, the money and the dictionary are kept for ever. */
import type { Database } from '../db/database.ts'
import { prunePosts, pruneTasks } from '../ledger/prune.ts'

export interface Pruned {
  readonly tasks: number
  readonly posts: number
  readonly calls: number
  readonly runs: number
  readonly differences: number
  readonly failures: number
  /** Looks at the account; the latest is kept, however old. */
  readonly looks: number
}

/** Longer than the service keeps any result. */
const KEEP_DAYS = 90
const CALLS_AT_ONCE = 5_000

/** Deletes ended tasks whose slot is in the history, their settled posts, and old rows of calls, runs, differences and failures. */
export async function pruneWork(db: Database): Promise<Pruned> {
  const keep = db.sql`make_interval(days => ${KEEP_DAYS})`
  const tasks = await untilNone(() => pruneTasks(db.sql, KEEP_DAYS))
  const posts = await untilNone(() => prunePosts(db.sql, KEEP_DAYS))
  const calls = await untilNone(async () => {
    const pruned = await db.sql`
      delete from api_call where id = any(array(
        select id from (select id, permit_at from api_call order by id limit ${CALLS_AT_ONCE}) oldest
        where permit_at < clock_timestamp() - ${keep}))`
    return pruned.count
  })
  const runs = await db.sql`delete from job_run where slot < clock_timestamp() - ${keep}`
  const differences = await db.sql`delete from audit_difference where posted_at < clock_timestamp() - ${keep}`
  const failures = await db.sql`delete from service_failure where at < clock_timestamp() - ${keep}`
  const looks = await db.sql`
    delete from account_usage
    where fetched_at < clock_timestamp() - ${keep} and fetched_at < (select max(fetched_at) from account_usage)`
  return {
    tasks,
    posts,
    calls,
    runs: runs.count,
    differences: differences.count,
    failures: failures.count,
    looks: looks.count,
  }
}

/** Each piece is a transaction of its own. Returns how many rows went in all. */
async function untilNone(pruneSome: () => Promise<number>): Promise<number> {
  let total = 0
  for (;;) {
    const pruned = await pruneSome()
    if (pruned === 0) return total
    total += pruned
  }
}
