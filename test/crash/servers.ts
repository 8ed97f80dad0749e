/** What outlives the runners: a Postgres with its safety on, and the sandbox, each a process of its own. */
import { randomInt } from 'node:crypto'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { reachableBinaries, runProgram } from '../../src/embedded/binaries.ts'
import {
  type Cluster,
  lastErrorLine,
  openCluster,
  ROLE,
  readLockFile,
  startServer,
  stopServer,
} from '../../src/embedded/cluster.ts'
import { startSandboxProcess as startProcess } from '../support/sandbox-process.ts'

export interface Server {
  readonly url: string
  stop(): Promise<void>
}

export interface PostgresServer extends Server {
  /** `fast` ends every session in order; `immediate` is a crash: nothing is written out. */
  restart(mode: 'fast' | 'immediate'): Promise<void>
  /**
   * SIGKILL for the postmaster alone, as the kernel does when memory is short, and a start as soon as it is
   * possible.
   */
  kill(): Promise<void>
  /** Away while `work` runs. */
  stopFor(work: () => Promise<void>): Promise<void>
  /** A standby while `work` runs, and promoted then. */
  standBy(work: () => Promise<void>): Promise<void>
}

/** What `PUT /faults` of the sandbox takes, but its clock. */
export type SandboxFaults = Readonly<Record<string, number | Readonly<Record<string, number | string>>>>

export interface SandboxServer extends Server {
  /** Its clock against that of this machine. */
  readonly clockOffsetMs: number
  /** Whether it plays the service as it is sold. */
  readonly isSold: boolean
  /** Replaces its troubles; returns how often each of those before has struck. */
  setFaults(faults: SandboxFaults): Promise<Record<string, number>>
}

const MAX_STARTS = 50
/** Few, so that it is soon full. */
export const MAX_CONNECTIONS = 100
/** Below those that the kernel gives out. */
const PORTS = [20_000, 31_000] as const
const POSTBACK_PORTS = [31_000, 32_000] as const
export const SANDBOX_LOGIN = { authorization: `Basic ${btoa('sandbox:sandbox')}` }
/** Beyond it a frozen runner has not taken what is delivered. */
const WEBHOOK_TIMEOUT_MS = 2_000
/** The sandbox has no limits of calls here: the wire counts them. */
const UNLIMITED = 1_000_000

/**
 * A cluster in a temporary folder, removed at the end. Without fsync: a process that is killed loses nothing
 * of what the kernel has, and the machine itself is not switched off here.
 */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const home = await mkdtemp(join(tmpdir(), 'storerank-crash-'))
  // When root runs the harness, another account runs the server.
  await chmod(home, 0o755)
  const cluster = await openCluster(home, {
    max_connections: String(MAX_CONNECTIONS),
    fsync: 'off',
    ...settings,
  })
  // Nobody else's: after a crash it must be the same one.
  await writeFile(join(cluster.folder, 'port'), String(randomInt(...PORTS)))
  const port = await startAgain(cluster).catch(async (error) => {
    await removeCluster(cluster, home)
    throw error
  })
  const { pgCtl } = await reachableBinaries(cluster.folder, cluster.account)
  const control = async (...args: string[]) => {
    const options = [...args, '-w', '-D', cluster.dataDirectory]
    const { code } = await runProgram(pgCtl, options, { account: cluster.account, quiet: true })
    if (code !== 0) throw new Error(`Postgres does not ${args[0]}: ${await lastErrorLine(cluster)}`)
  }
  let last: Promise<unknown> = Promise.resolve()
  /** One after the other: a restart that is under way would start what was stopped meanwhile. */
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const turn = last.catch(() => {}).then(work)
    last = turn
    return turn
  }
  const restartNow = (mode: 'fast' | 'immediate') =>
    control('restart', '-m', mode, '-l', join(cluster.folder, 'server.log'))
  return {
    url: `postgres://${ROLE}:${cluster.password}@127.0.0.1:${port}/postgres`,
    restart: (mode) => inTurn(() => restartNow(mode)),
    standBy: async (work) => {
      await writeFile(join(cluster.dataDirectory, 'standby.signal'), '')
      await restartNow('fast')
      await work().finally(() => control('promote'))
    },
    kill: () =>
      inTurn(async () => {
        const lock = await readLockFile(cluster)
        if (lock !== undefined) process.kill(lock.pid, 'SIGKILL')
        if ((await startAgain(cluster)) !== port) throw new Error('Postgres has lost its port.')
      }),
    stopFor: async (work) => {
      await stopServer(cluster)
      await work().finally(() => startAgain(cluster))
      if ((await readLockFile(cluster))?.port !== port) throw new Error('Postgres has lost its port.')
    },
    stop: () =>
      inTurn(async () => {
        await stopServer(cluster)
        await removeCluster(cluster, home)
      }),
  }
}

/** Its port may be taken under our hands, and the sessions of a dead postmaster take a moment to end. */
async function startAgain(cluster: Cluster): Promise<number | undefined> {
  for (let attempt = 1; !(await startServer(cluster)); attempt += 1) {
    if (attempt === MAX_STARTS) throw new Error(`Postgres does not start: ${await lastErrorLine(cluster)}`)
    await sleep(200)
  }
  return (await readLockFile(cluster))?.port
}

/** Where the service delivers, whichever runner listens there. */
export function drawPostbackUrl(): string {
  return `http://127.0.0.1:${randomInt(...POSTBACK_PORTS)}/hooks/${'crash'.repeat(5)}`
}

async function removeCluster({ folder }: Cluster, home: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await rm(home, { recursive: true, force: true })
}

export interface SandboxOptions {
  readonly seed: number
  /** How long the longest task takes. */
  readonly readyMs: number
  readonly clockOffsetMs: number
  /** Plays the service as it is sold, instead of its specification. */
  readonly asSold?: boolean
  /** What the account has paid in; left out: as the sandbox has it. */
  readonly balanceUsd?: number
}

/** It leaves by itself when the harness is gone. */
export async function startSandboxProcess({
  seed,
  readyMs,
  clockOffsetMs,
  asSold = false,
  balanceUsd,
}: SandboxOptions): Promise<SandboxServer> {
  const { url, stop } = await startProcess({
    seed,
    readyMs,
    callsPerMinute: UNLIMITED,
    readyListsPerMinute: UNLIMITED,
    idListsPerMinute: UNLIMITED,
    statusPerMinute: UNLIMITED,
    requestsInFlight: UNLIMITED,
    webhookTimeoutMs: WEBHOOK_TIMEOUT_MS,
    asSold,
    balanceUsd,
    faults: { clockOffsetMs },
  })
  return {
    url,
    clockOffsetMs,
    isSold: asSold,
    stop,
    setFaults: async (faults) => {
      const headers = { 'content-type': 'application/json', ...SANDBOX_LOGIN }
      const { struck } = (await (await fetch(`${url}/faults`, { headers })).json()) as {
        struck: Record<string, number>
      }
      const body = JSON.stringify({ ...faults, clockOffsetMs })
      const response = await fetch(`${url}/faults`, { method: 'PUT', headers, body })
      if (!response.ok) throw new Error(`The sandbox refuses the faults: ${await response.text()}`)
      return struck
    },
  }
}
