import { command, flag } from '../command.ts'
import { database } from '../needs.ts'

export const connect = command({
  name: 'connect',
  group: 'Set up',
  summary: 'open psql on the database in use',
  options: { print: flag('print the command instead') },
  examples: ['storerank connect'],
  needs: database({ takesAnySchema: true, readsAnyState: true }),
  run: async ({ print }, context, session) =>
    (await import('../connect.ts')).connect(session, print, context),
})
