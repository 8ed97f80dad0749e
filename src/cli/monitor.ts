/** What `storerank start` tells operators while it runs: an address to ask, and a heartbeat. */
import { sendHeartbeat } from '../monitor/heartbeat.ts'
import { createMetrics } from '../monitor/metrics.ts'
import { probeDatabase, probeHealth, probePlan } from '../monitor/probes.ts'
import { startMonitorServer } from '../monitor/server.ts'
import type { JobContext } from '../queue/job.ts'
import type { CommandContext } from './command.ts'

export type Monitor = Awaited<ReturnType<typeof startMonitor>>

const BEAT_EVERY_MS = 60_000

/**
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
  const { operationsListen: listen, heartbeatUrl } = config
  const server =
    listen === null
      ? null
      : await startMonitorServer(
          { metrics: createMetrics(job.db, job.settings), sinceLookMs, isReady, log },
          listen,
        )
  if (server !== null) log.info({ ...server.address }, 'answering operators: /healthz, /readyz, /metrics')
  const beats =
    heartbeatUrl === null
      ? null
      : setInterval(async () => {
          for (const isWell of [isHealthy, isReady, isPlanned]) if ((await isWell()) !== null) return
          await sendHeartbeat(heartbeatUrl, log, config.proxy)
        }, beatEveryMs)
  return {
    close: async () => {
      if (beats !== null) clearInterval(beats)
      await server?.close()
    },
  }
}
