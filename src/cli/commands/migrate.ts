import { distribute as distributeHistory, grantRoles } from '../../db/migrate.ts'
import { openQueue } from '../../queue/queue.ts'
import { command, flag } from '../command.ts'
import { database } from '../database-session.ts'

export const migrate = command({
  group: 'Set up',
  summary: 'apply the migrations to the database and exit',
  options: {
    distribute: flag('distribute the history over the workers of Citus; see docs/scale.md'),
  },
  examples: ['storerank migrate'],
  needs: database({ makes: 'any' }),
  run: async ({ distribute }, { log }, { db }) => {
    // pg-boss keeps its own tables, and makes them when it starts.
    const queue = await openQueue(db.url, log)
    await queue.stop(0)
    if (distribute) await distributeHistory(db.url)
    const hindrances = await grantRoles(db)
    const distributed = distribute ? ', and its history is distributed' : ''
    const done = `The database is at the schema of this version${distributed}.`
    return { parts: [done, ...hindrances] }
  },
})
