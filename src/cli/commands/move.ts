import { command } from '../command.ts'

export const move = command({
  name: 'move',
  group: 'Keep',
  summary: 'bring all that the embedded database has into the empty one of DATABASE_URL',
  examples: ['DATABASE_URL=postgres://me:secret@localhost/ranks storerank move'],
  run: async (_, context) => (await import('../move.ts')).move(context),
})
