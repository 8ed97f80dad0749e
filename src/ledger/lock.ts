/**
 * The order of locks: the row of `ledger`, taken first and held to the end by all that plan, pack, claim or
 * close; then rows of `task` by id; then rows of `post` by id. No two transactions can deadlock so.
 */
import type { Database, SqlRunner, Transaction } from '../db/database.ts'
import { type Statement, sql } from '../db/sql.ts'
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

/** Whether a slot runs by the service's clock too: one that is hours ahead shows another day. */
export function runsThere(slot: Statement, endsAt: Statement): Statement {
  return sql`(select storerank_now() - clock_ahead()) between ${slot} and ${endsAt}`
}

/** The earlier one of both presents: a clock that is ahead ends no slot. */
export function presentOfSlots(): Statement {
  return sql`(select storerank_now() - greatest(clock_ahead(), interval '0'))`
}

/** What is wrong with the clock and what to do, as a sentence; null while nothing is. */
export async function readWrongClock(db: SqlRunner): Promise<string | null> {
  const [row] = await db<{ message: string | null }[]>`select message from open_work where kind = 'clock'`
  return row?.message ?? null
}

/**
 * Notes where the time zone of a project was changed: its money counts by the new one from the hour after the
 * next on, when every transaction that reads the old one has ended. A project that was copied without
 * triggers gets its first row here. The caller holds the ledger's lock.
 */
export async function followTimeZones(tx: Transaction): Promise<void> {
  await tx`
    insert into money_zone (project_id, since, timezone)
    select p.id, case when last.timezone is null then '-infinity'
      else date_trunc('hour', storerank_now(), 'UTC') + interval '2 hours' end, p.timezone
    from project p left join lateral (
      select m.timezone from money_zone m where m.project_id = p.id order by m.since desc limit 1
    ) last on true
    where last.timezone is distinct from p.timezone
    on conflict (project_id, since) do update set timezone = excluded.timezone`
}
