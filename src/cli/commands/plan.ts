import { command, flag } from '../command.ts'
import { database } from '../needs.ts'

export const plan = command({
  name: 'plan',
  group: 'Look',
  summary: 'show what is due, what it would cost and what the budget would cut; posts nothing',
  options: { json: flag('print JSON instead of a table') },
  examples: ['storerank plan --json'],
  needs: database(),
  run: async (_, context, { db }) => (await import('../plan.ts')).showPlan(db, context),
})
