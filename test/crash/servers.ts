/** What outlives the runners: a Postgres with its safety on, and the sandbox, each a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { reachableBinaries, runProgram } from '../../src/db/embedded-binaries.ts'
import { type Cluster, openCluster, ROLE } from '../../src/db/embedded-cluster.ts'
import { lastComplaint, readLockFile, startServer, stopServer } from '../../src/db/embedded-server.ts'

export interface Server {
  readonly url: string
  stop(): Promise<void>
}

export interface PostgresServer extends Server {
  /** Like a crash of the machine: nothing is written out, every session is gone. */
  restart(): Promise<void>
}

const SANDBOX = fileURLToPath(new URL('../../src/sandbox/main.ts', import.meta.url))
const MAX_STARTS = 5
const ANNOUNCED_WITHIN_MS = 20_000
/** The sandbox has no limits of calls here: the wire counts them. */
const UNLIMITED = 1_000_000

/** A cluster in a temporary folder, removed at the end. */
export async function startPostgres(): Promise<PostgresServer> {
  const home = await mkdtemp(join(tmpdir(), 'storerank-crash-'))
  // When root runs the harness, another account runs the server.
  await chmod(home, 0o755)
  const cluster = await openCluster(home, { max_connections: '200' })
  // A port may be taken under our hands.
  for (let attempt = 1; !(await startServer(cluster)); attempt += 1) {
    if (attempt < MAX_STARTS) continue
    const complaint = await lastComplaint(cluster)
    await removeCluster(cluster, home)
    throw new Error(`Postgres does not start: ${complaint}`)
  }
  const { pgCtl } = await reachableBinaries(cluster.folder, cluster.account)
  const lock = await readLockFile(cluster)
  return {
    url: `postgres://${ROLE}:${cluster.password}@127.0.0.1:${lock?.port}/postgres`,
    restart: async () => {
      const log = join(cluster.folder, 'server.log')
      const options = ['restart', '-w', '-m', 'immediate', '-D', cluster.dataDirectory, '-l', log]
      const { code } = await runProgram(pgCtl, options, { account: cluster.account, quiet: true })
      if (code !== 0) throw new Error(`Postgres does not start again: ${await lastComplaint(cluster)}`)
    },
    stop: async () => {
      await stopServer(cluster)
      await removeCluster(cluster, home)
    },
  }
}

async function removeCluster({ folder }: Cluster, home: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await rm(home, { recursive: true, force: true })
}

/** A sandbox whose tasks are done within `readyMs`. It leaves by itself when the harness is gone. */
export async function startSandboxProcess(seed: number, readyMs: number): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'storerank-crash-sandbox-'))
  const announceFile = join(folder, 'announced')
  const child = spawn(process.execPath, [SANDBOX], { stdio: ['pipe', 'inherit', 'inherit'] })
  const options = {
    announceFile,
    seed,
    readyMs,
    idleExitMs: 120_000,
    callsPerMinute: UNLIMITED,
    readyListsPerMinute: UNLIMITED,
    idListsPerMinute: UNLIMITED,
    statusPerMinute: UNLIMITED,
    requestsInFlight: UNLIMITED,
  }
  child.stdin.end(JSON.stringify(options))
  const stop = async () => {
    const isOver = child.exitCode !== null || child.signalCode !== null
    if (!isOver && child.kill('SIGKILL')) await once(child, 'exit')
    await rm(folder, { recursive: true, force: true })
  }
  const deadlineMs = performance.now() + ANNOUNCED_WITHIN_MS
  while (!existsSync(announceFile)) {
    if (child.exitCode !== null || performance.now() > deadlineMs) {
      await stop()
      throw new Error('The sandbox does not start.')
    }
    await sleep(50)
  }
  const { url } = JSON.parse(readFileSync(announceFile, 'utf8')) as { url: string }
  return { url, stop }
}
