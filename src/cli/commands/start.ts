/** The cron runner, until a signal or a newer version's migration. */
import { once } from 'node:events'
import { JOBS } from '../../../jobs/index.ts'
import type { Receiver } from '../../collect/receiver.ts'
import { ConfigurationError } from '../../errors.ts'
import { formatInstant } from '../../instant.ts'
import { sendHeartbeat } from '../../monitor/heartbeat.ts'
import { createMetrics } from '../../monitor/metrics.ts'
import { probeDatabase, probeHealth, probePlan } from '../../monitor/probes.ts'
import { startMonitorServer } from '../../monitor/server.ts'
import type { JobContext } from '../../queue/job.ts'
import { listen, type Runner, startRunner } from '../../queue/runner.ts'
import { listNextTicks, startScheduler } from '../../queue/scheduler.ts'
import { readBusinessTime, readPaidSince } from '../../report/money.ts'
import { readNextDue } from '../../report/status.ts'
import type { Secret } from '../../secret.ts'
import { type CommandContext, command, option } from '../command.ts'
import { listenAddress } from '../option-values.ts'
import { describeWork } from '../run-report.ts'
import { startWatchdog } from '../systemd.ts'
import { openWorkSession, type WorkSession } from '../work-session.ts'

const REPORT_EVERY_MS = 60_000
const BEAT_EVERY_MS = 60_000

export const start = command({
  group: 'Measure',
  summary: 'wake the jobs on their schedules until SIGTERM or Ctrl-C, then stop in order',
  options: {
    listen: option(
      '<[host:]port>',
      'take what is delivered to POSTBACK_URL; a port is on loopback',
      listenAddress,
    ),
  },
  examples: ['DATABASE_URL=postgres://me:secret@localhost/ranks storerank start'],
  run: async ({ listen: address }, context) => {
    const { config, log, signal } = context
    if (address !== undefined && config.postbackUrl === null)
      throw new ConfigurationError(
        '--listen needs POSTBACK_URL, the address at which the service reaches it: nothing is delivered ' +
          'without.',
      )
    let sinceLookMs = () => 0
    const isHealthy = probeHealth(() => sinceLookMs())
    using _watchdog = startWatchdog(isHealthy, log)
    const stopping = new AbortController()
    const session = await openWorkSession({ ...context, signal: AbortSignal.any([signal, stopping.signal]) })
    let receiver: Receiver | null = null
    let monitor: Awaited<ReturnType<typeof startMonitor>> | null = null
    try {
      explainStandIns(session, context)
      receiver = await listen(session.job, address ?? null)
      const runner = await startRunner(session.job, JOBS)
      const scheduler = await startScheduler(session.job, JOBS)
      sinceLookMs = scheduler.sinceLookMs
      await tellSchedule(session, context)
      monitor = await startMonitor(session.job, context, scheduler.sinceLookMs)
      using _reports = await startWorkReports(session, runner, context)
      if (!signal.aborted) await Promise.race([once(signal, 'abort'), scheduler.ended])
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
  },
})

/**
 * What operators are told: an address to ask, and a heartbeat.
 * @param sinceLookMs how long ago the scheduler looked which jobs are due
 * @param beatEveryMs for tests: a shorter pause between two heartbeats
 * @throws ConfigurationError or UnavailableError when it cannot listen on OPERATIONS_LISTEN
 */
export async function startMonitor(
  job: JobContext,
  { config, log }: Pick<CommandContext, 'config' | 'log'>,
  sinceLookMs: () => number,
  beatEveryMs = BEAT_EVERY_MS,
) {
  const isHealthy = probeHealth(sinceLookMs)
  const isReady = probeDatabase(job.db)
  const isPlanned = probePlan(job.db)
  const { operationsListen, heartbeatUrl, proxy } = config
  const tells = () => ({ metrics: createMetrics(job.db, job.settings), sinceLookMs, isReady, log })
  const server = operationsListen && (await startMonitorServer(tells(), operationsListen))
  if (server !== null) log.info({ ...server.address }, 'answering operators: /healthz, /readyz, /metrics')
  const beat = async (url: Secret) => {
    for (const isWell of [isHealthy, isReady, isPlanned]) if ((await isWell()) !== null) return
    await sendHeartbeat(url, log, proxy)
  }
  const beats = heartbeatUrl && setInterval(beat, beatEveryMs, heartbeatUrl)
  return {
    close: async () => {
      clearInterval(beats ?? undefined)
      await server?.close()
    },
  }
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

/** A line now and then of what the runner has done. While it does nothing, the database is asked nothing. */
async function startWorkReports(
  { db }: WorkSession,
  runner: Pick<Runner, 'progress'>,
  { log, stderr, isTerminal }: CommandContext,
): Promise<Disposable> {
  let told = { ...runner.progress }
  let since = await readBusinessTime(db)
  const look = async () => {
    const { stored, posted } = runner.progress
    if (stored === told.stored && posted === told.posted) return
    const now = await readBusinessTime(db)
    const paid = await readPaidSince(db, since)
    const work = { stored: stored - told.stored, posted: posted - told.posted, ...paid }
    told = { stored, posted }
    since = now
    if (isTerminal) stderr.write(`${describeWork(work)}\n`)
    else log.info(work, 'work done')
  }
  const timer = setInterval(() => {
    look().catch((error) => log.debug({ err: error }, 'the work could not be added up'))
  }, REPORT_EVERY_MS).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
