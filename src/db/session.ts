/** A connection of its own: for a lock that lives as long as it does, and for cursors and COPY. */
import { postgresOptions, toStartupOptions } from './connection.ts'
import { CLOSE_TIMEOUT_S, type ClientOptions, connect, createRunner, send, toQuery } from './driver.ts'
import { render, type Statement } from './sql.ts'

export interface SessionOptions {
  /** Shown in pg_stat_activity. */
  readonly name: string
  /** With which it begins. */
  readonly settings?: Readonly<Record<string, string | number>>
  readonly onNotice?: ClientOptions['onnotice']
  /** Called when the connection has ended, whoever ended it. */
  readonly onClose?: () => void
  /** With it, the next statement makes another connection. */
  readonly reconnectPauseMs?: number
  /** How values are read; without it, as everywhere. */
  readonly types?: ClientOptions['types']
}

export interface Column {
  readonly name: string
  /** The number of its type. */
  readonly type: number
}

/** What the server answers to one statement: rows of values, in the order of its columns. */
export interface Answer extends ReadonlyArray<readonly unknown[]> {
  readonly columns?: readonly Column[]
  readonly command: string
  /** Null of a statement that is not about rows, as ALTER DATABASE. */
  readonly count: number | null
}

/** The text of each value of a row as Postgres writes it, null for null. */
export type Cells = readonly (string | null)[]

export type Session = ReturnType<typeof openSession>

/** The extended protocol, which alone has cursors, and nothing prepared. */
const EXTENDED = { simple: false }
const SIMPLE = { simple: true }

/** Connects with the first statement. Its caller ends it. */
export function openSession(url: string, options: SessionOptions) {
  const { name, settings = {}, onNotice, onClose, reconnectPauseMs, types } = options
  const client = connect(
    {
      ...postgresOptions(url),
      ...(onNotice && { onnotice: onNotice }),
      ...(onClose && { onclose: onClose }),
      ...(reconnectPauseMs && { backoff: () => reconnectPauseMs / 1000 }),
      ...(types && { types, fetch_types: true }),
      connection: { application_name: name, options: toStartupOptions(settings) },
    },
    reconnectPauseMs !== undefined,
  )
  const of = (text: string, how: object) => toQuery(client, { text, values: [] }, how)
  const runner = createRunner((rendered, how) => send(client, rendered, how))
  return Object.assign(runner, {
    /** The rows of a statement in batches, read as they are wanted. */
    readInBatches: <T extends object>(statement: Statement, rowsAtOnce: number) =>
      toQuery(client, render(statement)).cursor(rowsAtOnce) as AsyncIterable<readonly T[]>,
    /** The columns that a query of a person has. */
    describe: async (query: string): Promise<readonly Column[]> =>
      (await of(query, EXTENDED).describe()).columns,
    /** The rows of a query of a person, in batches. The signal ends it, before its first row too. */
    readCells: (query: string, rowsAtOnce: number, signal: AbortSignal) =>
      readCells(of(query, EXTENDED), rowsAtOnce, signal),
    /** Runs one or several statements of a person. The signal ends them. */
    ask: (statements: string, signal: AbortSignal) => ask(of(statements, SIMPLE), signal),
    /** What `copy … to stdout` writes. */
    copyOut: (statement: string) => of(statement, SIMPLE).readable(),
    /** What `copy … from stdin` reads. */
    copyIn: (statement: string) => of(statement, SIMPLE).writable(),
    /** @param timeoutS what a statement under way may still take */
    end: (timeoutS = CLOSE_TIMEOUT_S) => client.end({ timeout: timeoutS }),
  })
}

type DriverQuery = ReturnType<typeof toQuery>

async function* readCells(
  query: DriverQuery,
  rowsAtOnce: number,
  signal: AbortSignal,
): AsyncIterable<readonly Cells[]> {
  signal.throwIfAborted()
  const raw = query.raw()
  const cancel = () => raw.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    for await (const batch of raw.cursor(rowsAtOnce)) {
      signal.throwIfAborted()
      yield batch.map((row) => [...row].map((value) => value?.toString() ?? null))
    }
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** Several statements come as an array of answers, one as its rows. */
async function ask(query: DriverQuery, signal: AbortSignal): Promise<readonly Answer[]> {
  const pending = query.values()
  signal.addEventListener('abort', () => pending.cancel(), { once: true })
  const answer: unknown = await pending
  return ('command' in (answer as object) ? [answer] : answer) as readonly Answer[]
}
