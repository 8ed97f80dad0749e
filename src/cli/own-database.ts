/** What is of the embedded database alone. */
import { ConfigurationError } from '../errors.ts'
import type { CommandContext } from './command.ts'

/** The tools of a server's own version know more than we do. */
export function refuseOwnDatabase({ config }: CommandContext, tool: string): void {
  if (config.databaseUrl === null) return
  throw new ConfigurationError(
    `The database of DATABASE_URL is yours: use ${tool} of its PostgreSQL. dump and restore are for the ` +
      'embedded one.',
  )
}
