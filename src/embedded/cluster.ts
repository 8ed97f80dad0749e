/**
 * The folder of the embedded server, made whole or not at all: `<home>/postgres` with `data`, `password`,
 * `port` and `server.log`.
 *
 * PostgreSQL refuses to run as root. Root therefore lends the folder to the account `nobody`, and where
 * `nobody` cannot work in `home` (a checkout below a 0700 folder, a disk that knows no owners) the folder
 * stands in /var/lib/storerank, and `<home>/postgres` is a link to it. Deleting `home` leaves that folder.
 */
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import {
  chmod,
  lstat,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { totalmem } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ConfigurationError } from '../errors.ts'
import { makeFolder } from '../make-folder.ts'
import { whyNot } from '../trouble.ts'
import { type Account, chownTo, reachableBinaries, runProgram, USE_YOUR_OWN } from './binaries.ts'

/** The only role of the server; people use it too. */
export const ROLE = 'storerank'

const FOLDER_OF_ROOT = '/var/lib/storerank'

/** A small server on loopback for one machine. Write-ahead segments of 1 MB keep a fresh folder at 31 MB. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  // initdb would derive 64 MB from the small segments, which makes bulk writes checkpoint all the time.
  max_wal_size: '1GB',
  log_checkpoints: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

const MIB = 1024 * 1024

/**
 * What the server caches of its tables: `shared_buffers`. PostgreSQL's manual gives a server of its own a
 * quarter of the memory: this one shares the machine with all else, and takes it as it fills it.
 * @param memoryBytes of the machine, or of the container
 */
export function sharedBuffers(memoryBytes: number): string {
  const share = Math.floor(memoryBytes / 16 / MIB)
  return `${Math.min(1024, Math.max(128, share))}MB`
}

/** Of the container where it has a limit, else of the machine. */
function readMemoryBytes(): number {
  return Math.min(process.constrainedMemory() || totalmem(), totalmem())
}

/** Where the server lives, who runs it, and the password of ROLE. */
export interface Cluster {
  folder: string
  dataDirectory: string
  account: Account | undefined
  password: string
}

/** For any client: role, password, loopback, port and database. */
export function urlOf({ password }: Cluster, port: number, database: string): string {
  return `postgres://${ROLE}:${password}@127.0.0.1:${port}/${database}`
}

/**
 * Opens the server's folder below `home`, and makes it when there is none. Any number of processes may do
 * so at once: one folder wins.
 * @param settings postgresql.conf for a folder that is made now, over the ones above
 * @throws ConfigurationError when the folder cannot be made or read by this user
 */
export async function openCluster(home: string, settings: Record<string, string> = {}): Promise<Cluster> {
  const entry = join(resolve(home), 'postgres')
  if (!(await exists(entry))) {
    await makeCluster(entry, settings).catch((cause: unknown) => {
      if (cause instanceof ConfigurationError) throw cause
      throw new ConfigurationError(
        `The embedded PostgreSQL cannot be made in ${entry}: ${whyNot(cause)}. Mend that, ` +
          `or ${USE_YOUR_OWN}.`,
        { cause },
      )
    })
  }
  return readCluster(entry).catch((cause: NodeJS.ErrnoException) => {
    const what =
      cause.code === 'EACCES'
        ? 'belongs to another user: run as that user'
        : `has lost its data: delete ${entry} to begin anew`
    throw new ConfigurationError(`The embedded PostgreSQL in ${entry} ${what}, or ${USE_YOUR_OWN}.`, {
      cause,
    })
  })
}

async function readCluster(entry: string): Promise<Cluster> {
  const folder = await realpath(entry)
  const dataDirectory = join(folder, 'data')
  const password = await readFile(join(folder, 'password'), 'utf8')
  const { uid, gid } = await stat(dataDirectory)
  return { folder, dataDirectory, account: weAreRoot() ? { uid, gid } : undefined, password }
}

async function makeCluster(entry: string, settings: Record<string, string>): Promise<void> {
  const home = dirname(entry)
  const account = weAreRoot() ? await nobody() : undefined
  await makeFolder(home)
  const folder = await makeOwnFolder(entry, account)
  try {
    const buffers = { shared_buffers: sharedBuffers(readMemoryBytes()) }
    await initialise(folder, account, { ...SETTINGS, ...buffers, ...settings })
    await (dirname(folder) === home ? rename(folder, entry) : symlink(folder, entry))
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    // Another process was first: its folder is as good.
    if (!(await exists(entry))) throw error
  }
  await removeUnfinished(entry)
}

async function initialise(
  folder: string,
  account: Account | undefined,
  settings: Record<string, string>,
): Promise<void> {
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, randomBytes(24).toString('hex'), { mode: 0o600, flag: 'wx' })
  if (account !== undefined) await chownTo(account, folder)

  const { initdb } = await reachableBinaries(folder, account)
  const { code, errors } = await runProgram(
    initdb,
    [
      `--pgdata=${join(folder, 'data')}`,
      `--username=${ROLE}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      // Without these, LANG unset makes an SQL_ASCII database.
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--wal-segsize=1',
      ...Object.entries(settings).map(([name, value]) => `--set=${name}=${value}`),
    ],
    { account },
  )
  if (code !== 0) throw new Error(`initdb failed: ${errors.trim()}`)
}

/** A fresh folder where the account can work: beside the entry or, for root, in /var/lib. */
async function makeOwnFolder(entry: string, account: Account | undefined): Promise<string> {
  const beside = await mkdtemp(`${entry}.`)
  if (account === undefined || (await lend(beside, account))) return realpath(beside)
  await rm(beside, { recursive: true })

  await makeFolder(FOLDER_OF_ROOT)
  await chmod(FOLDER_OF_ROOT, 0o755)
  const elsewhere = await mkdtemp(join(FOLDER_OF_ROOT, 'postgres.'))
  if (await lend(elsewhere, account)) return realpath(elsewhere)
  await rm(elsewhere, { recursive: true })
  throw new Error(
    `the account nobody, which runs the server for root, can work neither there nor in ${FOLDER_OF_ROOT}`,
  )
}

/** Whether the account can write in a folder that it owns. It tries: mode bits do not tell of all. */
async function lend(folder: string, account: Account): Promise<boolean> {
  const isOwned = await chownTo(account, folder).then(
    () => true,
    () => false,
  )
  return isOwned && (await runProgram('test', ['-w', folder], { account })).code === 0
}

/** What killed processes left beside the entry. Who lost the race finds the entry instead of its folder. */
async function removeUnfinished(entry: string): Promise<void> {
  const home = dirname(entry)
  for (const name of await readdir(home))
    if (name.startsWith('postgres.'))
      await rm(join(home, name), { recursive: true, force: true }).catch(() => undefined)
}

async function nobody(): Promise<Account> {
  const user = await runProgram('id', ['-u', 'nobody'])
  const group = await runProgram('id', ['-g', 'nobody'])
  if (user.code !== 0 || group.code !== 0) {
    throw new ConfigurationError(
      'PostgreSQL refuses to run as root, and there is no account nobody to run it: run as an ordinary ' +
        `user, or ${USE_YOUR_OWN}.`,
    )
  }
  // Unsigned, because macOS prints -2.
  return { uid: Number(user.output) >>> 0, gid: Number(group.output) >>> 0 }
}

const weAreRoot = () => process.geteuid?.() === 0
const exists = async (path: string) => (await lstat(path).catch(() => null)) !== null

/** Below the ports that systems give to outgoing connections, which may hold any of them for a while. */
const FIRST_PORT = 26_000
const LAST_PORT = 29_999

const STOP_LIMIT_MS = 60_000
const STOP_PAUSE_MS = 20

/**
 * What `postmaster.pid` says of the server that runs, starts, stops, or died: a claim, never a proof.
 * Undefined when there is none, or it is not yet written out.
 */
export async function readLockFile(cluster: Cluster) {
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
 * Starts the server and waits until it accepts connections. Two processes may do so at once: PostgreSQL's own
 * lock file `postmaster.pid` lets one.
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
export async function isStale({ pid }: { pid: number }, cluster: Cluster): Promise<boolean> {
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
