/**
 * Keeps the statements of a transaction in its session. postgres.js 3.4.9 sends the next statement of a transaction whose
 * session has ended on another connection, where it is committed at once, or ends the process with a TypeError; savepoints,
 * COMMIT and ROLLBACK likewise. Therefore every statement passes this guard at the moment it is sent, and the driver never
 * learns how a callback ended whose session was lost.
 */
import type postgres from 'postgres'
import { UnavailableError } from '../errors.ts'
import type { Transaction, Types } from './transaction.ts'

/** A statement of the driver, with what it calls to send itself once it is awaited. */
interface Statement extends Promise<unknown> {
  handler: (statement: Statement) => void
  reject(error: Error): void
  /** The session that it was sent to. */
  readonly state: { readonly pid: number } | null
}

export interface SessionGuard {
  /** Rejects with the error that the session ended with; never resolves. */
  readonly lost: Promise<never>
  /** The server process; null until a statement was sent. */
  readonly pid: number | null
  /** From here on every statement is refused, and what becomes of the callback does not matter any more. */
  lose(error: unknown): void
  /** Runs the callback of the transaction. Once the session is lost, the result never settles. */
  run<T>(tx: postgres.TransactionSql<Types>, work: (tx: Transaction) => Promise<T>): Promise<T>
}

/** Codes of the driver, the system and TLS for a connection that has ended. The others are of statements and parameters. */
const CONNECTION_ENDED = /^(CONNECTION_\w+|CONNECT_TIMEOUT|E(?!RR_)[A-Z]+|ERR_(STREAM|SSL|TLS|SOCKET)_\w+)$/

/** @param onSend called with each statement that was sent, and the server process that has it */
export function createSessionGuard(onSend: (statement: Promise<unknown>, pid: number) => void): SessionGuard {
  const { promise: lost, reject } = Promise.withResolvers<never>()
  lost.catch(() => {})
  let refusal: Error | null = null
  let isLost = false
  let pid: number | null = null

  const lose = (error: unknown) => {
    if (isLost) return
    isLost = true
    const reason = error instanceof Error ? error.message : String(error)
    refusal ??= new UnavailableError(`The session of this transaction has ended: ${reason}`, { cause: error })
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

  const send = (handler: Statement['handler']) => (statement: Statement) => {
    if (refusal !== null) return statement.reject(refusal)
    statement.catch((error) => {
      if (endsSession(error)) lose(error)
    })
    handler(statement)
    pid = statement.state?.pid ?? pid
    if (pid !== null) onSend(statement, pid)
  }

  const guard = (tx: postgres.TransactionSql<Types>): Transaction =>
    guardTransaction(tx, send, async <T>(work: (inner: Transaction) => Promise<T>) => {
      if (refusal !== null) throw refusal
      const inner = tx.savepoint((nested) => untilLost(() => work(guard(nested)))) as Promise<T>
      return Promise.race([inner, lost])
    })

  const end = () => {
    refusal ??= new Error('A statement came after the end of its transaction, whose callback must await it.')
  }

  return {
    lost,
    get pid() {
      return pid
    },
    lose,
    run: (tx, work) => untilLost(() => work(guard(tx)).finally(end)),
  }
}

/** What makes statements, with each of them sent through `send`. A fragment of a statement is never sent by itself. */
function guardTransaction(
  tx: postgres.TransactionSql<Types>,
  send: (handler: Statement['handler']) => Statement['handler'],
  savepoint: Transaction['savepoint'],
): Transaction {
  const guarded = (made: unknown) => {
    if (isStatement(made)) made.handler = send(made.handler)
    return made
  }
  const { array, json, typed, types } = tx
  return Object.assign((...args: unknown[]) => guarded(Reflect.apply(tx, undefined, args)), {
    unsafe: (...args: Parameters<typeof tx.unsafe>) => guarded(tx.unsafe(...args)),
    savepoint,
    array,
    json,
    typed,
    types,
    // These two the driver runs on another connection of the pool.
    notify: refuseOutside,
    file: refuseOutside,
  }) as unknown as Transaction
}

function refuseOutside(): never {
  throw new Error('In this driver, notify and file are not part of a transaction. Use pg_notify, or unsafe.')
}

function isStatement(made: unknown): made is Statement {
  return made instanceof Promise && 'handler' in made
}

/** The server says FATAL or PANIC when it ends a session. */
function endsSession(error: unknown): boolean {
  const { code, severity } = error as { code?: string; severity?: string }
  return severity === 'FATAL' || severity === 'PANIC' || (code !== undefined && CONNECTION_ENDED.test(code))
}
