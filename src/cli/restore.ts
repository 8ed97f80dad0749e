/** `storerank restore FILE`: a dump into a new embedded database. */
import { createReadStream } from 'node:fs'
import { access } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import { restoreDatabase } from '../embedded/dump.ts'
import { ConfigurationError } from '../errors.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { refuseOwnDatabase } from './dump.ts'
import { formatCount } from './print.ts'

export async function run({ file }: CommandOptions['restore'], context: CommandContext): Promise<number> {
  refuseOwnDatabase(context, 'pg_restore')
  await access(file).catch((cause: Error) => {
    throw new ConfigurationError(`${file} cannot be read: ${cause.message}.`, { cause })
  })
  const session = await openDatabaseSession(context, { migrates: true })
  try {
    const plain = createReadStream(file)
    const gunzip = createGunzip()
    plain.on('error', (error) => gunzip.destroy(error))
    const tables = await restoreDatabase(session.db.url, file.endsWith('.gz') ? plain.pipe(gunzip) : plain)
    await session.db.sql`analyze`
    context.stdout.write(
      `${formatCount(tables)} tables are restored. What was bought after the dump is not in it: \`storerank recover\` reads it back before anything is posted.\n`,
    )
    return 0
  } finally {
    await session.close()
  }
}
