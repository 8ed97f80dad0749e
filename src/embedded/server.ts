/**
 * Starting and stopping the embedded server. Two processes may start it at once: PostgreSQL's own lock file
 * `postmaster.pid` lets one start, and the other is told that it did not.
 */

import { createHash, randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readFile, readlink, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ConfigurationError } from '../errors.ts'
import { reachableBinaries, runProgram, USE_YOUR_OWN } from './binaries.ts'
import type { Cluster } from './cluster.ts'

/** Below the ports that systems give to outgoing connections, which may hold any of them for a while. */
const FIRST_PORT = 26_000
const LAST_PORT = 29_999

const STOP_LIMIT_MS = 60_000
const STOP_PAUSE_MS = 20

/** What `postmaster.pid` says of the server that runs, starts, stops, or died: a claim, never a proof. */
export interface LockFile {
  pid: number
  port: number
}

/** Reads the server's lock file; undefined when there is none, or it is not yet written out. */
export async function readLockFile(cluster: Cluster): Promise<LockFile | undefined> {
  const lines = (await readIfThere(lockPath(cluster))).split('\n')
  const [pid, port] = [Number(lines[0]), Number(lines[3])]
  return pid > 0 && port > 0 ? { pid, port } : undefined
}

/** By pg_ctl, which leaves a server behind. @returns whether it did what it was told */
async function control(cluster: Cluster, ...args: readonly string[]): Promise<boolean> {
  const { folder, account, dataDirectory } = cluster
  const { pgCtl } = await reachableBinaries(folder, account)
  const { code } = await runProgram(pgCtl, [...args, '-D', dataDirectory], { account, quiet: true })
  return code === 0
}

/**
 * Starts the server and waits until it accepts connections.
 * @param refusedStarts how often it has just refused: another program may have taken the port in the moment
 *   before
 * @returns false when it did not start: another process was first, or the server refuses (`server.log`)
 */
export async function startServer(cluster: Cluster, refusedStarts = 0): Promise<boolean> {
  await removeStaleLock(cluster)
  const keptPort = await readKeptPort(cluster)
  // Servers that are started at once see the same port free: who lost it looks elsewhere.
  const searchFrom = refusedStarts === 0 ? portOfFolder(cluster) : randomInt(FIRST_PORT, LAST_PORT + 1)
  const port = await freePort(keptPort === null ? [searchFrom] : [keptPort, searchFrom])
  const begun = await control(cluster, 'start', '-w', '-t', '60', '-l', logPath(cluster), '-o', `-p ${port}`)
  if (begun && keptPort === null) await keepPort(cluster, port)
  return begun
}

/** The port that the server has unless another program holds it at the start; null before the first one. */
export async function readKeptPort(cluster: Cluster): Promise<number | null> {
  return Number(await readIfThere(portPath(cluster))) || null
}

/**
 * Stops the server and waits for its end, 60 s at most. Sessions are cut off, transactions rolled back. Not
 * with the wait of pg_ctl: when the next user starts the server again at once, that would wait for its end
 * too.
 */
export async function stopServer(cluster: Cluster): Promise<void> {
  const stopped = await readLockFile(cluster)
  await control(cluster, 'stop', '-W', '-m', 'fast')
  const deadline = performance.now() + STOP_LIMIT_MS
  while (stopped !== undefined && performance.now() < deadline) {
    if ((await readLockFile(cluster))?.pid !== stopped.pid) return
    await delay(STOP_PAUSE_MS)
  }
}

/** Why the server did not start: the last complaint in its log. */
export async function lastErrorLine(cluster: Cluster): Promise<string> {
  const log = await readIfThere(logPath(cluster))
  const complaint = log.split('\n').findLast((line) => /FATAL|PANIC|ERROR/.test(line))
  return `${complaint ?? 'no reason given'} (${logPath(cluster)})`
}

/**
 * Whether the process of a lock file is certainly not this server: the number now belongs to another process,
 * or to a zombie (in a container whose first process does not wait for its children). A server's working
 * directory is its data directory; a dead process has none, and state Z. Only Linux tells; elsewhere nothing
 * is certain.
 */
export async function isStale({ pid }: LockFile, cluster: Cluster): Promise<boolean> {
  const workingDirectory = await readlink(`/proc/${pid}/cwd`).catch(() => undefined)
  if (workingDirectory !== undefined) return workingDirectory !== cluster.dataDirectory
  return (await readIfThere(`/proc/${pid}/stat`)).includes(') Z ')
}

/** PostgreSQL does so itself, but not while the number belongs to any process of its account. */
async function removeStaleLock(cluster: Cluster): Promise<void> {
  const lock = await readLockFile(cluster)
  if (lock === undefined || !(await isStale(lock, cluster))) return

  // Moved aside and looked at again, because meanwhile another process may have started the server.
  const aside = `${lockPath(cluster)}.${randomBytes(6).toString('hex')}`
  await rename(lockPath(cluster), aside).catch(() => undefined)
  const [pid] = (await readIfThere(aside)).split('\n')
  if (Number(pid) === lock.pid) await rm(aside)
  else await rename(aside, lockPath(cluster)).catch(() => undefined)
}

/** By the folder, so that servers of several homes do not take each other's port while one is stopped. */
function portOfFolder({ folder }: Cluster): number {
  const hash = createHash('sha256').update(folder).digest().readUInt32BE()
  return FIRST_PORT + (hash % (LAST_PORT - FIRST_PORT + 1))
}

/** The first wanted port that is free (the kept one: a connection string stays right); else the first one. */
async function freePort(wantedPorts: readonly number[]): Promise<number> {
  for (const port of wantedPorts) if (await isFree(port)) return port
  for (let port = FIRST_PORT; port <= LAST_PORT; port += 1) if (await isFree(port)) return port
  throw new ConfigurationError(
    `No port from ${FIRST_PORT} to ${LAST_PORT} is free for the embedded PostgreSQL: free one, or ` +
      `${USE_YOUR_OWN}.`,
  )
}

async function isFree(port: number): Promise<boolean> {
  const listener = createServer()
  try {
    listener.listen(port, '127.0.0.1')
    await once(listener, 'listening')
    listener.close()
    await once(listener, 'close')
    return true
  } catch {
    return false
  }
}

/** By rename: the folder may belong to another account, and root must not follow a link laid there. */
async function keepPort(cluster: Cluster, port: number): Promise<void> {
  const aside = `${portPath(cluster)}.${randomBytes(6).toString('hex')}`
  await writeFile(aside, String(port), { flag: 'wx' })
  await rename(aside, portPath(cluster))
}

const lockPath = ({ dataDirectory }: Cluster) => join(dataDirectory, 'postmaster.pid')
const portPath = ({ folder }: Cluster) => join(folder, 'port')
const logPath = ({ folder }: Cluster) => join(folder, 'server.log')
const readIfThere = (file: string) => readFile(file, 'utf8').catch(() => '')
