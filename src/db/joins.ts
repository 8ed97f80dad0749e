/** How Postgres joins relations whose size it cannot estimate. */
import type { Transaction } from '../db/database.ts'

const NESTED_LOOPS = 'enable_nestloop'
const WHOLE_TABLES = 'enable_seqscan'

/** Until the end of the transaction, or until it is set again. */
async function setMethods(tx: Transaction, methods: readonly string[], to: 'on' | 'off'): Promise<void> {
  await tx`select set_config(method, ${to}, true) from unnest(${methods}::text[]) method`
}

/**
 * Until the end of the transaction, Postgres joins by hash or merge. Its planner estimates each common table
 * expression of a long statement at one row and would choose nested loops: 20,000 watches took minutes, and
 * take a second at most by hash.
 */
export async function disableNestedLoops(tx: Transaction): Promise<void> {
  await setMethods(tx, [NESTED_LOOPS], 'off')
}

/**
 * The same, and no table is read as a whole: a plan that was cached while a table was empty would read all of
 * it for as long as the session lives, or until the table is analyzed.
 */
export async function readByIndexes(tx: Transaction): Promise<void> {
  await setMethods(tx, [NESTED_LOOPS, WHOLE_TABLES], 'off')
}

/**
 * Runs `work` without nested loops, and lets Postgres choose them again for what follows in the transaction.
 */
export async function withoutNestedLoops<T>(tx: Transaction, work: () => Promise<T>): Promise<T> {
  await disableNestedLoops(tx)
  const result = await work()
  await setMethods(tx, [NESTED_LOOPS], 'on')
  return result
}
