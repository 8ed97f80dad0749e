import { recordAccountUsage } from '../src/plan/account.ts'
import type { Job } from '../src/queue/job.ts'

export const account: Job = {
  name: 'account',
  description: 'Balance, limits and prices of the account, which feed the budgets.',
  cron: '3 * * * *',
  catchUp: 'latest',
  timeoutMs: 2 * 60_000,
  run: async ({ db, client }) => {
    const usage = await recordAccountUsage(db, client)
    return { balanceMicros: usage.balanceMicros, dayLimitMicros: usage.dayLimitMicros }
  },
}
