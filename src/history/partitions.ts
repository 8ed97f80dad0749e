/** Monthly partitions of the history and of pages, made ahead of time, or by what writes there. */
import type { Database, SqlRunner } from '../db/database.ts'

/** The rows of one month of UTC. */
export interface Partition {
  readonly table: 'ranking' | 'app_snapshot' | 'page'
  readonly name: string
  readonly begins: Date
  readonly ends: Date
}

/** Makes the partitions of this month and those ahead; returns how many were missing. */
export async function makePartitionsAhead(db: Database, monthsAhead: number): Promise<number> {
  const [row] = await db.sql<{ made: number }[]>`
    select ensure_history_partitions(storerank_now(), storerank_now()
      + make_interval(months => ${monthsAhead})) as made`
  return row?.made ?? 0
}

/** The partitions of a table, the oldest first. */
export async function listPartitions(db: SqlRunner, table: Partition['table']): Promise<Partition[]> {
  return db<Partition[]>`
    select ${table} as table, c.relname as name, m.begins at time zone 'UTC' as begins,
      (m.begins + interval '1 month') at time zone 'UTC' as ends
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    cross join lateral (select to_timestamp(right(c.relname, 6),
      'YYYYMM') at time zone current_setting('timezone') as begins) m
    where i.inhparent = ${table}::text::regclass and c.relname = ${table} || '_' || right(c.relname, 6)
      and c.relname ~ '_[0-9]{6}$'
    order by 2`
}
