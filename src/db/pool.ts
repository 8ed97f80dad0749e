/**
 * A pool of connections that gives up all of them when one is lost, and goes on with new ones. A connection
 * of postgres.js begins its next session with what is left of the lost one: bytes that were not sent, so that
 * it hangs; an error that is thrown at the next statement; and while it notices the loss it takes statements
 * that it never answers.
 */
import pLimit from 'p-limit'
import {
  CLOSE_TIMEOUT_S,
  type Client,
  type ClientOptions,
  connect,
  createRunner,
  endsSession,
  type SqlRunner,
  send,
} from './driver.ts'
import { type Begin, createBegin } from './transaction.ts'

export interface Pool {
  readonly sql: SqlRunner
  readonly begin: Begin
  load(): PoolLoad
  close(): Promise<void>
}

export interface PoolLoad {
  /** Statements outside of transactions, and transactions, that were begun. */
  readonly statements: number
  /** Of these, those that wait for a connection. */
  readonly waiting: number
}

/**
 * What goes on in the other sessions of a client that was given up may take that long before it is cut off.
 */
const GIVEN_UP_MS = 60_000

/**
 * Opens lazily: no connection is made before the first statement.
 * @param observer of another pool, for transactions that wait for a lock or hang
 */
export function createPool(options: ClientOptions & { readonly max: number }, observer?: SqlRunner): Pool {
  // A client never has more to do than it has connections: its own queue would be worked by those that are
  // lost.
  const limit = pLimit(options.max)
  const givenUp = new Set<Client>()
  let statements = 0
  let isClosing = false

  const open = (): Client => connect({ ...options, onclose: () => giveUp(client) })
  const giveUp = (lost: Client) => {
    if (lost !== client || isClosing) return
    client = open()
    givenUp.add(lost)
    setTimeout(() => void cutOff(lost), GIVEN_UP_MS).unref()
    void closeIdle(lost)
  }
  const cutOff = async (lost: Client) => {
    givenUp.delete(lost)
    await lost.end({ timeout: 0 })
  }
  let client = open()

  const runner = createRunner((rendered, how) =>
    limit(async () => {
      statements += 1
      const used = client
      const query = send(used, rendered, how)
      query.catch((error) => {
        if (endsSession(error)) giveUp(used)
      })
      return query
    }),
  )
  return {
    sql: runner,
    begin: (work, transaction) =>
      limit(() => {
        statements += 1
        const used = client
        return createBegin(used, () => giveUp(used), observer)(work, transaction)
      }),
    load: () => ({ statements, waiting: limit.pendingCount }),
    close: async () => {
      isClosing = true
      await client.end({ timeout: CLOSE_TIMEOUT_S })
      await Promise.all([...givenUp].map(cutOff))
    },
  }
}

/** Sessions that have nothing to do end now, the others when they have. The driver's types lack `close`. */
function closeIdle(client: Client): Promise<void> {
  return (client as Client & { close(): Promise<void> }).close()
}
