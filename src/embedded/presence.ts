/**
 * Which processes use the embedded server. Each holds a shared advisory lock on a connection of its own, so
 * the lock goes when the process ends, however it ends. A process that leaves and gets the lock exclusively
 * was the last one.
 */

import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openSession, type Session } from '../db/session.ts'
import { type Cluster, urlOf } from './cluster.ts'

/** A number that is used for no other advisory lock in the database `postgres`. */
const PRESENCE_LOCK = 7_310_447_115

/** A server that answers neither yes nor no on loopback within this time is not ours. */
const JOIN_LIMIT_MS = 10_000

/** How long a process waits before it connects again. */
const RECONNECT_PAUSE_MS = 200
/** Within this time after a crash of the server all processes have connected again, and hold their locks. */
const RETURN_LIMIT_MS = 5_000

/** One user's presence at the server. `session` is its connection, to the database `postgres`. */
export interface Presence {
  session: Session
  port: number
  /** Leaves; true when no process is left. Then no process can join before the connection ends. */
  leave(): Promise<boolean>
}

/**
 * Joins the server that listens on the port, if it is the one of this cluster: another server does not know
 * the password and is not told it, or works on another folder (a copy of ours).
 * @throws Error when no server answers, it is another one, or it is starting or stopping: try again
 */
export async function joinServer(cluster: Cluster, port: number): Promise<Presence> {
  let here = false
  // The server proves that it knows the password before it is told anything.
  const session = openSession(urlOf(cluster, port, 'postgres'), {
    name: 'storerank presence',
    reconnectPauseMs: RECONNECT_PAUSE_MS,
    // A server that recovers from a crash has cut all connections, and we are still here.
    onClose: () => {
      if (here) lockShared().catch(() => undefined)
    },
  })
  const lockShared = () => session`select pg_advisory_lock_shared(${PRESENCE_LOCK})`

  const limit = setTimeout(() => session.end(0), JOIN_LIMIT_MS)
  try {
    const [server] = await session<{ folder: string }[]>`select current_setting('data_directory') as folder`
    if (server === undefined || resolve(server.folder) !== cluster.dataDirectory) {
      throw new Error(`the server on port ${port} is another one: it works on ${server?.folder}`)
    }
    await lockShared()
    here = true
  } catch (error) {
    await session.end(0)
    throw error
  } finally {
    clearTimeout(limit)
  }

  return {
    session,
    port,
    leave() {
      here = false
      return isLast(session).catch(() => false)
    },
  }
}

/**
 * Unlocks before it tries the exclusive lock, so that the last process to unlock gets it. A server that is
 * gone throws. A crash of the server takes the locks of all processes: after one the others first have time
 * to lock again, or the server would be stopped under them.
 */
async function isLast(session: Session): Promise<boolean> {
  const elapsedMs = await sinceCrash(session)
  if (elapsedMs !== undefined && elapsedMs < RETURN_LIMIT_MS) await delay(RETURN_LIMIT_MS - elapsedMs)
  await session`select pg_advisory_unlock_shared(${PRESENCE_LOCK})`
  const [answer] = await session<{ last: boolean }[]>`select pg_try_advisory_lock(${PRESENCE_LOCK}) as last`
  return answer?.last === true
}

/**
 * Milliseconds since the server recovered from a crash of one of its processes; undefined when it has had
 * none. It starts its checkpointer anew then, which otherwise begins a millisecond or two after the
 * postmaster.
 */
async function sinceCrash(session: Session): Promise<number | undefined> {
  const [crash] = await session<{ elapsedMs: number }[]>`
    select extract(epoch from clock_timestamp() - backend_start)::float8 * 1000 as "elapsedMs"
    from pg_stat_activity
    where backend_type = 'checkpointer' and backend_start > pg_postmaster_start_time() + interval '100 ms'`
  return crash?.elapsedMs
}
