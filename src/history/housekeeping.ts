/** What of the tables of work is too old. The history and charges have their own rules. */
import type { Database } from '../db/database.ts'
import { type Pruning, pruneTables, ROWS_AT_ONCE } from '../db/pieces.ts'
import { sql } from '../db/sql.ts'
import { KEEP_DAYS, prunePosts, pruneTasks } from '../ledger/prune.ts'

/** By the key of each job: what is kept is not read. */
export const OLD_RUNS: Pruning = {
  table: 'job_run',
  age: 'slot',
  days: KEEP_DAYS,
  among: sql`
    select o.ctid, o.slot from known_job j
    cross join lateral (
      select ctid, slot from job_run
      where job = j.job and slot < (select clock_timestamp() - make_interval(days => ${KEEP_DAYS}))
      order by slot
    ) o`,
}

/** Ended tasks whose slot is in the history, then their settled posts; and what nobody asks for any more. */
const OLD_WORK = {
  tasks: pruneTasks,
  posts: prunePosts,
  /** Bodies that could not be read, once their task is gone. */
  rejected: {
    table: 'rejected_result',
    age: 'received_at',
    days: KEEP_DAYS,
    where: sql`not exists (select from task k where k.id = r.task_id)`,
  },
  /** In the order of their ids, which is that of their time. */
  calls: {
    table: 'api_call',
    age: 'permit_at',
    days: KEEP_DAYS,
    among: sql`select ctid, permit_at from api_call order by id limit ${ROWS_AT_ONCE}`,
  },
  runs: OLD_RUNS,
  differences: { table: 'audit_difference', age: 'posted_at', days: KEEP_DAYS },
  failures: { table: 'service_failure', age: 'at', days: KEEP_DAYS },
  /** At the account; the latest is kept, however old. */
  looks: {
    table: 'account_usage',
    age: 'fetched_at',
    days: KEEP_DAYS,
    where: sql`r.fetched_at < (select max(fetched_at) from account_usage)`,
  },
}

export type Pruned = Readonly<Record<keyof typeof OLD_WORK, number>>

export function pruneWork(db: Database, signal?: AbortSignal): Promise<Pruned> {
  return pruneTables(db, 'Pruning old work', OLD_WORK, signal)
}
