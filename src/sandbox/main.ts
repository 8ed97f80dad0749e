/**
 * The sandbox as a process of its own. It reads its options as one line of JSON from standard input, so that
 * no password stands in a process list, writes where it listens into the announce file, and leaves when
 * nobody has asked for anything for a while.
 */

import { renameSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { StateInUseError } from './books.ts'
import { Options } from './options.ts'
import { startSandbox } from './server.ts'

/** Exit code when another process has the state file (sysexits: EX_TEMPFAIL). */
const EXIT_IN_USE = 75

const ProcessOptions = Options.extend({
  /** Gets one line of JSON, `{url, instance, pid}`, replaced whole. */
  announceFile: z.string(),
  /** Ends after so long without a request; never when it is not given. */
  idleExitMs: z.number().int().positive().optional(),
})

const run = async (): Promise<void> => {
  const { announceFile, idleExitMs, ...options } = ProcessOptions.parse(JSON.parse(await text(process.stdin)))
  const { url, instance, idleMs, close } = await startSandbox(options)
  const draft = `${announceFile}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify({ url, instance, pid: process.pid })}\n`)
  renameSync(draft, announceFile)
  const leave = () => {
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.once('SIGTERM', leave)
  process.once('SIGINT', leave)
  if (idleExitMs === undefined) return
  const timer = setInterval(
    () => {
      if (idleMs() < idleExitMs) return
      clearInterval(timer)
      leave()
    },
    Math.min(idleExitMs, 1000),
  )
}

run().catch((error: unknown) => {
  if (error instanceof StateInUseError) {
    process.stderr.write(`${error.message}\n`)
    process.exit(EXIT_IN_USE)
  }
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
  process.exit(1)
})
