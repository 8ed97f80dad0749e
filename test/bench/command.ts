/**
 * What a small command takes from its start to its end, in CPU of its process: `storerank sql "select 1"`,
 * the median of nine. Linux only.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { printBars } from './bars.ts'
import { withDatabase } from './database.ts'

const TIMES = 9
const COMMAND = join(import.meta.dirname, '../../src/cli/storerank.js')
/** `getconf CLK_TCK` of every Linux that Node runs on. */
const TICKS_A_SECOND = 100

/** CPU of all children of this process that have ended, in seconds: proc(5), cutime and cstime. */
async function readEndedChildren(): Promise<number> {
  const text = await readFile('/proc/self/stat', 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) / TICKS_A_SECOND
}

async function measure(url: string): Promise<number> {
  const before = await readEndedChildren()
  const env = { PATH: process.env.PATH, DATABASE_URL: url }
  const child = spawn(process.execPath, [COMMAND, 'sql', 'select 1'], { env, stdio: 'ignore' })
  const [exitCode] = await once(child, 'exit')
  if (exitCode !== 0) throw new Error(`The command ended with ${exitCode}.`)
  return (await readEndedChildren()) - before
}

await withDatabase(async ({ url }) => {
  const seconds: number[] = []
  for (let n = 0; n < TIMES; n += 1) seconds.push(await measure(url))
  printBars('a small command', [
    {
      what: '`storerank sql "select 1"`: CPU of Node',
      value: seconds.toSorted((a, b) => a - b)[TIMES >> 1] ?? Number.NaN,
      unit: 's',
      atMost: 0.4,
    },
  ])
})
process.exit()
