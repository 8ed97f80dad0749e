/** How Postgres joins relations whose size it cannot estimate: each until the end of the transaction. */
import type { Transaction } from '../db/database.ts'

/**
 * By hash or merge. The planner estimates each common table expression of a long statement at one row and
 * would choose nested loops: 20,000 watches took minutes, and take a second at most by hash.
 */
export async function disableNestedLoops(tx: Transaction, to: 'on' | 'off' = 'off'): Promise<void> {
  await tx`select set_config('enable_nestloop', ${to}, true)`
}

/**
 * The same, and no table is read as a whole: a plan that was cached while a table was empty would read all of
 * it for as long as the session lives, or until the table is analyzed.
 */
export async function readByIndexes(tx: Transaction): Promise<void> {
  await disableNestedLoops(tx)
  await tx`select set_config('enable_seqscan', 'off', true)`
}

/** Has nested loops again for what follows `work` in the transaction. */
export async function withoutNestedLoops<T>(tx: Transaction, work: () => Promise<T>): Promise<T> {
  await disableNestedLoops(tx)
  const result = await work()
  await disableNestedLoops(tx, 'on')
  return result
}
