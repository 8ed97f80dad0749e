/** One session, and the one way to run a transaction in it, which sends nothing once that is lost. */
import { UnavailableError } from '../errors.ts'
import {
  type Client,
  type ClientOptions,
  connect,
  connectionError,
  createRunner,
  endsSession,
  type Query,
  type SqlRunner,
  send,
} from './driver.ts'
import { describeLockTimeout, type LockHolder, readLockHolders } from './lock-holder.ts'
import type { Rendered } from './sql.ts'

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

/** Minutes, where the longest of our transactions take seconds: beyond it something hangs. */
const LIMIT_MS = 10 * 60_000
/** SQLSTATE: lock_timeout was over. */
const LOCK_NOT_AVAILABLE = '55P03'
/** SQLSTATE: a statement before it in the same transaction has failed. */
const ABORTED = '25P02'
/** The first look comes after this part of the time that a statement may wait. */
const LOOKS = 4
const OVER = 'A statement came after the end of its transaction, whose callback must await it.'

/** One session, until it is lost. */
export class Link {
  /** The server process; null until a statement was sent. */
  pid: number | null = null
  readonly #client: Client
  readonly #onLost: () => void
  #reject: (error: unknown) => void = () => {}
  #refusal: Error | null = null

  constructor(options: ClientOptions, onLost: () => void) {
    const onclose = () => this.lose(connectionError('CONNECTION_CLOSED', `${options.host}:${options.port}`))
    this.#client = connect({ ...options, max: 1, onclose })
    this.#onLost = onLost
  }

  get isLost(): boolean {
    return this.#refusal !== null
  }

  send(rendered: Rendered, how?: object): Query {
    if (this.#refusal !== null) throw this.#refusal
    const query = send(this.#client, rendered, how)
    this.pid = query.state?.pid ?? this.pid
    query.catch((error) => {
      if (endsSession(error)) this.lose(error)
    })
    return query
  }

  /** From here on every statement is refused, and what is under way is cut off. */
  lose(error: unknown): void {
    if (this.isLost) return
    const reason = error instanceof Error ? error.message : String(error)
    this.#refusal = new UnavailableError(`The session of this transaction has ended: ${reason}`, {
      cause: error,
    })
    // In a moment: what a statement under way says tells more than that its connection has closed.
    setImmediate(this.#reject, error)
    this.#onLost()
    void this.end(0)
  }

  /** What the transaction comes to, or the error that its session ended with. One at a time. */
  untilLost<T>(transaction: Promise<T>): Promise<T> {
    // Without Promise.race, which would keep the outcome of each for as long as the session lives.
    return new Promise((resolve, reject) => {
      this.#reject = reject
      // A refusal says no more than what the session has ended with.
      transaction.then(resolve, (error) => reject(error === this.#refusal ? error.cause : error))
    })
  }

  end(timeoutS: number): Promise<void> {
    return this.#client.end({ timeout: timeoutS })
  }
}

type Run = (rendered: Rendered, how?: object) => Query

/**
 * @param observer of another session, that looks at a transaction from outside: who holds its lock, and an
 *   end to its session
 */
export async function runTransaction<T>(
  link: Link,
  work: (tx: Transaction) => Promise<T>,
  options: TransactionOptions = {},
  observer?: SqlRunner,
): Promise<T> {
  const { name = 'A transaction', lockTimeoutMs, limitMs = LIMIT_MS } = options
  const locks = createLockWatch(link, lockTimeoutMs, observer)
  const watchdog = setTimeout(() => giveUp(link, name, limitMs, observer), limitMs)
  try {
    return await link.untilLost(beginAndCommit(link, work, options, locks.watch))
  } catch (error) {
    if (lockTimeoutMs === undefined || (error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error
    throw new UnavailableError(describeLockTimeout(name, lockTimeoutMs, locks.holders()), { cause: error })
  } finally {
    clearTimeout(watchdog)
  }
}

async function beginAndCommit<T>(
  link: Link,
  work: (tx: Transaction) => Promise<T>,
  options: TransactionOptions,
  watch: (query: Query) => void,
): Promise<T> {
  let isOver = false
  const run: Run = (rendered, how) => {
    if (isOver) throw new Error(OVER)
    const query = link.send(rendered, how)
    watch(query)
    return query
  }
  const snapshot = options.isReadOnlySnapshot ? ' isolation level repeatable read read only' : ''
  await say(run, `begin${snapshot}`).catch((error) => {
    link.lose(error)
    throw error
  })
  // A session whose transaction has not ended for sure takes no other one.
  const end = async (command: string) => {
    isOver = true
    return say(link.send.bind(link), command).catch((error) => {
      link.lose(error)
      throw error
    })
  }
  const result = await runScope(run, (tx) => {
    setLimits(tx, options)
    return work(tx)
  }).catch(async (error) => {
    await end('rollback').catch(() => {})
    throw error
  })
  const { command } = await end('commit')
  if (command !== 'COMMIT')
    throw new Error('A statement that nobody awaited has failed: nothing was committed.')
  return result
}

/**
 * Runs `work` with statements of its own. One that failed fails it, also where `work` has caught the error:
 * Postgres would answer COMMIT with a rollback.
 */
async function runScope<T>(run: Run, work: (tx: Transaction) => Promise<T>, depth = 1): Promise<T> {
  let failure: unknown = null
  const runner = createRunner(async (rendered, how) => {
    const query = run(rendered, how)
    query.catch((error) => {
      failure ??= error
    })
    return query
  })
  const savepoint = async <U>(inner: (tx: Transaction) => Promise<U>): Promise<U> => {
    // Of those of one name, it is rolled back to the latest.
    await say(run, `savepoint at_${depth}`)
    try {
      return await runScope(run, inner, depth + 1)
    } catch (error) {
      await say(run, `rollback to at_${depth}`).catch((still) => {
        failure ??= still
      })
      throw error
    }
  }
  try {
    const result = await work(Object.assign(runner, { savepoint }))
    if (failure === null) return result
  } catch (error) {
    if (failure === null || (error as { code?: string }).code !== ABORTED) throw error
  }
  throw failure
}

async function say(run: Run, text: string): Promise<{ readonly command: string }> {
  return run({ text, values: [] }, { simple: true })
}

/** They go to the server together with the first statement. A failure of theirs fails the transaction. */
function setLimits(tx: Transaction, { lockTimeoutMs, statementTimeoutMs }: TransactionOptions): void {
  const limits = { lock_timeout: lockTimeoutMs, statement_timeout: statementTimeoutMs }
  const statements = Object.entries(limits).flatMap(([name, ms]) =>
    ms === undefined ? [] : [`set local ${name} = ${Math.ceil(ms)}`],
  )
  if (statements.length > 0) tx.unsafe(statements.join('; ')).catch(() => {})
}

/** Looks who holds the lock while a statement still waits for it. */
function createLockWatch(link: Link, lockTimeoutMs: number | undefined, observer?: SqlRunner) {
  let holders: readonly LockHolder[] = []
  return {
    holders: () => holders,
    watch: (query: Query) => {
      const { pid } = link
      if (lockTimeoutMs === undefined || observer === undefined || pid === null) return
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
function giveUp(link: Link, name: string, limitMs: number, observer?: SqlRunner): void {
  link.lose(new UnavailableError(`${name} had not ended after ${limitMs / 1000} s, and was given up.`))
  if (observer === undefined || link.pid === null) return
  observer`select pg_terminate_backend(${link.pid})`.catch(() => {})
}
