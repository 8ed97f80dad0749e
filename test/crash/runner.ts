/**
 * One runner: what `storerank start` opens, and the jobs of the cycle every half second besides, for a minute
 * is long here.
 */
import { flushCompileCache } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { JOBS } from '../../jobs/index.ts'
import { openWorkSession } from '../../src/cli/work-session.ts'
import type { Receiver } from '../../src/collect/receiver.ts'
import { readConfig } from '../../src/config.ts'
import { UnavailableError } from '../../src/errors.ts'
import { executeJob } from '../../src/queue/job.ts'
import { listen, startRunner } from '../../src/queue/runner.ts'
import { startScheduler } from '../../src/queue/scheduler.ts'
import type { Role } from './runners.ts'

const ROUND_MS = 500
const role = process.env.CRASH_ROLE as Role | undefined
const NAMES = role === 'plan' ? ['track'] : role === 'work' ? [] : ['track', 'reconcile', 'collect']

const stopping = new AbortController()
process.once('SIGTERM', () => stopping.abort())
// Without the harness there is nothing to do.
process.once('disconnect', () => process.exit(1))

const config = readConfig()
const log = pino({ level: 'info' })
const { signal } = stopping
const session = await openWorkSession({
  config,
  log,
  stdout: process.stdout,
  stderr: process.stderr,
  isTerminal: false,
  signal,
})
if (role === undefined || role === 'work') await startRunner(session.job, role === undefined ? JOBS : [])
const scheduler = role === undefined ? await startScheduler(session.job, JOBS) : null
await work('account')
process.send?.('ready')
// It is written at the end of a process, and these are killed.
flushCompileCache()
let receiver: Receiver | null = null
while (!signal.aborted) {
  receiver ??= await takePort()
  for (const name of NAMES) await work(name)
  await sleep(ROUND_MS, undefined, { signal }).catch(() => {})
}
await scheduler?.stop()
await receiver?.close()
await session.drain()
await session.close()
process.exit(0)

/**
 * The service delivers to one port, which one of the runners has; when that one is gone the next one takes
 * it.
 */
async function takePort(): Promise<Receiver | null> {
  if (config.postbackUrl === null) return null
  const { hostname: host, port } = new URL(config.postbackUrl.reveal())
  return listen(session.job, { host, port: Number(port) }).catch((error) => {
    if (error instanceof UnavailableError) return null
    throw error
  })
}

async function work(name: string): Promise<void> {
  const job = JOBS.find((one) => one.name === name)
  if (job === undefined) throw new Error(`There is no job ${name}.`)
  await executeJob(session.job, job, new Date()).catch((error) => log.warn({ err: error }, name))
}
