/**
 * Deleting what is too old: in pieces with a commit between, each with its own timeouts, so that nothing
 * waits long behind it.
 */
import type { Database, Transaction } from './database.ts'

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

/** One such transaction. */
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
