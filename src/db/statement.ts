/**
 * A statement of postgres.js: it is made by a tagged call or `unsafe`, and sent when it is awaited, or never,
 * when it is a fragment of another one. The driver offers no place between the two; this makes one of its
 * `handler`.
 */
import type postgres from 'postgres'

/** The driver's types that differ from its defaults. */
export type Types = { int8: number }

export interface Statement extends Promise<unknown> {
  /** Sends it. */
  handler: (statement: Statement) => void
  reject(error: Error): void
  /** Of a cursor. */
  readonly cursorFn?: unknown
  /** Whether it was made by a tagged call, and not by `unsafe`. */
  readonly tagged: boolean
  /** Where it was called: the driver makes it of an Error that it keeps for each place of a tagged call. */
  readonly origin: string
  /** The session that it was sent to. */
  readonly state: { readonly pid: number } | null
  /** Types and text, by which a session finds it again; false when it is not prepared. */
  readonly signature: string | false
  /** What the session keeps of it, once it was sent. */
  readonly statement: { string: string; isShared?: boolean } | null | undefined
}

/**
 * Codes of the driver, the system and TLS for a connection that has ended. The others are of statements and
 * parameters.
 */
const CONNECTION_ENDED = /^(CONNECTION_\w+|CONNECT_TIMEOUT|E(?!RR_)[A-Z]+|ERR_(STREAM|SSL|TLS|SOCKET)_\w+)$/

/**
 * Whether an error of a statement tells that its session has ended: the server then says FATAL or PANIC, if
 * it can.
 */
export function endsSession(error: unknown): boolean {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return (
    severity === 'FATAL' || severity === 'PANIC' || (typeof code === 'string' && CONNECTION_ENDED.test(code))
  )
}

/** How the client itself sends. */
export function senderOf(client: postgres.ISql<Types>): Statement['handler'] {
  return sharing(released(client`` as unknown as Statement).handler)
}

/**
 * The driver keeps the text of a statement for each session, in the parts that it was put together of. The
 * key by which the session finds it is one string for all sessions, and ends in the same text.
 */
function sharing(handler: Statement['handler']): Statement['handler'] {
  return (sent) => {
    handler(sent)
    const { signature, statement: kept } = sent
    if (!signature || !kept || kept.isShared) return
    kept.string = signature.slice(signature.length - kept.string.length)
    kept.isShared = true
  }
}

/**
 * The driver keeps an Error for each place of a tagged call. Until its stack is read it holds all that the
 * first caller had in hand. Of `unsafe` there is none, but whoever reads it has the driver keep the text of
 * each call for ever.
 */
export function released(statement: Statement): Statement {
  if (statement.tagged) void statement.origin
  return statement
}

/**
 * What makes statements, with each of them sent by `send`, which is given how the driver would.
 * @param source a client, or a transaction of the driver
 */
export function interceptStatements(
  source: postgres.ISql<Types>,
  send: (statement: Statement, handler: Statement['handler']) => void,
): postgres.ISql<Types> {
  const intercepted = (made: unknown) => {
    if (isStatement(made)) {
      const handler = sharing(released(made).handler)
      made.handler = (statement) => send(statement, handler)
    }
    return made
  }
  const { array, json, typed, types } = source
  return Object.assign((...args: unknown[]) => intercepted(Reflect.apply(source, undefined, args)), {
    unsafe: (...args: Parameters<typeof source.unsafe>) => intercepted(source.unsafe(...args)),
    array,
    json,
    typed,
    types,
    // The driver sends these two past it, and in a transaction on another connection.
    notify: refuse,
    file: refuse,
  }) as unknown as postgres.ISql<Types>
}

function refuse(): never {
  throw new Error('Neither notify nor file can be used here. Use pg_notify, or unsafe.')
}

function isStatement(made: unknown): made is Statement {
  return made instanceof Promise && 'handler' in made
}
