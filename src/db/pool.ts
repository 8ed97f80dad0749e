/**
 * A pool of postgres.js that gives up its connections when one of them is lost, and goes on with new ones. A
 * connection of postgres.js 3.4.9 begins its next session with what is left of the lost one: bytes that were
 * not sent, so that it hangs; an error that is thrown at the next statement; and while it notices the loss it
 * takes statements that it never answers.
 */
import pLimit from 'p-limit'
import postgres from 'postgres'
import { learnArrayTypes, useArrayTypes } from './array-types.ts'
import { endsSession, interceptStatements, type Statement, senderOf, type Types } from './statement.ts'
import { type Begin, createBegin } from './transaction.ts'

type Client = postgres.Sql<Types>
export type PoolOptions = postgres.Options<{ int8: postgres.PostgresType<number> }> & { readonly max: number }

/** The client without its own `begin`: a transaction is `Database.begin`. */
export interface Sql extends postgres.ISql<Types>, Pick<Client, 'options' | 'end'> {}

export interface Pool {
  readonly sql: Sql
  readonly begin: Begin
  /** A client with one connection, which begins with its first statement. Its caller ends it. */
  openSession(connection: Readonly<Record<string, string | number>>): Sql
  load(): PoolLoad
}

export interface PoolLoad {
  /** Statements outside of transactions, and transactions, that were begun. */
  readonly statements: number
  /** Of these, those that wait for a connection. */
  readonly waiting: number
}

/** The clients that take the place of one another. */
interface Generation {
  readonly client: Client
  readonly send: Statement['handler']
  readonly begin: Begin
}

/**
 * What goes on in the other sessions of a client that was given up may take that long before it is cut off.
 */
const GIVEN_UP_MS = 60_000

/**
 * Opens lazily: no connection is made before the first statement.
 * @param observer of another pool, for transactions that wait for a lock or hang
 */
export function createPool(options: PoolOptions, observer?: postgres.ISql<Types>): Pool {
  // A client never has more to do than it has connections: its own queue would be worked by those that are
  // lost.
  const limit = pLimit(options.max)
  const givenUp = new Set<Client>()
  const state = { isEnding: false, statements: 0 }

  const openNext = (parsed: Client['options']): Generation => {
    const client = postgres({
      ...parsed,
      onclose: () => giveUp(generation),
    } as unknown as PoolOptions) as Client
    const begin = createBegin(client, { observer, onLost: () => giveUp(generation) })
    const generation = { client, send: senderOf(client), begin }
    return generation
  }
  const giveUp = (lost: Generation) => {
    if (lost !== current || state.isEnding) return
    current = openNext(lost.client.options)
    givenUp.add(lost.client)
    setTimeout(() => closeGivenUp(lost.client), GIVEN_UP_MS).unref()
    void closeIdle(lost.client)
  }
  const closeGivenUp = async (client: Client) => {
    givenUp.delete(client)
    await client.end({ timeout: 0 })
  }
  // One connection that is closed for its age would close the others.
  const maker = postgres({ ...options, max_lifetime: null })
  let current = openNext(maker.options)

  const connect = async (): Promise<Generation> => {
    await learnArrayTypes(maker)
    useArrayTypes(current.client)
    return current
  }
  const send = async (statement: Statement) => {
    state.statements += 1
    // The driver does not tell when it has ended.
    if (statement.cursorFn) return statement.reject(new Error('A cursor needs a session or a transaction.'))
    const used = await connect().catch((error) => statement.reject(error))
    if (used === undefined) return
    statement.catch((error) => {
      if (endsSession(error)) giveUp(used)
    })
    used.send(statement)
    await statement
  }
  const sql = interceptStatements(maker, (statement) => void limit(() => send(statement)).catch(() => {}))
  return {
    sql: Object.assign(sql, {
      options: maker.options,
      end: async (ending: { timeout?: number }) => {
        state.isEnding = true
        await current.client.end(ending)
        await Promise.all([...givenUp].map(closeGivenUp))
      },
    }),
    begin: (work, transaction) =>
      limit(async () => {
        state.statements += 1
        const { begin } = await connect()
        return begin(work, transaction)
      }),
    openSession: (connection) => openOwn(current.client, connection),
    load: () => ({ statements: state.statements, waiting: limit.pendingCount }),
  }
}

/** A client with one connection, with the options of another. */
function openOwn({ options }: Client, connection: Readonly<Record<string, string | number>>): Client {
  const own = { max: 1, onclose: undefined, connection: { ...options.connection, ...connection } }
  const client = postgres({ ...options, ...own } as unknown as PoolOptions) as Client
  useArrayTypes(client)
  return client
}

/** Sessions that have nothing to do end now, the others when they have. */
function closeIdle(client: Client): Promise<void> {
  return (client as Client & { close(): Promise<void> }).close()
}
