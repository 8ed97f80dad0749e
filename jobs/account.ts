import { refreshServiceStatus } from '../src/account/service-status.ts'
import { isAnswered, recordAccountUsage } from '../src/account/usage.ts'
import { auditDoubted } from '../src/audit/audit.ts'
import type { Job } from '../src/queue/job.ts'

export const account: Job = {
  name: 'account',
  description:
    'Balance, limits and prices of the account, which feed the budgets; charges that are doubted; the ' +
    'status of the service.',
  cron: '3 * * * *',
  catchUp: 'latest',
  timeoutMs: 10 * 60_000,
  cycle: {
    step: 'begin',
    words: { doing: 'looking at the account', done: 'account known: balance, limits, prices' },
    forgive: async (error, { client }) =>
      (await isAnswered(error, client))
        ? 'The account could not be asked; the plan goes by what is known.'
        : null,
  },
  run: async (context) => {
    await refreshServiceStatus(context)
    const { db, client, settings, log, signal } = context
    const limits = await recordAccountUsage(db, client)
    await auditDoubted(db, client, { overdueAfterMs: settings.overdueAfterMs, log, signal })
    return limits
  },
}
