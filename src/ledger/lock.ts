/**
 * The order of locks: the row of `ledger`, taken first and held to the end by all that plan, pack, claim or
 * close; then rows of `task` by id; then rows of `post` by id. No two transactions can deadlock so.
 */
import type { Database, Transaction } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { TIMINGS } from '../timings.ts'

/**
 * Locks the one row of `ledger`, to which readers and editors have no right, and folds `spend`. The lock is a
 * statement of its own, so that the next ones see what the last holder committed. Business time is its
 * instant from then on: one that waited past midnight would reserve money of the day before.
 */
export async function lockLedger(tx: Transaction): Promise<void> {
  const rows = await tx`select from ledger for update`
  if (rows.length !== 1) {
    throw new ConfigurationError(
      'The table ledger has lost its one row, without which no budget can be kept. Restore it from a ' +
        'backup, or run `insert into ledger default values; select recount_spend();` while nothing else ' +
        'runs.',
    )
  }
  await tx`
    select set_config('storerank.now',
      coalesce(nullif(current_setting('storerank.now', true), ''), clock_timestamp()::text), true),
        fold_spend(${TIMINGS.foldAtRows})`
}

/**
 * Runs a transaction that holds the ledger's lock.
 * @param name what waits, as the subject of a sentence: "Planning"
 * @throws UnavailableError when a lock was not given in time, naming its holder, and when the transaction
 *   hangs; what `work` throws
 */
export function withLedgerLock<T>(
  db: Database,
  name: string,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return db.begin(
    async (tx) => {
      await lockLedger(tx)
      return work(tx)
    },
    { name, lockTimeoutMs: TIMINGS.ledgerLockMs, limitMs: TIMINGS.ledgerHoldMs },
  )
}

/** Locks the open tasks of posts and the named tasks, by id, before the first of them or a post changes. */
export async function lockTasksOfPosts(
  tx: Transaction,
  postIds: readonly string[],
  taskIds: readonly string[] = [],
): Promise<void> {
  await tx`
    select from task where id in (
      select unnest(${taskIds}::uuid[])
      union
      select id from task where post_id = any(${postIds}::uuid[])
        and state in ('planned', 'posting')
    )
    order by id for update`
}

/** Locks the tasks of service ids in the order of their own ids, before the first of them changes. */
export async function lockTasks(tx: Transaction, serviceIds: readonly string[]): Promise<void> {
  await tx`select from task where service_id = any(${serviceIds}::text[]) order by id for update`
}

/** Notes that the slots that begin up to an instant are opened. @param horizon as Postgres writes it */
export async function noteOpened(tx: Transaction, horizon: string): Promise<void> {
  await tx`update ledger set opened_to = greatest(opened_to, ${horizon}::text::timestamptz)`
}

/** The same, where nothing is opened yet, of the periods that there are now. */
export async function noteFirstOpening(tx: Transaction): Promise<void> {
  await tx`
    update ledger set opened_to = storerank_now() + make_interval(secs => ${TIMINGS.openAheadMs / 1000})
    where opened_to = '-infinity'`
}
