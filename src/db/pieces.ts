/**
 * Deleting what is too old: in pieces with a commit between, each with its own timeouts, so that nothing
 * waits long behind it.
 */
import type { Database, SqlRunner, Transaction } from './database.ts'
import { type Statement, sql } from './sql.ts'

/** Rows of one piece, where they are small. */
export const ROWS_AT_ONCE = 5_000
const LOCK_TIMEOUT_MS = 5_000
const STATEMENT_TIMEOUT_MS = 60_000
const LIMIT_MS = 2 * 60_000

/**
 * Runs `deleteSome` in a transaction of its own until it deletes nothing.
 * @param name what it is, as the subject of a sentence: "Pruning the history"
 * @param deleteSome deletes a bounded number of rows, and returns how many
 * @param signal ends it between two pieces
 * @returns how many rows went in all
 * @throws UnavailableError when a lock was not given in time, naming its holder
 */
export async function deleteInPieces(
  db: Pick<Database, 'begin'>,
  name: string,
  deleteSome: (tx: Transaction) => Promise<number>,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0
  for (;;) {
    signal?.throwIfAborted()
    const deleted = await inPiece(db, name, deleteSome)
    if (deleted === 0) return total
    total += deleted
  }
}

export function inPiece<T>(
  db: Pick<Database, 'begin'>,
  name: string,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return db.begin(work, {
    name,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    limitMs: LIMIT_MS,
  })
}

export interface Pruning {
  readonly table: string
  /** The column that says how old a row is. */
  readonly age: string
  readonly days: number
  /** What else is so of a row `r` that goes. */
  readonly where?: Statement
  /** The rows that are looked at, with their `ctid`; default: all of the table. */
  readonly among?: Statement
}

/**
 * Deletes a bounded number of rows. The time is compared as `(select clock_timestamp() …)`, by which
 * Postgres looks into an index: it does not by a volatile function.
 * @returns how many; zero when none is left
 */
export async function pruneSome(
  tx: SqlRunner,
  { table, age, days, where = sql`true`, among }: Pruning,
): Promise<number> {
  const rows = sql.identifier(table)
  const { count } = await tx`
    delete from ${rows} where ctid = any(array(
      select r.ctid from ${among === undefined ? rows : sql`(${among})`} r
      where r.${sql.identifier(age)} < (select clock_timestamp() - make_interval(days => ${days}))
        and ${where}
      limit ${ROWS_AT_ONCE}))`
  return count
}

/** What goes of several tables, one after the other, with how much it was by their keys. */
export async function pruneTables<Key extends string>(
  db: Pick<Database, 'begin'>,
  name: string,
  tables: Readonly<Record<Key, Pruning | ((tx: Transaction) => Promise<number>)>>,
  signal?: AbortSignal,
): Promise<Record<Key, number>> {
  const pruned: Partial<Record<Key, number>> = {}
  for (const key of Object.keys(tables) as Key[]) {
    const rule: Pruning | ((tx: Transaction) => Promise<number>) = tables[key]
    const deleteSome = typeof rule === 'function' ? rule : (tx: Transaction) => pruneSome(tx, rule)
    pruned[key] = await deleteInPieces(db, name, deleteSome, signal)
  }
  return pruned as Record<Key, number>
}
