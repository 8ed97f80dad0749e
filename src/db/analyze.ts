/**
 * Statistics of the planner, and which pages all sessions see alike. Autovacuum goes by counters that a crash
 * of the server forgets, and it never looks at a partitioned table as a whole: a view over a table without
 * statistics takes minutes instead of seconds.
 */
import type { Database } from './database.ts'
import { type Statement, sql } from './sql.ts'

/** Pages that a table may grow by, besides doubling, before it is analyzed. */
const GROWN_PAGES = 100
/** Rows that a partitioned table may grow by, besides doubling. */
const GROWN_ROWS = 10_000
/** Rows that a table may get before it is vacuumed: to count so many takes 20 ms more. */
const FILLED_ROWS = 50_000

/** Analyzes before it vacuums: a vacuum notes how large a table is, which would not count as grown then. */
export async function analyzeAndVacuum(
  db: Database,
): Promise<{ readonly analyzed: number; readonly vacuumed: number }> {
  const analyzed = await analyzeGrownTables(db)
  return { analyzed, vacuumed: await vacuumFilledTables(db) }
}

/** Analyzes tables that never were, or have doubled since. @returns how many */
export async function analyzeGrownTables(db: Database): Promise<number> {
  const tables = await forEachTable(
    db,
    sql`analyze`,
    sql`select c.relname as name from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relpersistence <> 't'
        and pg_relation_size(c.oid) / current_setting('block_size')::int
          > case when c.reltuples < 0 then 0 else 2 * c.relpages + ${GROWN_PAGES}::int end`,
  )
  const parents = await forEachTable(
    db,
    sql`analyze`,
    sql`select p.relname as name
      from pg_class p join pg_inherits i on i.inhparent = p.oid join pg_class c on c.oid = i.inhrelid
      where p.relnamespace = 'public'::regnamespace and p.relkind = 'p'
      group by p.oid, p.relname, p.reltuples
      having sum(greatest(c.reltuples, 0)) > case when p.reltuples < 0 then 0
        else 2 * p.reltuples + ${GROWN_ROWS}::int end`,
  )
  return tables + parents
}

/** Vacuums tables that got many rows. Nothing counts rows of partitions by an index. @returns how many */
export function vacuumFilledTables(db: Database): Promise<number> {
  return forEachTable(
    db,
    sql`vacuum (truncate off, skip_locked)`,
    sql`select c.relname as name from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relpersistence <> 't'
        and not c.relispartition and pg_stat_get_ins_since_vacuum(c.oid) > ${FILLED_ROWS}::int`,
  )
}

async function forEachTable({ sql: db }: Database, command: Statement, names: Statement): Promise<number> {
  const found = await db<{ name: string }[]>`${names}`
  for (const { name } of found) await db`${command} ${sql.identifier(name)}`
  return found.length
}
