/**
 * `begin`: the one way to run a transaction. postgres.js sends the next statement of a transaction whose
 * session has ended on another connection, where it is committed at once, or ends the process with a
 * TypeError; savepoints, COMMIT and ROLLBACK likewise. Therefore a transaction sends nothing once its session
 * is lost, and the driver never learns how its callback ended.
 */
import { UnavailableError } from '../errors.ts'
import {
  type Client,
  createRunner,
  type DriverTransaction,
  endsSession,
  type Query,
  type SqlRunner,
  send,
} from './driver.ts'
import { describeLockTimeout, type LockHolder, readLockHolders } from './lock-holder.ts'

/** The statements of one transaction. */
export interface Transaction extends SqlRunner {
  /**
   * Runs `work` behind a savepoint: when it throws, only what it did is rolled back, and its error is thrown.
   */
  savepoint<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
}

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

/**
 * @param onLost called once when a session was lost, before anybody else learns it
 * @param observer of another pool, that looks at a transaction from outside: who holds its lock, and an end
 *   to its session
 */
export function createBegin(client: Client, onLost: () => void, observer?: SqlRunner): Begin {
  return async <T>(work: (tx: Transaction) => Promise<T>, options: TransactionOptions = {}): Promise<T> => {
    const { name = 'A transaction', lockTimeoutMs, limitMs = LIMIT_MS } = options
    const locks = createLockWatch(lockTimeoutMs, observer)
    const session = new GuardedSession(locks.watch, onLost)
    const watchdog = setTimeout(() => giveUp(session, name, limitMs, observer), limitMs)
    const running = client.begin(options.isReadOnlySnapshot ? SNAPSHOT : '', (driver) =>
      session.run(driver, (tx) => {
        setLimits(tx, options)
        return work(tx)
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

/** The session of one transaction: whether it lives, and the one place that its statements pass. */
class GuardedSession {
  /** Rejects with the error that the session ended with; never resolves. */
  readonly lost: Promise<never>
  /** The server process; null until a statement was sent. */
  pid: number | null = null
  /** Whether the callback has ended. */
  isOver = false
  readonly #onSend: (query: Query, pid: number) => void
  readonly #onLost: () => void
  readonly #reject: (error: unknown) => void
  #isLost = false
  #refusal: Error | null = null

  constructor(onSend: (query: Query, pid: number) => void, onLost: () => void) {
    this.#onSend = onSend
    this.#onLost = onLost
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => {})
    this.lost = promise
    this.#reject = reject
  }

  /** From here on every statement is refused, and what becomes of the callback does not matter any more. */
  lose(error: unknown): void {
    if (this.#isLost) return
    this.#isLost = true
    const reason = error instanceof Error ? error.message : String(error)
    this.#refusal ??= new UnavailableError(`The session of this transaction has ended: ${reason}`, {
      cause: error,
    })
    this.#onLost()
    this.#reject(error)
  }

  /** Runs the callback of the transaction. Once the session is lost, the result never settles. */
  run<T>(driver: DriverTransaction, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#untilLost(() => work(this.#guard(driver)).finally(() => this.#end()))
  }

  #end(): void {
    this.isOver = true
    this.#refusal ??= new Error(
      'A statement came after the end of its transaction, whose callback must await it.',
    )
  }

  #guard(driver: DriverTransaction): Transaction {
    const runner = createRunner(async (rendered, options) => {
      if (this.#refusal !== null) throw this.#refusal
      const query = send(driver, rendered, options)
      query.catch((error) => {
        if (endsSession(error)) this.lose(error)
      })
      this.pid = query.state?.pid ?? this.pid
      if (this.pid !== null) this.#onSend(query, this.pid)
      return query
    })
    const savepoint = async <T>(work: (tx: Transaction) => Promise<T>) => {
      if (this.#refusal !== null) throw this.#refusal
      const inner = driver.savepoint((nested) => this.#untilLost(() => work(this.#guard(nested))))
      return Promise.race([inner as Promise<T>, this.lost])
    }
    return Object.assign(runner, { savepoint })
  }

  #untilLost<T>(work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      // In a function of its own, because a callback may throw before it returns a promise.
      ;(async () => work())().then(
        (result) => this.#isLost || resolve(result),
        (error) => this.#isLost || reject(error),
      )
    })
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
function createLockWatch(lockTimeoutMs: number | undefined, observer?: SqlRunner) {
  let holders: readonly LockHolder[] = []
  return {
    holders: () => holders,
    watch: (query: Query, pid: number) => {
      if (lockTimeoutMs === undefined || observer === undefined) return
      const timer = setInterval(async () => {
        const found = await readLockHolders(observer, pid).catch(() => [])
        if (found.length > 0) holders = found
      }, lockTimeoutMs / LOOKS)
      const stop = () => clearInterval(timer)
      query.then(stop, stop)
    },
  }
}

/** Ends the session as well: the server would go on with the statement, and hold its locks. */
function giveUp(session: GuardedSession, name: string, limitMs: number, observer?: SqlRunner): void {
  session.lose(new UnavailableError(`${name} had not ended after ${limitMs / 1000} s, and was given up.`))
  if (observer === undefined || session.pid === null) return
  observer`select pg_terminate_backend(${session.pid})`.catch(() => {})
}
