import { command, flag } from '../command.ts'

export const status = command({
  name: 'status',
  group: 'Look',
  summary: 'show the last runs, the backlog, the budgets, the problems and the next ticks',
  options: {
    json: flag('print JSON instead of tables'),
    check: flag('print only what is wrong; exit with 0 (nothing), 1 (something) or 2 (it cannot be told)'),
  },
  examples: ['storerank status --check'],
  run: async ({ check }, context) => {
    const { checkStatus, showStatus } = await import('../status.ts')
    return check ? checkStatus(context) : showStatus(context)
  },
})
