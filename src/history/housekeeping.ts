/**
 * Prunes the tables of work. The history, pages and charges have their own rules (retention.ts,
 * src/ledger/prune.ts). The time is compared as `(select clock_timestamp() …)`, by which Postgres looks into
 * an index: it does not by a volatile function.
 */
import type { Database, Transaction } from '../db/database.ts'
import { deleteInPieces, ROWS_AT_ONCE } from '../db/pieces.ts'
import { sql } from '../db/sql.ts'
import { prunePosts, pruneRejected, pruneTasks } from '../ledger/prune.ts'

export interface Pruned {
  readonly tasks: number
  readonly posts: number
  /** Bodies that could not be read. */
  readonly rejected: number
  readonly calls: number
  readonly runs: number
  readonly differences: number
  readonly failures: number
  /** Looks at the account; the latest is kept, however old. */
  readonly looks: number
}

/** Longer than the service keeps any result. */
const KEEP_DAYS = 90

/**
 * Deletes ended tasks whose slot is in the history, their settled posts, and old rows of calls, runs,
 * differences and failures.
 */
export async function pruneWork(db: Database, signal?: AbortSignal): Promise<Pruned> {
  const keep = sql`make_interval(days => ${KEEP_DAYS})`
  const pieces = (deleteSome: (tx: Transaction) => Promise<number>) =>
    deleteInPieces(db, 'Pruning old work', deleteSome, signal)
  return {
    tasks: await pieces((tx) => pruneTasks(tx, KEEP_DAYS)),
    posts: await pieces((tx) => prunePosts(tx, KEEP_DAYS)),
    rejected: await pieces((tx) => pruneRejected(tx, KEEP_DAYS)),
    calls: await pieces(async (tx) => {
      const pruned = await tx`
        delete from api_call where id = any(array(
          select id from (select id, permit_at from api_call order by id limit ${ROWS_AT_ONCE}) oldest
          where permit_at < (select clock_timestamp() - ${keep})))`
      return pruned.count
    }),
    runs: await pieces(pruneRuns),
    differences: await pieces(async (tx) => {
      const pruned = await tx`
        delete from audit_difference where ctid = any(array(
          select ctid from audit_difference where posted_at < (select clock_timestamp() - ${keep})
            limit ${ROWS_AT_ONCE}))`
      return pruned.count
    }),
    failures: await pieces(async (tx) => {
      const pruned = await tx`
        delete from service_failure where ctid = any(array(
          select ctid from service_failure where at < (select clock_timestamp() - ${keep})
            limit ${ROWS_AT_ONCE}))`
      return pruned.count
    }),
    looks: await pieces(async (tx) => {
      const pruned = await tx`
        delete from account_usage where ctid = any(array(
          select ctid from account_usage
          where fetched_at < (select clock_timestamp() - ${keep})
            and fetched_at < (select max(fetched_at) from account_usage)
          limit ${ROWS_AT_ONCE}))`
      return pruned.count
    }),
  }
}

/**
 * Deletes a bounded number of old runs of jobs, by the key of each job: what is kept is not read. Returns how
 * many; zero when none is left.
 */
export async function pruneRuns(tx: Transaction): Promise<number> {
  const pruned = await tx`
    delete from job_run where ctid = any(array(
      select r.ctid from known_job j
      cross join lateral (
        select ctid from job_run
        where job = j.job and slot < (select clock_timestamp() - make_interval(days => ${KEEP_DAYS}))
          order by slot offset 0
      ) r
      limit ${ROWS_AT_ONCE}))`
  return pruned.count
}
