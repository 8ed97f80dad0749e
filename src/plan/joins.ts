/** Set-based statements stay set-based: how Postgres joins what it knows no size of. */
import type { Transaction } from '../db/database.ts'

/**
 * To the end of the transaction, everything is joined by hash or merge. The planner takes each step of a long statement for
 * one row and would join row by row: 20,000 watches took minutes, now a second at most.
 */
export async function disableNestedLoops(tx: Transaction): Promise<void> {
  await tx`select set_config('enable_nestloop', 'off', true)`
}
