/**
 * `prune`: deletes old tasks and posts, and charges where a person says so; the totals stay. Times are
 * compared with a subquery, because a volatile function is no bound of an index scan.
 */
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { deleteInPieces, ROWS_AT_ONCE } from '../db/pieces.ts'
import { CHARGED_BY_KIND } from './money.ts'

/** Of ended work. Longer than the service keeps any result. */
export const KEEP_DAYS = 90

/** Deletes some tasks that ended long ago and whose slot is in the history, where they have one. */
export async function pruneTasks(db: SqlRunner): Promise<number> {
  const { count } = await db`
    delete from task where id = any(array(
      select k.id from task k
      where k.ended_at < (select clock_timestamp() - make_interval(days => ${KEEP_DAYS}))
        and k.state in ('collected', 'failed', 'dropped')
        and (k.state = 'dropped'
          or exists (select from ranking_row r where r.target_id = k.target_id and r.slot = k.slot)
          or exists (select from app_snapshot s where s.target_id = k.target_id and s.slot = k.slot)
          or not exists (select from watch_period p where p.target_id = k.target_id))
      order by k.ended_at limit ${ROWS_AT_ONCE} for update of k skip locked))`
  return count
}

/** Deletes some settled posts without tasks. */
export async function prunePosts(db: SqlRunner): Promise<number> {
  const { count } = await db`
    delete from post where id = any(array(
      select p.id from post p
      where p.state = 'settled' and p.settled_at < (select clock_timestamp()
        - make_interval(days => ${KEEP_DAYS}))
        and not exists (select from task k where k.post_id = p.id)
      order by p.settled_at limit ${ROWS_AT_ONCE}))`
  return count
}

/** Deletes old charges in pieces, and returns how many. @param keepMs null keeps them for ever */
export async function pruneMoney(db: Database, keepMs: number | null, signal?: AbortSignal): Promise<number> {
  if (keepMs === null) return 0
  return deleteInPieces(db, 'Pruning the charges', (tx) => pruneCharges(tx, keepMs), signal)
}

/**
 * Deletes some charges of UTC days that ended before the given time. Their sums are added to the row of
 * `spend` that begins at -infinity, so that the books still agree. Audits look back 32 days at most.
 */
async function pruneCharges(tx: Transaction, keepMs: number): Promise<number> {
  const rows = await tx<{ pruned: number }[]>`
    with bound as (
      select date_trunc('day', storerank_now() - make_interval(secs => ${keepMs / 1000}::float8), 'UTC') as at
    ),
    gone as (
      delete from charge where ctid = any(array(
        select c.ctid from charge c where c.at < (select at from bound) limit ${ROWS_AT_ONCE}))
      returning project_id, kind, amount_micros as micros
    ),
    added as (
      insert into spend as s (scope, begins_at, ends_at, change_id, reserved_micros, charged_micros,
        refunded_micros, duplicate_micros, adjusted_micros, tasks_charged)
      select d.scope, '-infinity', (select at from bound), 0, 0, ${CHARGED_BY_KIND}, 0
      from gone g cross join lateral (values (0), (g.project_id)) d (scope) group by d.scope
      on conflict (scope, begins_at, change_id) do update set ends_at = greatest(s.ends_at, excluded.ends_at),
        charged_micros = s.charged_micros + excluded.charged_micros,
        refunded_micros = s.refunded_micros + excluded.refunded_micros,
        duplicate_micros = s.duplicate_micros + excluded.duplicate_micros,
        adjusted_micros = s.adjusted_micros + excluded.adjusted_micros
    )
    select count(*) as pruned from gone`
  return oneRow(rows).pruned
}
