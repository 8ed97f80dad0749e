/**
 * How long the history and raw pages are kept: for ever unless a person says so, and as long as any project
 * wants them. The history goes by whole months of UTC, dropped with their partition; pages go by the day.
 */
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { oneRow } from '../db/one-row.ts'
import { inPiece, ROWS_AT_ONCE } from '../db/pieces.ts'
import { type Statement, sql } from '../db/sql.ts'

interface Rule {
  readonly name: string
  readonly table: Partition['table']
  readonly column: 'keep_history' | 'keep_pages'
  readonly unit: 'month' | 'day'
  readonly rowsAtOnce: number
  /** What the setting says; null: for ever. */
  readonly keepMs: number | null
}

const HISTORY = { name: 'Pruning the history', column: 'keep_history', unit: 'month' } as const
/** A page has about 100 KB. */
const PAGES = { name: 'Pruning the pages', column: 'keep_pages', unit: 'day', rowsAtOnce: 200 } as const

/**
 * Deletes rows of the history that are older than their projects want, and numbers with their month.
 * @param keepMs for projects that say nothing themselves; null keeps them for ever
 * @returns how many rows went, and how many months as a whole
 */
export async function pruneHistory(db: Database, keepMs: number | null, signal?: AbortSignal) {
  const rule = { ...HISTORY, rowsAtOnce: ROWS_AT_ONCE, keepMs }
  const ranking = await prune(db, { ...rule, table: 'ranking' }, signal)
  const snapshot = await prune(db, { ...rule, table: 'app_snapshot' }, signal)
  const [oldest] = ranking.months > 0 ? await listPartitions(db.sql, 'ranking') : []
  if (oldest)
    await inPiece(
      db,
      rule.name,
      (tx) =>
        tx`delete from app_numbers where day < (${oldest.begins}::timestamptz at time zone 'UTC')::date`,
    )
  return { rows: ranking.rows + snapshot.rows, months: ranking.months + snapshot.months }
}

/** Deletes raw pages that are older than their projects want. What was read from them stays. */
export function prunePages(db: Database, keepMs: number | null, signal?: AbortSignal) {
  return prune(db, { ...PAGES, table: 'page', keepMs }, signal)
}

async function prune(db: Database, rule: Rule, signal?: AbortSignal) {
  const gone = { rows: 0, months: 0 }
  const since = await readLatestSince(db.sql, rule)
  if (since === null) return gone
  for (const partition of await listPartitions(db.sql, rule.table)) {
    signal?.throwIfAborted()
    if (partition.begins >= since) break
    if (await inPiece(db, rule.name, (tx) => dropMonth(tx, rule, partition))) gone.months += 1
    else gone.rows += await pruneMonth(db, rule, partition, signal)
  }
  return gone
}

/** Before which instant rows go at all; null: none do. Each look at a month takes all targets. */
async function readLatestSince(db: SqlRunner, rule: Rule): Promise<Date | null> {
  const rows = await db<{ since: Date | null }[]>`
    with ${keptTargets(rule)}
    select max(since) as since from kept`
  return oneRow(rows).since
}

/** `kept`: each target with the instant before which its rows go, unless somebody keeps them for ever. */
function keptTargets({ keepMs, column, unit }: Rule): Statement {
  const seconds = keepMs === null ? null : keepMs / 1000
  const keep = sql`coalesce(j.${sql.identifier(column)}, make_interval(secs => ${seconds}::float8))`
  return sql`
    -- Materialized: it is computed once, and not for each row of the history.
    kept as materialized (
      select t.id as target_id, date_trunc(${unit}::text, storerank_now() - max(${keep}), 'UTC') as since
      from target t left join watch_period p on p.target_id = t.id left join project j on j.name = p.project
      group by t.id having bool_and(${keep} is not null)
    )`
}

/**
 * Drops the partition of a month that no target wants, which locks out readers for a moment. When they leave
 * none, the next run tries again.
 */
async function dropMonth(tx: Transaction, rule: Rule, { name, begins, ends }: Partition): Promise<boolean> {
  const rows = await tx<{ over: boolean }[]>`
    with ${keptTargets(rule)}
    select ${ends}::timestamptz <= storerank_now()
      and not exists (select from target t left join kept k on k.target_id = t.id
        where k.since is null or k.since < ${ends})
      and (${rule.table === 'page'} or not exists (
        select from task where slot >= ${begins} and slot < ${ends})) as over`
  if (!oneRow(rows).over) return false
  await tx`drop table ${sql.identifier(name)}`
  return true
}

/** In the order of targets, so that no piece reads again what the pieces before it have left. */
async function pruneMonth(
  db: Database,
  rule: Rule,
  partition: Partition,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0
  let from = 0
  for (;;) {
    signal?.throwIfAborted()
    const piece = await inPiece(db, rule.name, (tx) => prunePiece(tx, rule, partition, from))
    total += piece.rows
    if (piece.rows < rule.rowsAtOnce) return total
    from = piece.last
  }
}

async function prunePiece(
  tx: Transaction,
  rule: Rule,
  { table, name, begins, ends }: Partition,
  from: number,
): Promise<{ rows: number; last: number }> {
  // A row whose task is still there is looked up by it: by the ledger, the views of problems, the audit.
  const hasNoTask = sql`not exists (
    select from task k where k.target_id = h.target_id and k.slot = h.slot and k.state <> 'dropped')`
  const isOld = sql`h.slot < k.since and k.target_id >= ${from} and k.since > ${begins}
    and ${table === 'page' ? sql`true` : hasNoTask}`
  const rows =
    table === 'ranking'
      ? await tx<{ rows: number; last: number }[]>`
          with ${keptTargets(rule)},
          old as (
            select h.target_id, h.slot from kept k join ranking_row h on h.target_id = k.target_id
            where h.slot >= ${begins} and h.slot < ${ends} and ${isOld}
            order by h.target_id limit ${rule.rowsAtOnce}
          )
          select delete_rankings(array_agg(target_id), array_agg(slot)) as rows,
            coalesce(max(target_id), 0) as last from old`
      : await tx<{ rows: number; last: number }[]>`
          with ${keptTargets(rule)},
          gone as (
            delete from ${sql.identifier(name)} where ctid = any(array(
              select h.ctid from kept k join ${sql.identifier(name)} h on h.target_id = k.target_id
              where ${isOld} order by h.target_id limit ${rule.rowsAtOnce}))
            returning target_id
          )
          select count(*) as rows, coalesce(max(target_id), 0) as last from gone`
  return oneRow(rows)
}

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
