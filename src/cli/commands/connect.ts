import { command, flag } from '../command.ts'
import { withDatabase } from '../with-database.ts'

export const connect = command({
  name: 'connect',
  group: 'Set up',
  summary: 'open psql on the database in use',
  options: { print: flag('print the command instead') },
  examples: ['storerank connect'],
  run: ({ print }, context) =>
    withDatabase(
      context,
      async (session) => (await import('../connect.ts')).connect(session, print, context),
      { takesAnySchema: true },
    ),
})
