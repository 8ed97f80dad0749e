import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { restoreDatabase } from '../../embedded/dump.ts'
import { countOf } from '../../text/words.ts'
import { argument, command } from '../command.ts'
import { database } from '../database-session.ts'
import { readableFile } from '../option-values.ts'

export const restore = command({
  group: 'Keep',
  summary: 'put a dump into an empty database: your own, or a new embedded one',
  arguments: { file: argument('<file>', 'what `storerank dump` wrote', readableFile) },
  examples: ['STORERANK_HOME=elsewhere storerank restore ranks.sql.gz'],
  needs: database({ makes: 'any' }),
  run: async ({ file }, _, { db }) => {
    const plain = createReadStream(file)
    const gunzip = createGunzip()
    plain.on('error', (error) => gunzip.destroy(error))
    const { tables, rows } = await restoreDatabase(db.url, file.endsWith('.gz') ? plain.pipe(gunzip) : plain)
    await db.sql`analyze`
    const done =
      `${countOf(rows, 'row')} of ${countOf(tables, 'table')} are restored and compared. What was bought ` +
      'after the dump is not in it: `storerank recover` reads it back before anything is posted.'
    return { parts: [done] }
  },
})
