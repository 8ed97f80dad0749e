/**
 * Sessions of the server, each with a client of the driver of its own. One that is lost takes no statement
 * any more, and the pool goes on with another one.
 */
import pLimit from 'p-limit'
import {
  CLOSE_TIMEOUT_S,
  type ClientOptions,
  connectionError,
  createRunner,
  type SqlRunner,
} from './driver.ts'
import { type Begin, Link, runTransaction } from './transaction.ts'

export interface PoolLoad {
  /** Statements outside of transactions, and transactions, that were begun. */
  readonly statements: number
  /** Of these, those that wait for a connection. */
  readonly waiting: number
}

/**
 * Opens lazily: no connection is made before the first statement.
 * @param observer of another pool, for transactions that wait for a lock or hang
 */
export function createPool(options: ClientOptions & { readonly max: number }, observer?: SqlRunner) {
  const limit = pLimit(options.max)
  const links = new Set<Link>()
  const idle: Link[] = []
  let statements = 0
  let isClosed = false

  const take = (): Link => {
    if (isClosed) throw connectionError('CONNECTION_ENDED', `${options.host}:${options.port}`)
    const free = idle.pop()
    if (free !== undefined) return free.isLost ? take() : free
    const link = new Link(options, () => links.delete(link))
    links.add(link)
    return link
  }
  const use = <T>(work: (link: Link) => Promise<T>): Promise<T> =>
    limit(async () => {
      const link = take()
      statements += 1
      try {
        return await work(link)
      } finally {
        idle.push(link)
      }
    })
  return {
    sql: createRunner((rendered, how) => use(async (link) => link.send(rendered, how))),
    begin: ((work, transaction) =>
      use((link) => runTransaction(link, work, transaction, observer))) satisfies Begin as Begin,
    load: (): PoolLoad => ({ statements, waiting: limit.pendingCount }),
    close: async (): Promise<void> => {
      isClosed = true
      await Promise.all([...links].map((link) => link.end(CLOSE_TIMEOUT_S)))
    },
  }
}
