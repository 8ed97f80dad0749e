/**
 * Statistics of the planner, and which pages all sessions see alike. Autovacuum goes by counters that a crash
 * of the server forgets, and it never looks at a partitioned table as a whole: a view over a table without
 * statistics takes minutes for what takes seconds with them. Of a table that is kept for months it waits
 * until a fifth is new, and until then a count of new rows by an index reads the rows as well.
 */
import type { Database } from './database.ts'
import { sql } from './sql.ts'

/** Pages that a table may grow by, besides doubling, before it is analyzed. */
const GROWN_PAGES = 100
/** Rows that a partitioned table may grow by, besides doubling. */
const GROWN_ROWS = 10_000
/** Rows that a table may get before it is vacuumed: to count so many takes 20 ms more. */
const FILLED_ROWS = 50_000

/**
 * Analyzes tables that have grown, then vacuums those that were filled. In this order, because a vacuum notes
 * how large a table is: it would not count as grown any more.
 */
export async function analyzeAndVacuum(
  db: Database,
): Promise<{ readonly analyzed: number; readonly vacuumed: number }> {
  const analyzed = await analyzeGrownTables(db)
  return { analyzed, vacuumed: await vacuumFilledTables(db) }
}

/**
 * Analyzes tables that never were, or that have doubled since. Reads a few rows of the catalog when there are
 * none.
 * @returns how many were analyzed
 */
export async function analyzeGrownTables({ sql: db }: Database): Promise<number> {
  const grown = await db<{ name: string }[]>`
    select c.relname as name from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relpersistence <> 't'
      and pg_relation_size(c.oid) / current_setting('block_size')::int
        > case when c.reltuples < 0 then 0 else 2 * c.relpages + ${GROWN_PAGES}::int end`
  for (const { name } of grown) await db`analyze ${sql.identifier(name)}`
  const parents = await db<{ name: string }[]>`
    select p.relname as name
    from pg_class p join pg_inherits i on i.inhparent = p.oid join pg_class c on c.oid = i.inhrelid
    where p.relnamespace = 'public'::regnamespace and p.relkind = 'p'
    group by p.oid, p.relname, p.reltuples
    having sum(greatest(c.reltuples, 0)) > case when p.reltuples < 0 then 0
      else 2 * p.reltuples + ${GROWN_ROWS}::int end`
  for (const { name } of parents) await db`analyze ${sql.identifier(name)}`
  return grown.length + parents.length
}

/**
 * Vacuums tables that got many rows since they were vacuumed last: reads the pages of these rows once.
 * Partitions are left to autovacuum, because nothing counts their rows by an index.
 * @returns how many were vacuumed
 */
export async function vacuumFilledTables({ sql: db }: Database): Promise<number> {
  const filled = await db<{ name: string }[]>`
    select c.relname as name from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relpersistence <> 't'
      and not c.relispartition
      and pg_stat_get_ins_since_vacuum(c.oid) > ${FILLED_ROWS}::int`
  for (const { name } of filled) await db`vacuum (truncate off, skip_locked) ${sql.identifier(name)}`
  return filled.length
}
