/**
 * The order of locks: the row of `ledger`, which every transaction that plans, packs, claims or closes takes
 * first and holds to its end; then rows of `task` in the order of their ids; then rows of `post` in the order
 * of theirs. No two transactions can deadlock so.
 */
import type { Database, Transaction } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import { TIMINGS } from '../timings.ts'

/**
 * Locks the one row of `ledger`, to which readers and editors have no right, and folds what other
 * transactions have added to `spend`. The lock is a statement of its own, so that the statements after it see
 * what the last holder committed. The transaction's business time is the instant of the lock from then on: by
 * that of its begin, one that waited past midnight would reserve money of the day before.
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

/**
 * Locks the open tasks of posts and the named tasks, in the order of their ids. A transaction that changes
 * several tasks does so before it changes the first of them, and before it locks a post.
 */
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

/**
 * Notes that the slots that begin up to an instant are opened (`due_slot`). The caller holds the lock.
 * @param horizon as Postgres writes it
 */
export async function noteOpened(tx: Transaction, horizon: string): Promise<void> {
  await tx`update ledger set opened_to = greatest(opened_to, ${horizon}::text::timestamptz)`
}

/** The same, where nothing is opened yet, of the periods that there are now. */
export async function noteFirstOpening(tx: Transaction): Promise<void> {
  await tx`
    update ledger set opened_to = storerank_now() + make_interval(secs => ${TIMINGS.openAheadMs / 1000})
    where opened_to = '-infinity'`
}
