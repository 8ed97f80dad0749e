import { command, flag } from '../command.ts'

export const check = command({
  name: 'check',
  group: 'The service',
  summary: 'hold what storerank relies on against the service, free of charge; buys only with --buy',
  options: {
    buy: flag('buy one keyword of each store at the least depth, and follow it into the history'),
    yes: flag('buy without asking'),
    json: flag('print JSON for a report of an error, without login, apps and keywords'),
  },
  examples: ['storerank check'],
  run: async (options, context) => (await import('../check.ts')).check(options, context),
})
