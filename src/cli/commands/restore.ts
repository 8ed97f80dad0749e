import { createReadStream } from 'node:fs'
import { access } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import { ConfigurationError } from '../../errors.ts'
import { countOf } from '../../text/words.ts'
import { argument, command } from '../command.ts'
import { refuseOwnDatabase, withDatabase } from '../with-database.ts'

export const restore = command({
  name: 'restore',
  group: 'Keep',
  summary: 'put a dump into a new embedded database',
  arguments: { file: argument('<file>', 'what `storerank dump` wrote') },
  examples: ['STORERANK_HOME=elsewhere storerank restore ranks.sql.gz'],
  run: async ({ file }, context) => {
    refuseOwnDatabase(context, 'pg_restore')
    await access(file).catch((cause: Error) => {
      throw new ConfigurationError(`${file} cannot be read: ${cause.message}.`, { cause })
    })
    const restoreFile = async (url: string) => {
      const { restoreDatabase } = await import('../../embedded/dump.ts')
      const plain = createReadStream(file)
      const gunzip = createGunzip()
      plain.on('error', (error) => gunzip.destroy(error))
      return restoreDatabase(url, file.endsWith('.gz') ? plain.pipe(gunzip) : plain)
    }
    return withDatabase(
      context,
      async ({ db }) => {
        const tables = countOf(await restoreFile(db.url), 'table')
        await db.sql`analyze`
        const rest =
          'What was bought after the dump is not in it: `storerank recover` reads it back before ' +
          'anything is posted.'
        return { parts: [`${tables} are restored. ${rest}`] }
      },
      { makes: 'any' },
    )
  },
})
