/**
 * The door to postgres.js 3.4.9: nothing else imports it, and every statement passes `send`, which makes and
 * sends it at one moment. A client of the driver is one session here, and begins no other: the driver would
 * send what is left of a lost one to the next, where the rest of a transaction is committed at once.
 */
import type { Socket } from 'node:net'
import postgres from 'postgres'
import { parse as parseArray } from 'postgres-array'
import { endedEarly, failedSocket } from './socket.ts'
import { type Part, type Rendered, render, Statement, toParameter, type Value } from './sql.ts'

export type Client = postgres.Sql
/** The driver's types leave `socket` out. */
export type ClientOptions = postgres.Options<Record<string, postgres.PostgresType>> & {
  readonly host: string
  readonly port: number
  readonly socket: () => Promise<Socket>
}
/** Rows, and what the server says of them: `count`, `columns`, `command`. */
export type Rows<T extends readonly object[]> = postgres.RowList<T>

/** A statement of the driver that was sent. */
export interface Query extends Promise<postgres.RowList<postgres.Row[]>> {
  /** The session that it was sent to. */
  readonly state: { readonly pid: number } | null
}

/** Whatever can run a statement. Each call sends one at once; a piece of another one is made by `sql`. */
export interface SqlRunner {
  <T extends readonly object[] = postgres.Row[]>(
    texts: TemplateStringsArray,
    ...parts: readonly Part[]
  ): Promise<Rows<T>>
  /**
   * Runs text as it is, for once: without values, also several statements, and the answer is that of each.
   */
  unsafe<T extends readonly object[] = postgres.Row[]>(
    text: string,
    values?: readonly Value[],
  ): Promise<Rows<T>>
}

/** How long a statement may still take when its client is ended: without, the driver may wait for ever. */
export const CLOSE_TIMEOUT_S = 5

/**
 * Opens lazily: no connection is made before the first statement.
 * @param reconnects whether a session that was lost is followed by another one
 */
export function connect(options: ClientOptions, reconnects = false): Client {
  const server = `${options.host}:${options.port}`
  let socket: Socket | null = null
  let hasEnded = false
  const session = {
    max: 1,
    max_lifetime: null,
    onnotice: () => {},
    fetch_types: false,
    types: TYPES,
    ...options,
    socket: async () => {
      // While it lives, the driver connects again to cancel a statement.
      if (socket?.destroyed)
        return failedSocket(hasEnded ? connectionError('CONNECTION_CLOSED', server) : endedEarly(server))
      const opened = await options.socket()
      socket ??= opened
      return opened
    },
    onclose: (id: number) => {
      hasEnded = true
      if (reconnects) socket = null
      options.onclose?.(id)
    },
  }
  return postgres(session) as Client
}

/** What the driver says of a connection that has ended. */
export function connectionError(code: 'CONNECTION_CLOSED' | 'CONNECTION_ENDED', server: string): Error {
  return Object.assign(new Error(`write ${code} ${server}`), { code })
}

const noted = (from: number[], parse: (text: string) => unknown) => ({
  to: 25,
  from,
  parse,
  serialize: String,
})
const arrays = (from: number[], parse: (text: string) => unknown) =>
  noted(from, (text) => parseArray(text, parse))
/**
 * Micro-dollars and counts stay far below 2^53. An id that an editor has given may be beyond it: as a number
 * it would be that of another row, so it stays the text that it is, which Postgres takes back.
 */
const readWhole = (text: string) => {
  const value = Number(text)
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? text : value
}

/** Of sixteen digits and more; without, no value is looked at one by one. */
const MAY_BE_BEYOND = /\d{16}/

/** Pure: what JSON says, with each whole number beyond 2^53 as the text that it is. */
function parseExact(text: string): unknown {
  if (!MAY_BE_BEYOND.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' ? readWhole(context?.source ?? String(value)) : value,
  )
}

/** Whole numbers and JSON, none of which is rounded. */
export const EXACT_TYPES = { int8: noted([20], readWhole), json: noted([114, 3802], parseExact) }

/** By the number of the type, the same on every server: of arrays the driver would ask for it. */
const TYPES = {
  ...EXACT_TYPES,
  numbers: arrays([1005, 1007, 1016, 1021, 1022, 1028], readWhole),
  texts: arrays([1002, 1003, 1009, 1014, 1015, 1187, 1231, 2951], String),
  booleans: arrays([1000], (text) => text === 't'),
  bytes: arrays([1001], (text) => Buffer.from(text.slice(2), 'hex')),
  dates: arrays([1115, 1182, 1185], (text) => new Date(text)),
  jsons: arrays([199, 3807], parseExact),
}

/** Prepared once a session, whether it has values or not. */
const PREPARED = { prepare: true, simple: false }

/** Makes a query of the driver, which sends it when it is awaited, or otherwise read. */
export function toQuery(
  channel: Pick<Client, 'unsafe'>,
  { text, values }: Rendered,
  options: object = PREPARED,
): postgres.PendingQuery<postgres.Row[]> {
  const query = channel.unsafe<postgres.Row[]>(text, [...values] as string[], options)
  // Where it was called. Of an error the driver asks for it, and then keeps the text of each call for ever.
  return Object.defineProperty(query, 'origin', { value: '' })
}

/** What the driver's own type of a query does not name. */
interface Sendable extends Query {
  handler(query: Sendable): void
  executed: boolean
}

/**
 * Sends a statement now. The driver would do so a moment after it is awaited: here nothing comes between the
 * question whether the session lives and the statement.
 */
export function send(channel: Pick<Client, 'unsafe'>, rendered: Rendered, options?: object): Query {
  const query = toQuery(channel, rendered, options) as unknown as Sendable
  query.executed = true
  query.handler(query)
  return query
}

/** @param run is given each statement, and sends it */
export function createRunner(run: (rendered: Rendered, options?: object) => Promise<unknown>): SqlRunner {
  const tag = async (texts: TemplateStringsArray, ...parts: readonly Part[]) =>
    run(render(new Statement(texts, parts)))
  const unsafe = async (text: string, values: readonly Value[] = []) =>
    run({ text, values: values.map(toParameter) }, { simple: values.length === 0 })
  return Object.assign(tag, { unsafe }) as SqlRunner
}

/** Of the driver, the system and TLS. Other codes are of statements and parameters. */
const CONNECTION_ENDED = /^(CONNECTION_\w+|CONNECT_TIMEOUT|E(?!RR_)[A-Z]+|ERR_(STREAM|SSL|TLS|SOCKET)_\w+)$/

/** Whether an error of a statement tells that its session has ended. */
export function endsSession(error: unknown): boolean {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return (
    severity === 'FATAL' || severity === 'PANIC' || (typeof code === 'string' && CONNECTION_ENDED.test(code))
  )
}

export type DatabaseError = postgres.PostgresError

/** Whether it is what the server said of a statement. */
export function isDatabaseError(error: unknown): error is DatabaseError {
  return error instanceof postgres.PostgresError
}
