/**
 * Outlives a run of tests that is killed. It reads the folder of the run from its standard input, which ends
 * with the run; what the run has not removed by then, its processes and the folder, goes. A process of its
 * own session, so that Ctrl-C ends the run alone.
 */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { endLeftovers } from './leftovers.ts'

const MOST_ROUNDS = 20

process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('SIGHUP', () => {})

const folder = await text(process.stdin)
// A process that was being started while the others were ended is found the next time.
for (let rounds = 0; rounds < MOST_ROUNDS && existsSync(folder); rounds += 1) {
  await endLeftovers(folder)
  await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {})
}
