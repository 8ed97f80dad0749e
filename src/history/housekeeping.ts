/** Forgetting what only served the work: the history, the money and the dictionary are kept for ever. */
import type { Database } from '../db/database.ts'

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

/** Longer than the service keeps any result, and than anybody asks what a call was. */
const KEEP_DAYS = 90

/** Removes ended tasks whose slot is in the history with their settled posts, and what else was only looked at. */
export async function pruneWork(db: Database): Promise<Pruned> {
  const keep = db.sql`make_interval(days => ${KEEP_DAYS})`
  const tasks = await db.sql`
    delete from task k where k.ended_at < clock_timestamp() - ${keep} and k.state in ('collected', 'failed')
      and (exists (select from ranking r where r.target_id = k.target_id and r.slot = k.slot)
        or exists (select from app_snapshot s where s.target_id = k.target_id and s.slot = k.slot))`
  const posts = await db.sql`
    delete from post p where p.state = 'settled' and p.settled_at < clock_timestamp() - ${keep}
      and not exists (select from task k where k.post_id = p.id)`
  const calls = await db.sql`delete from api_call where permit_at < clock_timestamp() - ${keep}`
  const runs = await db.sql`delete from job_run where slot < clock_timestamp() - ${keep}`
  const differences = await db.sql`delete from audit_difference where posted_at < clock_timestamp() - ${keep}`
  const failures = await db.sql`delete from service_failure where at < clock_timestamp() - ${keep}`
  const looks = await db.sql`
    delete from account_usage
    where fetched_at < clock_timestamp() - ${keep} and fetched_at < (select max(fetched_at) from account_usage)`
  return {
    tasks: tasks.count,
    posts: posts.count,
    calls: calls.count,
    runs: runs.count,
    differences: differences.count,
    failures: failures.count,
    looks: looks.count,
  }
}
