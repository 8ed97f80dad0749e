import { reconcileUnknownPosts, sweepPosts } from '../src/post/reconcile.ts'
import type { Job } from '../src/queue/job.ts'

export const reconcile: Job = {
  name: 'reconcile',
  description: 'Finds out what became of posts whose answer was lost, and enqueues again what lost its job.',
  cron: '* * * * *',
  catchUp: 'none',
  // 200,000 tasks are 20 minutes of reading (spec: Limits), twice when they finish meanwhile, and the audit
  // reads as well.
  timeoutMs: 2 * 60 * 60_000,
  enqueues: 'posts',
  cycle: { step: 'wait', everyMs: 10_000 },
  run: async ({ db, client, queue, settings, log, signal }) => {
    const swept = await sweepPosts(db, queue.enqueuePosts)
    const quiet = { quietMs: settings.reconcileQuietMs, overdueAfterMs: settings.overdueAfterMs, log, signal }
    const { waitsUntil, ...reconciled } = await reconcileUnknownPosts(db, client, quiet)
    return { ...swept, ...reconciled, waitsUntil: waitsUntil?.toISOString() ?? null }
  },
}
