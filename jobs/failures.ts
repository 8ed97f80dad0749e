import { recordFailures } from '../src/audit/failures.ts'
import type { Job } from '../src/queue/job.ts'

export const failures: Job = {
  name: 'failures',
  description: 'Keeps what the service lists as failed of our tasks, which it forgets after a day.',
  cron: '33 * * * *',
  catchUp: 'latest',
  timeoutMs: 10 * 60_000,
  run: async ({ db, client, signal }) => ({
    ...(await recordFailures(db, client, { resendsWebhooks: false, signal })),
  }),
}
