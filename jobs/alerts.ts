import { runAlerts } from '../src/alerts/run.ts'
import type { Job } from '../src/queue/job.ts'

export const alerts: Job = {
  name: 'alerts',
  description: 'Looks at the rules of alerts, and hands what they found to those who deliver it.',
  cron: '* * * * *',
  catchUp: 'none',
  timeoutMs: 30 * 60_000,
  enqueues: 'messages',
  run: async ({ db, queue, settings, signal }) => {
    const { budget, alerts } = settings
    return {
      ...(await runAlerts({ db, settings: alerts, budget, enqueue: queue.enqueueDeliveries, signal })),
    }
  },
}
