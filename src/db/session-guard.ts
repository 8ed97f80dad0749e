/**
 * Keeps the statements of a transaction in its session. postgres.js 3.4.9 sends the next statement of a
 * transaction whose session has ended on another connection, where it is committed at once, or ends the
 * process with a TypeError; savepoints, COMMIT and ROLLBACK likewise. Therefore every statement passes this
 * guard at the moment it is sent, and the driver never learns how a callback ended whose session was lost.
 */
import type postgres from 'postgres'
import { UnavailableError } from '../errors.ts'
import { endsSession, interceptStatements, type Statement, type Types } from './statement.ts'

/** The statements of one transaction. */
export interface Transaction extends postgres.ISql<Types> {
  /**
   * Runs `work` behind a savepoint: when it throws, only what it did is rolled back, and its error is thrown.
   */
  savepoint<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
}

export interface SessionGuard {
  /** Rejects with the error that the session ended with; never resolves. */
  readonly lost: Promise<never>
  /** The server process; null until a statement was sent. */
  readonly pid: number | null
  /** Whether the callback has ended. */
  readonly isOver: boolean
  /** From here on every statement is refused, and what becomes of the callback does not matter any more. */
  lose(error: unknown): void
  /** Runs the callback of the transaction. Once the session is lost, the result never settles. */
  run<T>(tx: postgres.TransactionSql<Types>, work: (tx: Transaction) => Promise<T>): Promise<T>
}

/**
 * @param onSend called with each statement that was sent, and the server process that has it
 * @param onLost called once, before anybody else learns it
 */
export function createSessionGuard(
  onSend: (statement: Promise<unknown>, pid: number) => void,
  onLost: () => void,
): SessionGuard {
  const { promise: lost, reject } = Promise.withResolvers<never>()
  lost.catch(() => {})
  let isLost = false
  let isOver = false
  let refusal: Error | null = null
  let pid: number | null = null

  const lose = (error: unknown) => {
    if (isLost) return
    isLost = true
    const reason = error instanceof Error ? error.message : String(error)
    refusal ??= new UnavailableError(`The session of this transaction has ended: ${reason}`, { cause: error })
    onLost()
    reject(error)
  }

  const untilLost = <T>(work: () => Promise<T>) =>
    new Promise<T>((resolve, fail) => {
      const unlessLost =
        <Result>(settle: (result: Result) => void) =>
        (result: Result) => {
          if (!isLost) settle(result)
        }
      // In a function of its own, because a callback may throw before it returns a promise.
      ;(async () => work())().then(unlessLost(resolve), unlessLost(fail))
    })

  const send = (statement: Statement, handler: Statement['handler']) => {
    if (refusal !== null) return statement.reject(refusal)
    statement.catch((error) => {
      if (endsSession(error)) lose(error)
    })
    handler(statement)
    pid = statement.state?.pid ?? pid
    if (pid !== null) onSend(statement, pid)
  }

  const guard = (tx: postgres.TransactionSql<Types>): Transaction =>
    Object.assign(interceptStatements(tx, send), {
      savepoint: async <T>(work: (inner: Transaction) => Promise<T>) => {
        if (refusal !== null) throw refusal
        const inner = tx.savepoint((nested) => untilLost(() => work(guard(nested)))) as Promise<T>
        return Promise.race([inner, lost])
      },
    })

  const end = () => {
    isOver = true
    refusal ??= new Error('A statement came after the end of its transaction, whose callback must await it.')
  }

  return {
    lost,
    get pid() {
      return pid
    },
    get isOver() {
      return isOver
    },
    lose,
    run: (tx, work) => untilLost(() => work(guard(tx)).finally(end)),
  }
}
