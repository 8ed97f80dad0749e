/** Settings of a runner in a bench: no budget and no postback stands in its way. */
import type { RunnerSettings } from '../../src/queue/job.ts'

export const SETTINGS: RunnerSettings = {
  budget: { maxDayMicros: 1_000_000_000_000, maxMonthMicros: null, maxRunMicros: null },
  callsPerMinute: 2_000,
  maxConcurrentRequests: 30,
  maxAttempts: 3,
  overdueAfterMs: 3_600_000,
  reconcileQuietMs: 1_200_000,
  keep: { historyMs: null, pagesMs: null, moneyMs: null },
  postbackUrl: null,
  reports: null,
}
