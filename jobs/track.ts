import { closeEndedSlots } from '../src/history/close-slots.ts'
import { lookBeforePlanning } from '../src/plan/account.ts'
import { planDueTasks } from '../src/plan/plan.ts'
import type { Job } from '../src/queue/job.ts'

export const track: Job = {
  name: 'track',
  description:
    'Closes the slots that ended, plans what is due within the budget, and hands it to the posters.',
  cron: '*/10 * * * *',
  catchUp: 'latest',
  timeoutMs: 10 * 60_000,
  run: async (context) => {
    const { db, queue, settings } = context
    const closed = await closeEndedSlots(db)
    await lookBeforePlanning(context)
    const planned = await planDueTasks(db, settings.budget, queue.enqueuePosts)
    return { ...planned, ...closed }
  },
}
