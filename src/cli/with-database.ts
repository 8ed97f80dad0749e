/** Opens the database for a command. It loads the driver only then: declarations may import it. */
import { ConfigurationError } from '../errors.ts'
import type { CommandContext } from './command.ts'
import type { DatabaseSession } from './database-session.ts'

interface Wants {
  /** What is made and migrated where it is missing: the embedded database, or the person's own too. */
  readonly makes?: 'embedded' | 'any'
  /** Whether it works with the schema of another version too. */
  readonly takesAnySchema?: true
}

/**
 * Runs `work` with the database of the person, or the embedded one, and closes it.
 * @throws ConfigurationError when there is no database yet, or its schema is another version's
 */
export async function withDatabase<Result>(
  context: CommandContext,
  work: (session: DatabaseSession) => Promise<Result>,
  { makes, takesAnySchema }: Wants = {},
): Promise<Result> {
  const { openDatabaseSession } = await import('./database-session.ts')
  const isEmbedded = context.config.databaseUrl === null
  const migrates = makes === 'any' || (makes === 'embedded' && isEmbedded)
  const session = await openDatabaseSession(context, { migrates })
  try {
    if (!takesAnySchema) {
      const { requireCurrentSchema } = await import('../db/migrate.ts')
      await requireCurrentSchema(session.db)
    }
    return await work(session)
  } finally {
    await session.close()
  }
}

/** The tools of a server's own version know more than we do. */
export function refuseOwnDatabase({ config }: CommandContext, tool: string): void {
  if (config.databaseUrl === null) return
  throw new ConfigurationError(
    `The database of DATABASE_URL is yours: use ${tool} of its PostgreSQL. dump and restore are for the ` +
      'embedded one.',
  )
}
