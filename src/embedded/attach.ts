/**
 * A real PostgreSQL 18 on loopback, for commands without DATABASE_URL. The first process that attaches starts
 * it, all processes share it, and the last one that leaves stops it. A process that is killed leaves it
 * usable. For one machine only.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { isDatabaseError, type SqlRunner } from '../db/driver.ts'
import { sql } from '../db/sql.ts'
import { ConfigurationError, UnavailableError } from '../errors.ts'
import { USE_YOUR_OWN } from './binaries.ts'
import { type Cluster, openCluster, urlOf } from './cluster.ts'
import { joinServer, type Presence } from './presence.ts'
import { isStale, lastErrorLine, readKeptPort, readLockFile, startServer, stopServer } from './server.ts'

/** Above a crash recovery or a slow stop by another process. */
const ATTACH_LIMIT_MS = 90_000
const ATTACH_PAUSE_MS = 100

/** A start may fail once because another program has just taken the port; it is tried so many times. */
const MAX_REFUSED_STARTS = 3

/** An attached embedded server. */
export interface EmbeddedServer {
  /** For any client: role, password, loopback, port and database. */
  url: string
  dataDirectory: string
  /** The port of its own, while another program held that when the server was started; else null. */
  missedPort: number | null
  /** Whether it was this call that started the server. */
  started: boolean
  /**
   * Leaves. The last process to leave stops the server, even when a person's psql is connected. Never throws,
   * may be repeated.
   */
  dispose(): Promise<void>
}

/**
 * Attaches to the embedded server of `home`: makes its folder, starts it, and creates the database, each when
 * missing. The process lives on until it has disposed.
 * @param options.home the folder for `postgres/`, made when missing
 * @param options.database a plain name: letters, digits, underscores
 * @throws ConfigurationError when the server cannot be made or refuses to start, with the reason
 * @throws UnavailableError when it does not answer within 90 s
 */
export async function attachEmbedded(options: { home: string; database: string }): Promise<EmbeddedServer> {
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

/**
 * Joins, and starts what cannot be joined, until one of both works: the server may be coming or going
 * meanwhile.
 */
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

/**
 * The lock is held while the server stops: a process that joins meanwhile waits, is cut off, and starts the
 * server again.
 */
async function leave(presence: Presence, cluster: Cluster): Promise<void> {
  if (await presence.leave()) await stopServer(cluster)
  await presence.session.end(0)
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
