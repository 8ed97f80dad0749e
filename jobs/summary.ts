import { forgiveKnown, type Job } from '../src/queue/job.ts'
import { logDayBefore } from '../src/report/day.ts'

export const summary: Job = {
  name: 'summary',
  description:
    'Sums up the day before (UTC) in one line of the log: what was measured, what was not and why, and ' +
    'what it cost.',
  // Results that are late for hours are in by then. A day reads as much as was measured in its month.
  cron: '11 6 * * *',
  catchUp: 'latest',
  timeoutMs: 60 * 60_000,
  // At the end, when the slots of the day before are closed and their results are in.
  cycle: { step: 'end', forgive: forgiveKnown('The day before was not summed up') },
  run: async ({ db, log }) => ({ day: await logDayBefore(db, log, summary.name) }),
}
