import { command, flag, option } from '../command.ts'
import { service } from '../needs.ts'
import { duration } from '../option-values.ts'

export const recover = command({
  name: 'recover',
  group: 'Keep',
  summary:
    'after a restore: read back what was bought since the backup, and fetch its results; posts nothing',
  options: {
    apart: flag('this database is a new one beside others on the account; reads nothing', {
      conflicts: ['installation'],
    }),
    yes: flag('with --apart: do not ask where a recovery was broken off'),
    installation: option('<id>', 'the database that this empty one stands in for, where there are several'),
    wait: option('<duration>', 'longest wait for results, such as 90s or 45m', duration),
  },
  examples: ['storerank recover'],
  needs: service,
  run: async (options, context, session) =>
    (await import('../recover.ts')).recover(session, options, context),
})
