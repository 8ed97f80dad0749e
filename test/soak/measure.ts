/** What a day has cost and what it has left: of the server, the tables and the runners. */
import type { Database } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { readServerLoad } from '../bench/server-load.ts'
import type { Held } from './hook.ts'

export interface TableSize {
  readonly table: string
  readonly rows: number
  readonly bytes: number
}

export interface DayReport {
  readonly day: number
  readonly tasks: number
  /** Of the server, for each task. */
  readonly cpuMs: number
  /**
   * What a fixed piece of work cost meanwhile: CPU is compared by it, as a machine is slower in one hour than
   * in the next.
   */
  readonly yardstickMs: number
  readonly statements: number
  readonly buffers: number
  readonly connections: number
  readonly runners: Readonly<Record<string, Held>>
  readonly trouble: string
}

export async function readWork(db: Database) {
  const { cpuMs, statements } = await readServerLoad(db)
  const [row] = await db.sql<{ buffers: number }[]>`
    select blks_hit + blks_read as buffers from pg_stat_database where datname = current_database()`
  return { cpuMs, statements, buffers: row?.buffers ?? 0 }
}

/** Connections of storerank, without those of the driver. */
export async function countConnections({ sql: db }: Database): Promise<number> {
  const [row] = await db<{ connections: number }[]>`
    select count(*) as connections from pg_stat_activity
    where datname = current_database() and application_name like 'storerank%'`
  return row?.connections ?? 0
}

/** Partitions are counted with their table. */
export async function readTables({ sql: db }: Database): Promise<TableSize[]> {
  const names = await db<{ table: string }[]>`
    select case c.relnamespace when 'pgboss'::regnamespace then 'pgboss.' else '' end || c.relname as table
    from pg_class c where c.relkind in ('r', 'p') and not c.relispartition and (
      c.relnamespace = 'public'::regnamespace or c.relnamespace = 'pgboss'::regnamespace
        and c.relname = 'job')
      and c.relname not in ('moved_clock') order by 1`
  const sizes: TableSize[] = []
  for (const { table } of names) {
    const [row] = await db<{ rows: number; bytes: number }[]>`
      select (select count(*) from ${sql.identifier(table)}) as rows,
        coalesce((select sum(pg_total_relation_size(relid)) from pg_partition_tree(${table}::text::regclass)),
          pg_total_relation_size(${table}::text::regclass))::bigint as bytes`
    sizes.push({ table, rows: row?.rows ?? 0, bytes: row?.bytes ?? 0 })
  }
  return sizes
}

/** Captures of the slot of the day. */
export async function countStored({ sql }: Database): Promise<number> {
  const [row] = await sql<{ tasks: number }[]>`
    select (select count(*) from ranking where slot = date_trunc('day', storerank_now()) and gap is null)
      + (select count(*) from app_snapshot where slot = date_trunc('day', storerank_now())
        and gap is null) as tasks`
  return row?.tasks ?? 0
}

/** Measurements that were paid for more than once, or of which the service's list says otherwise. */
export async function countBoughtTwice({ sql }: Database): Promise<number> {
  const [row] = await sql<{ tasks: number }[]>`
    select (
      select count(*) from (
        select from charge where kind in ('charge', 'duplicate') group by target_id, slot
        having count(distinct service_id) > 1) twice
    ) + (select count(*) from audit_difference) as tasks`
  return row?.tasks ?? 0
}

/** Tasks of the day that are paid. */
export async function countCharged({ sql }: Database): Promise<number> {
  const [row] = await sql<{ tasks: number }[]>`
    select coalesce(sum(tasks_charged), 0)::bigint as tasks from spend
    where scope = 0 and begins_at = date_trunc('day', storerank_now(), 'UTC')`
  return row?.tasks ?? 0
}
