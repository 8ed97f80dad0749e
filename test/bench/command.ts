/** What a small command takes from its start to its end, in CPU of its process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from '../../src/db/database.ts'
import { atMost, type Measured, medianOf } from './bars.ts'

const COMMAND = join(import.meta.dirname, '../../src/cli/storerank.js')
/** `getconf CLK_TCK` of every Linux that Node runs on. */
const TICKS_A_SECOND = 100

/** CPU of all children of this process that have ended, in seconds: proc(5), cutime and cstime. */
async function readEndedChildren(): Promise<number> {
  const text = await readFile('/proc/self/stat', 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) / TICKS_A_SECOND
}

/** @throws Error when it does not end with 0 */
export async function runCommand(args: readonly string[], settings: NodeJS.ProcessEnv): Promise<void> {
  const env = { PATH: process.env.PATH, ...settings }
  const [exitCode] = await once(spawn(process.execPath, [COMMAND, ...args], { env, stdio: 'ignore' }), 'exit')
  if (exitCode !== 0) throw new Error(`The command ended with ${exitCode}.`)
}

export async function measureCommand({ url }: Database, times: number): Promise<Measured> {
  const seconds: number[] = []
  while (seconds.length < times) {
    const before = await readEndedChildren()
    await runCommand(['sql', 'select 1'], { DATABASE_URL: url })
    seconds.push((await readEndedChildren()) - before)
  }
  return { 'CPU of Node': atMost(0.4, medianOf(seconds), 's') }
}
