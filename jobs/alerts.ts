import { readAlertProjects, runAlerts } from '../src/alerts/run.ts'
import { forgiveKnown, type Job } from '../src/queue/job.ts'

export const alerts: Job = {
  name: 'alerts',
  description: 'Looks at the rules of alerts, and hands what they found to those who deliver it.',
  cron: '* * * * *',
  catchUp: 'none',
  timeoutMs: 30 * 60_000,
  enqueues: 'messages',
  cycle: {
    step: 'end',
    words: { doing: 'looking at the rules of alerts', done: 'rules of alerts looked at' },
    isNeeded: async ({ db }) => (await readAlertProjects(db)).length > 0,
    // What is due for the rules stays due, so that another run looks and tells where this one cannot.
    forgive: forgiveKnown('The rules of alerts were not looked at'),
  },
  run: async ({ db, queue, settings, signal }) => {
    const { budget, alerts } = settings
    return {
      ...(await runAlerts({ db, settings: alerts, budget, enqueue: queue.enqueueDeliveries, signal })),
    }
  },
}
