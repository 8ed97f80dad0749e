/** Processes of `storerank start` that live through many days. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Held } from './hook.ts'

const PROGRAM = fileURLToPath(new URL('../../src/cli/storerank.js', import.meta.url))
const HOOK = new URL('hook.ts', import.meta.url).href
const STARTED = '"msg":"job scheduled"'

export interface SoakRunner {
  readonly name: string
  readonly ended: Promise<number | null>
  hold(): Promise<Held>
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

interface RunnerOptions {
  readonly name: string
  readonly env: Readonly<Record<string, string>>
  readonly args: readonly string[]
  readonly logFile: string
  /** Kills it. */
  readonly signal: AbortSignal
}

/** Resolves when it has looked at its schedule. Its log is appended to a file. */
export async function startSoakRunner({
  name,
  env,
  args,
  logFile,
  signal,
}: RunnerOptions): Promise<SoakRunner> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  const child = spawn(process.execPath, ['--expose-gc', `--import=${HOOK}`, PROGRAM, 'start', ...args], {
    cwd: '/',
    env: { PATH, NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    signal,
    killSignal: 'SIGKILL',
  })
  // That it was killed by the signal is an error of its own, and no reason to fail.
  child.on('error', () => {})
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const log = createWriteStream(logFile, { flags: 'a' })
  await new Promise<void>((resolve, reject) => {
    let text = ''
    child.stderr?.setEncoding('utf8').on('data', (part: string) => {
      log.write(part)
      if (text.includes(STARTED)) return
      text += part
      if (text.includes(STARTED)) resolve()
    })
    void ended.then((code) => reject(new Error(`The runner ${name} ended with ${code}:\n${text}`)))
  })
  ended.finally(() => log.end())
  return {
    name,
    ended,
    hold: () => ask(child),
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal)
      return ended
    },
  }
}

async function ask(child: ChildProcess): Promise<Held> {
  const answer = once(child, 'message')
  child.send('hold')
  const [held] = await answer
  return held as Held
}
