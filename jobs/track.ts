import { refreshAccountBeforePlanning } from '../src/account/usage.ts'
import { analyzeAndVacuum } from '../src/db/analyze.ts'
import { closeEndedSlots } from '../src/history/close-slots.ts'
import { planDueTasks } from '../src/plan/plan.ts'
import type { Job } from '../src/queue/job.ts'
import { warnOfBudgets } from '../src/report/money.ts'

export const track: Job = {
  name: 'track',
  description:
    'Closes the slots that ended, plans what is due within the budget, hands it to the posters, keeps ' +
    'the statistics of the planner, and warns of budgets at 80 %.',
  cron: '*/10 * * * *',
  catchUp: 'latest',
  timeoutMs: 10 * 60_000,
  enqueues: 'posts',
  cycle: { step: 'plan', words: { doing: 'planning', done: 'planned' } },
  run: async (context) => {
    const { db, queue, settings, log } = context
    // By what it says of the service's clock slots are closed too.
    await refreshAccountBeforePlanning(context)
    const closed = await closeEndedSlots(db)
    const planned = await planDueTasks(db, settings.budget, queue.enqueuePosts)
    const kept = await analyzeAndVacuum(db)
    const warnedOf = await warnOfBudgets(db, settings.budget, log)
    return { ...planned, ...closed, ...kept, warnedOf }
  },
}
