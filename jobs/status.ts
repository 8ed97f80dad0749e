import { readServiceTroubles, refreshServiceStatus } from '../src/account/service-status.ts'
import type { Job } from '../src/queue/job.ts'

export const status: Job = {
  name: 'status',
  description: 'Asks the service every minute how it is, as long as it is not well.',
  cron: '* * * * *',
  catchUp: 'none',
  timeoutMs: 2 * 60_000,
  cycle: { step: 'wait', everyMs: 60_000, firstAfterMs: 60_000 },
  run: async (context) => {
    const known = await readServiceTroubles(context.db)
    if (known.length > 0) await refreshServiceStatus(context)
    return { troubles: (await readServiceTroubles(context.db)).length }
  },
}
