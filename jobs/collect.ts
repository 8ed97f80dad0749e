import { handOutOverdue, handOutReady } from '../src/collect/enqueue-results.ts'
import type { Job } from '../src/queue/job.ts'

export const collect: Job = {
  name: 'collect',
  description: 'Asks the ready lists, and by id for what is overdue, and hands the results to the fetchers.',
  cron: '* * * * *',
  catchUp: 'none',
  timeoutMs: 10 * 60_000,
  enqueues: 'posts',
  cycle: { step: 'collect' },
  run: async ({ db, client, queue, settings, signal }) => {
    const countFetchJobs = () => queue.countOpen('fetch')
    const ready = await handOutReady(db, client, { ...settings, signal, countFetchJobs }, queue.enqueueFetch)
    const overdue = await handOutOverdue(db, queue.enqueueFetch)
    return { ...ready, overdue }
  },
}
