/** The runner processes: started again whenever they end, killed, frozen and cut by the harness alone. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Armed, Reached } from './load-hook.ts'

/**
 * `plan` only plans; `jobs` plans, reconciles and collects, and works no queue; `work` does only that.
 * Without one: all.
 */
export type Role = 'plan' | 'jobs' | 'work'

export interface Runner {
  readonly pid: number
  /** False when it ended before it was ready. */
  readonly ready: Promise<boolean>
  readonly ended: Promise<void>
  isAlive(): boolean
  arm(armed: Armed | null): void
  /** The fail point when it is reached; null when the runner ends or the time is over before. */
  reach(withinMs: number): Promise<Reached | null>
  signal(name: NodeJS.Signals): void
}

export interface RunnerOptions {
  readonly env: Readonly<Record<string, string>>
  /** Gets what runners write to stdout and stderr. */
  readonly logFd: number
}

const HOOK = fileURLToPath(new URL('./load-hook.ts', import.meta.url))
const ENTRY = fileURLToPath(new URL('./runner.ts', import.meta.url))
const STOP_WITHIN_MS = 8_000

const running = new Set<ChildProcess>()
let deaths = 0

/** Runners that were at work and ended by themselves, as the harness had neither killed nor stopped them. */
export function countDeaths(): number {
  return deaths
}

/** Starts one; it is not ready yet. */
export function startRunnerProcess({ env, logFd }: RunnerOptions): Runner {
  const child = spawn(process.execPath, ['--import', HOOK, ENTRY], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', logFd, logFd, 'pipe', 'ipc'],
  })
  running.add(child)
  let isAtWork = false
  // One that is slow to start may be stopped before it says that it is ready.
  let isStopped = false
  child.once('message', () => {
    isAtWork = true
  })
  const ended = once(child, 'exit').then(([code]) => {
    running.delete(child)
    // Those that were killed have none.
    if (isAtWork && !isStopped && code !== null) deaths += 1
  })
  // Both may fail on a process that has just been killed.
  child.on('error', () => {})
  const report = child.stdio[3] as Readable
  report.on('error', () => {})
  const lines = createInterface({ input: report })
  let onReached: (reached: Reached) => void = () => {}
  lines.on('line', (line) => onReached(JSON.parse(line) as Reached))
  return {
    pid: child.pid ?? 0,
    ready: Promise.race([once(child, 'message').then(() => true), ended.then(() => false)]),
    ended,
    isAlive: () => running.has(child),
    arm: (armed) => {
      // Null is no message.
      if (child.connected) child.send(armed ?? 'disarm', () => {})
    },
    reach: (withinMs) =>
      Promise.race([
        new Promise<Reached>((resolve) => {
          onReached = resolve
        }),
        // What it wrote before its end may come a little after it.
        ended.then(() => sleep(50, null)),
        sleep(withinMs, null, { ref: false }),
      ]),
    signal: (name) => {
      if (name === 'SIGTERM') isStopped = true
      if (running.has(child)) child.kill(name)
    },
  }
}

/** SIGTERM to all, and SIGKILL to who does not obey. */
export async function stopRunners(runners: readonly Runner[]): Promise<void> {
  for (const runner of runners) {
    runner.signal('SIGCONT')
    runner.signal('SIGTERM')
  }
  await Promise.race([
    Promise.all(runners.map((runner) => runner.ended)),
    sleep(STOP_WITHIN_MS, undefined, { ref: false }),
  ])
  killRunners()
  await Promise.all(runners.map((runner) => runner.ended))
}

/** At once, frozen ones too. */
export function killRunners(): void {
  for (const child of running) child.kill('SIGKILL')
}
