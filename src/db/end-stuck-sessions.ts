/**
 * Sessions whose runner fell silent in the middle of a statement. The driver asks for the types of a new
 * statement before it sends their values. A server that has answered waits for these without any timeout, and
 * the session keeps its locks: that of the ledger too.
 */
import { TIMINGS } from '../timings.ts'
import type { SqlRunner } from './database.ts'

/**
 * Ends sessions of this login's runners that have waited for the rest of a statement for as long as a
 * transaction may be idle. The transfer of a COPY is no such wait.
 * @returns how many these were
 */
export async function endStuckSessions(
  db: SqlRunner,
  silentMs = TIMINGS.idleInTransactionMs,
): Promise<number> {
  const ended = await db`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and usename = current_user and application_name like 'storerank%'
      and state = 'active' and wait_event = 'ClientRead' and query !~* '^\\s*copy'
      and state_change <= clock_timestamp() - make_interval(secs => ${silentMs / 1000})`
  return ended.length
}
