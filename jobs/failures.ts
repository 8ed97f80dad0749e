import { recordFailures } from '../src/audit/failures.ts'
import type { Job } from '../src/queue/job.ts'

export const failures: Job = {
  name: 'failures',
  description:
    'Keeps what the service lists as failed of our tasks, and has webhooks that did not arrive sent again.',
  cron: '33 * * * *',
  catchUp: 'latest',
  timeoutMs: 10 * 60_000,
  run: async ({ db, client, settings, signal }) => {
    const resendsWebhooks = settings.postbackUrl !== null
    return { ...(await recordFailures(db, client, failures.name, { resendsWebhooks, signal })) }
  },
}
