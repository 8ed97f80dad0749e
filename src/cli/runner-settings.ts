/** The settings of a runner. */
import type { RunnerSettings } from '../queue/job.ts'
import type { CommandContext } from './command.ts'

export function settingsOf({ config }: CommandContext): RunnerSettings {
  return {
    budget: {
      maxDayMicros: config.maxUsdPerDayMicros,
      maxMonthMicros: config.maxUsdPerMonthMicros,
      maxRunMicros: config.maxUsdPerRunMicros,
    },
    callsPerMinute: config.callsPerMinute,
    maxConcurrentRequests: config.maxConcurrentRequests,
    maxAttempts: config.maxAttempts,
    overdueAfterMs: config.overdueAfterMs,
    reconcileQuietMs: config.reconcileQuietMs,
    postbackUrl: config.postbackUrl,
    reports: config.reports,
    keep: config.keep,
    oldMonthsTablespace: config.oldMonthsTablespace,
    alerts: config.alerts,
  }
}
