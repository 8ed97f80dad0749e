/** Runs the harness as a person would, with a seed that is always the same. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'

export interface CrashRun {
  /** 0: clean, 1: not clean, 2: a wrong option. */
  readonly exitCode: number | null
  readonly output: string
  /** The count in the row of that name; NaN when there is none. */
  count(row: string): number
}

const HARNESS = fileURLToPath(new URL('./crash.ts', import.meta.url))
const SEED = '7'

const running = new Set<ChildProcess>()
// It stops its servers itself.
after(() => {
  for (const child of running) child.kill('SIGTERM')
})

/** @param env of the process, beside ours */
export function startCrash(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [HARNESS, '--seed', SEED, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  running.add(child)
  return child
}

export async function runCrash(...args: string[]): Promise<CrashRun> {
  const child = startCrash(args)
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  running.delete(child)
  return {
    exitCode: child.exitCode,
    output: stdout + stderr,
    count: (row) =>
      Number(
        stdout
          .split('\n')
          .find((line) => line.startsWith(`${row} `))
          ?.slice(row.length) ?? Number.NaN,
      ),
  }
}
