/**
 * Sessions of the server, each with a client of the driver of its own. One that is lost takes no statement
 * any more, and the pool goes on with another one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
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
  const underWay = new Set<Promise<unknown>>()
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
  const use = async <T>(work: (link: Link) => Promise<T>): Promise<T> => {
    const done = limit(async () => {
      const link = take()
      statements += 1
      try {
        return await work(link)
      } finally {
        idle.push(link)
      }
    })
    underWay.add(done)
    try {
      return await done
    } finally {
      underWay.delete(done)
    }
  }
  return {
    sql: createRunner((rendered, how) => use(async (link) => link.send(rendered, how))),
    begin: ((work, transaction) =>
      use((link) => runTransaction(link, work, transaction, observer))) satisfies Begin as Begin,
    load: (): PoolLoad => ({ statements, waiting: limit.pendingCount }),
    close: async (): Promise<void> => {
      isClosed = true
      // A transaction under way still needs its COMMIT, which a client that is ended refuses.
      await Promise.race([Promise.allSettled(underWay), sleep(CLOSE_TIMEOUT_S * 1000, null, { ref: false })])
      await Promise.all([...links].map((link) => link.end(underWay.size === 0 ? CLOSE_TIMEOUT_S : 0)))
    },
  }
}
