/** `storerank dump FILE`: the data of the embedded database as one file. */
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import packageJson from '../../package.json' with { type: 'json' }
import { dumpDatabase } from '../embedded/dump.ts'
import { ConfigurationError } from '../errors.ts'
import { writeWholeFile } from '../report/write-file.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'

export async function run({ file }: CommandOptions['dump'], context: CommandContext): Promise<number> {
  refuseOwnDatabase(context, 'pg_dump')
  const session = await openDatabaseSession(context, { migrates: false })
  try {
    const plain = Readable.from(dumpDatabase(session.db.url, packageJson.version))
    const gzip = createGzip()
    plain.on('error', (error) => gzip.destroy(error))
    await writeWholeFile(resolve(file), file.endsWith('.gz') ? plain.pipe(gzip) : plain)
    context.stdout.write(
      `${resolve(file)}\nIt has all data of the database in ${context.config.home}; \`storerank restore\` puts it into a new one.\n`,
    )
    return 0
  } finally {
    await session.close()
  }
}

/** The tools of a server's own version know more than we do. */
export function refuseOwnDatabase({ config }: CommandContext, tool: string): void {
  if (config.databaseUrl === null) return
  throw new ConfigurationError(
    `The database of DATABASE_URL is yours: use ${tool} of its PostgreSQL. dump and restore are for the embedded one.`,
  )
}
