/** What commands need. What opens it is loaded only then: declarations import this file. */
import { ConfigurationError } from '../errors.ts'
import type { CommandContext, Need } from './command.ts'
import type { DatabaseSession } from './database-session.ts'
import type { WorkSession } from './session.ts'

interface Wants {
  /** What is made and migrated where it is missing: the embedded database, or the person's own too. */
  readonly makes?: 'embedded' | 'any'
  /** Whether the schema of another version will do. */
  readonly takesAnySchema?: true
  /** Whether an embedded database of a state that this storerank does not know will do, to be read. */
  readonly readsAnyState?: true
  /** Where only the embedded one will do: what does the same for the person's own. */
  readonly ownTool?: string
}

/**
 * The database of the person, or the embedded one, with the schema of this version.
 * @throws ConfigurationError when there is none yet, its schema is another version's, or it is not the
 *   embedded one where only that will do
 */
export function database({
  makes,
  takesAnySchema,
  readsAnyState,
  ownTool,
}: Wants = {}): Need<DatabaseSession> {
  return async (context, work) => {
    const isEmbedded = context.config.databaseUrl === null
    if (ownTool !== undefined && !isEmbedded) throw refuseOwn(ownTool)
    const { openAsPerson, openDatabaseSession } = await import('./database-session.ts')
    const { person } = context
    const migrates = makes === 'any' || (makes === 'embedded' && isEmbedded)
    const options = { migrates, ...(readsAnyState && { readsAnyState }) }
    const session = person === undefined ? await openDatabaseSession(context, options) : openAsPerson(person)
    try {
      if (!takesAnySchema && !session.isOfAnotherState && person === undefined) {
        const { requireCurrentSchema } = await import('../db/migrate.ts')
        await requireCurrentSchema(session.db)
      }
      return await work(session)
    } finally {
      await session.close()
    }
  }
}

/** For a part of a command. */
export function withDatabase<Result>(
  context: CommandContext,
  work: (session: DatabaseSession) => Promise<Result>,
  wants?: Wants,
): Promise<Result> {
  return database(wants)(context, work)
}

/** The database, made and migrated where it is missing, the account or the sandbox, and the queue. */
export const service: Need<WorkSession> = async (context, work) => {
  const { openWorkSession } = await import('./session.ts')
  const session = await openWorkSession(context)
  try {
    return await work(session)
  } finally {
    await session.drain()
    await session.close()
  }
}

/** The tools of a server's own version know more than we do. */
function refuseOwn(tool: string): ConfigurationError {
  return new ConfigurationError(
    `The database of DATABASE_URL is yours: use ${tool} of its PostgreSQL. dump and restore are for the ` +
      'embedded one.',
  )
}
