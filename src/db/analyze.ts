/**
 * Statistics of the planner. Autovacuum goes by counters that a crash of the server forgets, and it never looks at a partitioned
 * table as a whole: a view over a table without statistics takes minutes for what takes seconds with them.
 */
import type { Database } from './database.ts'

/** Pages that a table may grow by, besides doubling, before it is analyzed. */
const GROWN_PAGES = 100
/** Rows that a partitioned table may grow by, besides doubling. */
const GROWN_ROWS = 10_000

/**
 * Analyzes tables that never were, or that have doubled since. Reads a few rows of the catalog when there are none.
 * @returns how many were analyzed
 */
export async function analyzeGrownTables({ sql }: Database): Promise<number> {
  const grown = await sql<{ name: string }[]>`
    select c.relname as name from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relpersistence <> 't'
      and pg_relation_size(c.oid) / current_setting('block_size')::int
        > case when c.reltuples < 0 then 0 else 2 * c.relpages + ${GROWN_PAGES}::int end`
  for (const { name } of grown) await sql`analyze ${sql(name)}`
  const parents = await sql<{ name: string }[]>`
    select p.relname as name
    from pg_class p join pg_inherits i on i.inhparent = p.oid join pg_class c on c.oid = i.inhrelid
    where p.relnamespace = 'public'::regnamespace and p.relkind = 'p'
    group by p.oid, p.relname, p.reltuples
    having sum(greatest(c.reltuples, 0)) > case when p.reltuples < 0 then 0 else 2 * p.reltuples + ${GROWN_ROWS}::int end`
  for (const { name } of parents) await sql`analyze ${sql(name)}`
  return grown.length + parents.length
}
