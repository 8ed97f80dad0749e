/** What `storerank start` does: the cron runner, until a signal or a newer version's migration. */
import { once } from 'node:events'
import { JOBS } from '../../jobs/index.ts'
import type { Receiver } from '../collect/receiver.ts'
import { ConfigurationError } from '../errors.ts'
import { formatInstant } from '../instant.ts'
import type { ListenAddress } from '../listen-address.ts'
import { probeHealth } from '../monitor/probes.ts'
import { listen } from '../queue/listen.ts'
import { startRunner } from '../queue/runner.ts'
import { listNextTicks, startScheduler } from '../queue/scheduler.ts'
import { readNextDue } from '../report/ranks.ts'
import type { CommandContext } from './command.ts'
import type { Monitor } from './monitor.ts'
import { openWorkSession, type WorkSession } from './session.ts'
import { startWatchdog } from './watchdog.ts'
import { startWorkReports } from './work-report.ts'

export async function start(
  options: { readonly listen?: ListenAddress },
  context: CommandContext,
): Promise<number> {
  const { config, log, signal } = context
  if (options.listen !== undefined && config.postbackUrl === null) {
    throw new ConfigurationError(
      '--listen needs POSTBACK_URL, the address at which the service reaches it: nothing is delivered ' +
        'without.',
    )
  }
  let sinceLookMs = () => 0
  const isHealthy = probeHealth(() => sinceLookMs())
  using _watchdog = startWatchdog(isHealthy, log)
  const stopping = new AbortController()
  const session = await openWorkSession({ ...context, signal: AbortSignal.any([signal, stopping.signal]) })
  let receiver: Receiver | null = null
  let monitor: Monitor | null = null
  try {
    explainStandIns(session, context)
    receiver = await listen(session.job, options.listen ?? null)
    const runner = await startRunner(session.job, JOBS)
    const scheduler = await startScheduler(session.job, JOBS)
    sinceLookMs = scheduler.sinceLookMs
    await tellSchedule(session, context)
    if (config.operationsListen !== null || config.heartbeatUrl !== null) {
      const { startMonitor } = await import('./monitor.ts')
      monitor = await startMonitor(session.job, context, scheduler.sinceLookMs)
    }
    const endReports = await startWorkReports(session, runner, context)
    if (!signal.aborted) await Promise.race([once(signal, 'abort'), scheduler.ended]).finally(endReports)
    log.info('stopping: no new work, what is in flight is finished')
    await scheduler.stop()
  } finally {
    stopping.abort()
    await receiver?.close()
    await session.drain()
    await monitor?.close()
    await session.close()
  }
  log.info('stopped')
  return 0
}

/** In a pipe the schedule of each job, on a terminal what a person waits for. */
async function tellSchedule({ db }: WorkSession, { log, stderr, isTerminal }: CommandContext): Promise<void> {
  if (!isTerminal) {
    for (const { job, at } of listNextTicks(JOBS)) log.info({ job, nextTick: at }, 'job scheduled')
    return
  }
  const next = await readNextDue(db)
  stderr.write(
    next === null
      ? 'Nothing is watched yet. What you insert is measured within ten minutes; Ctrl-C stops in order.\n'
      : 'What is due is bought now and every ten minutes; the next slot begins at ' +
          `${formatInstant(next)}. Ctrl-C stops in order.\n`,
  )
}

function explainStandIns({ embedded, sandboxUrl }: WorkSession, { log }: CommandContext): void {
  if (embedded !== null) {
    log.warn({ psql: embedded.psqlUrl }, 'using the embedded database; DATABASE_URL replaces it')
  }
  if (sandboxUrl !== null) {
    log.warn({ url: sandboxUrl }, 'using the sandbox, whose ranks are invented; APP_DATA_URL replaces it')
  }
}
