/** `storerank migrate`: applies what is missing of drizzle/, sees to the roles of people, distributes the history when asked to, and exits. */
import { distribute, grantRoles } from '../db/migrate.ts'
import { openQueue } from '../queue/queue.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'

export async function run(options: CommandOptions['migrate'], context: CommandContext): Promise<number> {
  const session = await openDatabaseSession(context, { migrates: true })
  try {
    // pg-boss keeps its own tables, and makes them when it starts.
    const queue = await openQueue(session.db.url, context.log)
    await queue.stop(0)
    if (options.distribute) await distribute(session.db.url)
    const hindrance = await grantRoles(session.db)
    context.stdout.write(
      `The database is at the schema of this version${options.distribute ? ', and its history is distributed' : ''}.\n${hindrance === null ? '' : `${hindrance}\n`}`,
    )
    return 0
  } finally {
    await session.close()
  }
}
