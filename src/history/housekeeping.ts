/** Prunes the tables of work, and raw pages where a person says so. The history, the money and the dictionary are kept for ever. */
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
/** A page has about 100 KB. */
const PAGES_AT_ONCE = 200

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

/**
 * Deletes raw pages of slots that are older, in pieces. What was read from them stays in the history; a measurement that is `html_only` has
 * nothing else, and stays as the gap that it is.
 * @param keepMs null keeps them for ever
 * @returns how many pages
 */
export async function prunePages(db: Database, keepMs: number | null): Promise<number> {
  if (keepMs === null) return 0
  const keep = db.sql`make_interval(secs => ${keepMs / 1000}::float8)`
  return untilNone(async () => {
    const pruned = await db.sql`
      delete from page where ctid = any(array(
        select ctid from page where slot < storerank_now() - ${keep} limit ${PAGES_AT_ONCE}))`
    return pruned.count
  })
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
