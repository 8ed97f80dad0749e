/** How Postgres joins relations whose size it cannot estimate. */
import type { Transaction } from '../db/database.ts'

/**
 * Until the end of the transaction, Postgres joins by hash or merge. Its planner estimates each common table
 * expression of a long statement at one row and would choose nested loops: 20,000 watches took minutes, and
 * take a second at most by hash.
 */
export async function disableNestedLoops(tx: Transaction): Promise<void> {
  await tx`select set_config('enable_nestloop', 'off', true)`
}

/**
 * The same, and no table is read as a whole: a plan that was cached while a table was empty would read all of
 * it for as long as the session lives, or until the table is analyzed.
 */
export async function readByIndexes(tx: Transaction): Promise<void> {
  await tx`select set_config('enable_nestloop', 'off', true), set_config('enable_seqscan', 'off', true)`
}

/**
 * Runs `work` without nested loops, and lets Postgres choose them again for what follows in the transaction.
 */
export async function withoutNestedLoops<T>(tx: Transaction, work: () => Promise<T>): Promise<T> {
  const [row] = await tx<{ before: string }[]>`select current_setting('enable_nestloop') as before`
  await disableNestedLoops(tx)
  const result = await work()
  await tx`select set_config('enable_nestloop', ${row?.before ?? 'on'}, true)`
  return result
}
