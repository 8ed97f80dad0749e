/**
 * A real PostgreSQL 18 on loopback, for commands without DATABASE_URL. The first process that attaches starts
 * it, all processes share it, and the last one that leaves stops it. A process that is killed leaves it
 * usable. For one machine only.
 *
 * Which processes use it is known by a shared advisory lock, which each holds on a connection of its own: it
 * goes when the process ends, however it ends. A process that leaves and gets it exclusively was the last.
 */

import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isDatabaseError, type SqlRunner } from '../db/driver.ts'
import { openSession, type Session } from '../db/session.ts'
import { sql } from '../db/sql.ts'
import { ConfigurationError, UnavailableError } from '../errors.ts'
import { USE_YOUR_OWN } from './binaries.ts'
import {
  type Cluster,
  isStale,
  lastErrorLine,
  openCluster,
  readKeptPort,
  readLockFile,
  startServer,
  stopServer,
  urlOf,
} from './cluster.ts'

/** Above a crash recovery or a slow stop by another process. */
const ATTACH_LIMIT_MS = 90_000
const ATTACH_PAUSE_MS = 100
/** A start may fail once because another program has just taken the port; it is tried so many times. */
const MAX_REFUSED_STARTS = 3
/** A number that is used for no other advisory lock in the database `postgres`. */
const PRESENCE_LOCK = 7_310_447_115
/** A server that answers neither yes nor no on loopback within this time is not ours. */
const JOIN_LIMIT_MS = 10_000
const RECONNECT_PAUSE_MS = 200
/** Within this time after a crash of the server all processes have connected again, and hold their locks. */
const RETURN_LIMIT_MS = 5_000

/**
 * Attaches to the embedded server of `home`: makes its folder, starts it, and creates the database, each when
 * missing. The process lives on until it has disposed.
 * @param options.home the folder for `postgres/`, made when missing
 * @param options.database a plain name: letters, digits, underscores
 * @returns its address; its own port, where another program held that at the start (`missedPort`), else null;
 *   whether this call started it; and `dispose`, which never throws and may be repeated: the last process to
 *   leave stops the server, whoever else is connected
 * @throws ConfigurationError when the server cannot be made or refuses to start, with the reason
 * @throws UnavailableError when it does not answer within 90 s
 */
export async function attachEmbedded(options: { home: string; database: string }) {
  const cluster = await openCluster(options.home)
  const { presence, started } = await join(cluster)
  let left: Promise<void> | undefined
  const dispose = () => {
    left ??= leave(presence, cluster)
    return left
  }
  try {
    await createDatabase(presence.session, options.database)
  } catch (error) {
    await dispose()
    throw error
  }
  const url = urlOf(cluster, presence.port, options.database)
  const keptPort = await readKeptPort(cluster)
  const missedPort = keptPort === presence.port ? null : keptPort
  return { url, dataDirectory: cluster.dataDirectory, missedPort, started, dispose }
}

/** Joins, or starts and joins, until that works: the server may be coming or going meanwhile. */
async function join(cluster: Cluster): Promise<{ presence: Presence; started: boolean }> {
  const deadline = performance.now() + ATTACH_LIMIT_MS
  let started = false
  let refusedStarts = 0
  let cause: unknown
  while (performance.now() < deadline) {
    const lock = await readLockFile(cluster)
    if (lock !== undefined && !(await isStale(lock, cluster))) {
      try {
        return { presence: await joinServer(cluster, lock.port), started }
      } catch (error) {
        cause = error
      }
    }
    if (await startServer(cluster, refusedStarts)) {
      started = true
      continue
    }
    if ((await readLockFile(cluster)) === undefined) refusedStarts += 1
    if (refusedStarts === MAX_REFUSED_STARTS) {
      const reason = await lastErrorLine(cluster)
      throw new ConfigurationError(
        `The embedded PostgreSQL does not start: ${reason}. Mend that, or ${USE_YOUR_OWN}.`,
      )
    }
    await delay(ATTACH_PAUSE_MS)
  }
  const reason = await lastErrorLine(cluster)
  const message = `The embedded PostgreSQL in ${cluster.folder} does not answer: ${reason}.`
  throw new UnavailableError(message, { cause })
}

async function createDatabase(session: SqlRunner, name: string): Promise<void> {
  const [existing] = await session`select 1 from pg_database where datname = ${name}`
  if (existing !== undefined) return
  try {
    await session`create database ${sql.identifier(name)}`
  } catch (error) {
    // duplicate_database, or the unique index beneath it: another process was first.
    if (!(isDatabaseError(error) && ['42P04', '23505'].includes(error.code))) throw error
  }
}

/** This process at the server: its connection to the database `postgres`, which holds the lock. */
interface Presence {
  readonly session: Session
  readonly port: number
  /** After this the lock is not taken again when the server has cut the connection. */
  stopReturning(): void
}

const lockShared = (session: Session) => session`select pg_advisory_lock_shared(${PRESENCE_LOCK})`

/**
 * Joins the server that listens on the port, if it is the one of this cluster: another server does not know
 * the password and is not told it, or works on another folder (a copy of ours).
 * @throws Error when no server answers, it is another one, or it is starting or stopping: try again
 */
async function joinServer(cluster: Cluster, port: number): Promise<Presence> {
  let isHere = false
  // The server proves that it knows the password before it is told anything.
  const session = openSession(urlOf(cluster, port, 'postgres'), {
    name: 'storerank presence',
    reconnectPauseMs: RECONNECT_PAUSE_MS,
    // A server that recovers from a crash has cut all connections, and we are still here.
    onClose: () => {
      if (isHere) lockShared(session).catch(() => undefined)
    },
  })
  const limit = setTimeout(() => session.end(0), JOIN_LIMIT_MS)
  try {
    const [server] = await session<{ folder: string }[]>`select current_setting('data_directory') as folder`
    if (server === undefined || resolve(server.folder) !== cluster.dataDirectory) {
      throw new Error(`the server on port ${port} is another one: it works on ${server?.folder}`)
    }
    await lockShared(session)
    isHere = true
  } catch (error) {
    await session.end(0)
    throw error
  } finally {
    clearTimeout(limit)
  }
  const stopReturning = () => {
    isHere = false
  }
  return { session, port, stopReturning }
}

/** The lock is held while the server stops: who joins meanwhile is cut off, and starts it again. */
async function leave({ session, stopReturning }: Presence, cluster: Cluster): Promise<void> {
  stopReturning()
  if (await isLast(session).catch(() => false)) await stopServer(cluster)
  await session.end(0)
}

/**
 * Unlocks before it tries the exclusive lock, so that the last process to unlock gets it. A server that is
 * gone throws. A crash of the server takes the locks of all processes, and starts its checkpointer anew,
 * which otherwise begins a millisecond or two after the postmaster: then the others first have time to lock
 * again, or the server would be stopped under them.
 */
async function isLast(session: Session): Promise<boolean> {
  const [crash] = await session<{ elapsedMs: number }[]>`
    select extract(epoch from clock_timestamp() - backend_start)::float8 * 1000 as "elapsedMs"
    from pg_stat_activity
    where backend_type = 'checkpointer' and backend_start > pg_postmaster_start_time() + interval '100 ms'`
  const waitMs = RETURN_LIMIT_MS - (crash?.elapsedMs ?? RETURN_LIMIT_MS)
  if (waitMs > 0) await delay(waitMs)
  await session`select pg_advisory_unlock_shared(${PRESENCE_LOCK})`
  const [answer] = await session<{ last: boolean }[]>`select pg_try_advisory_lock(${PRESENCE_LOCK}) as last`
  return answer?.last === true
}
