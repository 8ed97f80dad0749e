/** How much a statement reads, counted by the server: the same on a slow day. */
import type { Database } from '../../src/db/database.ts'

/**
 * Rows of the table `task` that were read so far, by scans of the whole table and by its indexes. `db` has
 * one session.
 */
export async function countTasksRead({ sql }: Pick<Database, 'sql'>): Promise<number> {
  await sql`select pg_stat_force_next_flush()`
  const [row] = await sql<{ rows: number }[]>`
    select (t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0))::int as rows
    from pg_stat_user_tables t left join pg_stat_user_indexes i using (relid) where t.relname = 'task'
      group by t.seq_tup_read`
  return row?.rows ?? 0
}
