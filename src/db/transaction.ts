/**
 * `begin`: the one way to run a transaction. Nothing else in storerank calls the driver's own `begin`, which
 * the type of `Database.sql` does not offer.
 */
import type postgres from 'postgres'
import { UnavailableError } from '../errors.ts'
import { describeLockTimeout, type LockHolder, readLockHolders } from './lock-holder.ts'
import { createSessionGuard, type SessionGuard, type Transaction } from './session-guard.ts'
import type { Types } from './statement.ts'

export type { Transaction } from './session-guard.ts'

export interface TransactionOptions {
  /** What it is, as the subject of a sentence: "Planning". */
  readonly name?: string
  /** All statements see the database as it was at the first one, and none may write. */
  readonly isReadOnlySnapshot?: boolean
  /** Longest wait for one lock: of a row, of a table, or an advisory one. */
  readonly lockTimeoutMs?: number
  /** Longest run of one statement. */
  readonly statementTimeoutMs?: number
  /** A transaction that takes longer is given up, and its session ended: it hangs. */
  readonly limitMs?: number
}

/**
 * Runs `work` in a transaction, and commits it when `work` resolves. Once its session is lost, its statements
 * are refused.
 * @returns what `work` resolved to
 * @throws what `work` threw, after a rollback; the error of the connection when it was lost, and when that
 *   was during COMMIT, the transaction may be committed; UnavailableError when a lock was not given within
 *   `lockTimeoutMs`, naming who holds it, and when the transaction did not end within `limitMs`, by default
 *   ten minutes
 */
export type Begin = <T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions) => Promise<T>

const SNAPSHOT = 'isolation level repeatable read read only'
/** Minutes, where the longest of our transactions take seconds: beyond it something hangs. */
const LIMIT_MS = 10 * 60_000
/** SQLSTATE: lock_timeout was over. */
const LOCK_NOT_AVAILABLE = '55P03'
/**
 * The first look comes after this part of the time that a statement may wait, the last one shortly before its
 * end.
 */
const LOOKS = 4

interface Surroundings {
  /**
   * Another client, that looks at a transaction from outside: who holds its lock, and an end to its session.
   */
  readonly observer?: postgres.ISql<Types> | undefined
  readonly onLost?: () => void
}

export function createBegin(
  client: postgres.Sql<Types>,
  { observer, onLost = () => {} }: Surroundings = {},
): Begin {
  return async <T>(work: (tx: Transaction) => Promise<T>, options: TransactionOptions = {}): Promise<T> => {
    const { name = 'A transaction', lockTimeoutMs, limitMs = LIMIT_MS } = options
    const locks = createLockWatch(lockTimeoutMs, observer)
    const session = createSessionGuard(locks.watch, onLost)
    const watchdog = setTimeout(() => giveUp(session, name, limitMs, observer), limitMs)
    const running = client.begin(options.isReadOnlySnapshot ? SNAPSHOT : '', (tx) =>
      session.run(tx, (guarded) => {
        setLimits(guarded, options)
        return work(guarded)
      }),
    )
    try {
      return (await Promise.race([running, session.lost])) as T
    } catch (error) {
      if (!session.isOver) session.lose(error)
      if (lockTimeoutMs === undefined || (error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error
      throw new UnavailableError(describeLockTimeout(name, lockTimeoutMs, locks.holders()), { cause: error })
    } finally {
      clearTimeout(watchdog)
    }
  }
}

/**
 * Goes to the server together with the first statement of the transaction, which waits for no answer of its
 * own.
 */
function setLimits(tx: Transaction, { lockTimeoutMs, statementTimeoutMs }: TransactionOptions): void {
  const limits = { lock_timeout: lockTimeoutMs, statement_timeout: statementTimeoutMs }
  const statements = Object.entries(limits).flatMap(([name, ms]) =>
    ms === undefined ? [] : [`set local ${name} = ${Math.ceil(ms)}`],
  )
  // A failure of it fails the transaction.
  if (statements.length > 0) tx.unsafe(statements.join('; ')).catch(() => {})
}

/** Looks who holds the lock while a statement still waits for it. */
function createLockWatch(lockTimeoutMs: number | undefined, observer?: postgres.ISql<Types>) {
  let holders: readonly LockHolder[] = []
  return {
    holders: () => holders,
    watch: (statement: Promise<unknown>, pid: number) => {
      if (lockTimeoutMs === undefined || observer === undefined) return
      const timer = setInterval(async () => {
        const found = await readLockHolders(observer, pid).catch(() => [])
        if (found.length > 0) holders = found
      }, lockTimeoutMs / LOOKS)
      const stop = () => clearInterval(timer)
      statement.then(stop, stop)
    },
  }
}

/** Ends the session as well: the server would go on with the statement, and hold its locks. */
function giveUp(session: SessionGuard, name: string, limitMs: number, observer?: postgres.ISql<Types>): void {
  session.lose(new UnavailableError(`${name} had not ended after ${limitMs / 1000} s, and was given up.`))
  if (observer === undefined || session.pid === null) return
  observer`select pg_terminate_backend(${session.pid})`.catch(() => {})
}
