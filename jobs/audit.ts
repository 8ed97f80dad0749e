import { auditDueDays } from '../src/audit/audit.ts'
import type { Job } from '../src/queue/job.ts'

export const audit: Job = {
  name: 'audit',
  description: "Compares the service's own list of the past days' tasks with our charges, and adjusts them.",
  // Late enough for the service to list what was sent before midnight.
  cron: '45 0 * * *',
  catchUp: 'latest',
  // 10 pages of 1,000 tasks a minute, several times while they shift.
  timeoutMs: 4 * 60 * 60_000,
  run: async ({ db, client, settings, log, signal }) => ({
    ...(await auditDueDays(db, client, audit.name, { overdueAfterMs: settings.overdueAfterMs, log, signal })),
  }),
}
