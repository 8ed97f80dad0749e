/** `prune`: deletes old tasks and posts. The history and the charges stay. */
import type { SqlRunner } from '../db/database.ts'

const ROWS_AT_ONCE = 5_000

/**
 * Deletes a bounded number of tasks that ended before the given days and whose slot is in the history; a dropped task has no
 * row there.
 * @returns how many; zero when none is left
 */
export async function pruneTasks(sql: SqlRunner, keepDays: number): Promise<number> {
  const rows = await sql`
    delete from task where id = any(array(
      select k.id from task k
      where k.ended_at < clock_timestamp() - make_interval(days => ${keepDays}) and k.state in ('collected', 'failed', 'dropped')
        and (k.state = 'dropped'
          or exists (select from ranking r where r.target_id = k.target_id and r.slot = k.slot)
          or exists (select from app_snapshot s where s.target_id = k.target_id and s.slot = k.slot))
      order by k.ended_at limit ${ROWS_AT_ONCE} for update of k skip locked))`
  return rows.count
}

/** Deletes a bounded number of settled posts without tasks. Returns how many; zero when none is left. */
export async function prunePosts(sql: SqlRunner, keepDays: number): Promise<number> {
  const rows = await sql`
    delete from post where id = any(array(
      select p.id from post p
      where p.state = 'settled' and p.settled_at < clock_timestamp() - make_interval(days => ${keepDays})
        and not exists (select from task k where k.post_id = p.id)
      order by p.settled_at limit ${ROWS_AT_ONCE}))`
  return rows.count
}
