import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import packageJson from '../../../package.json' with { type: 'json' }
import { describeForeign, dumpDatabase } from '../../embedded/dump.ts'
import { writeWholeFile } from '../../report/write-file.ts'
import { argument, command } from '../command.ts'
import { database } from '../database-session.ts'
import { verbatim } from '../document.ts'

export const dump = command({
  group: 'Keep',
  summary: "write storerank's data in the embedded database into a file",
  arguments: {
    file: argument('<file>', 'SQL with the rows as COPY writes them; compressed when its name ends in .gz'),
  },
  examples: ['storerank dump ranks.sql.gz'],
  needs: database({ ownTool: 'pg_dump', readsAnyState: true }),
  run: async ({ file }, { config }, { db }) => {
    const warnings: string[] = []
    const tell = (tables: readonly string[]) => warnings.push(describeForeign(tables))
    const plain = Readable.from(dumpDatabase(db.url, packageJson.version, tell))
    const gzip = createGzip()
    plain.on('error', (error) => gzip.destroy(error))
    await writeWholeFile(resolve(file), file.endsWith('.gz') ? plain.pipe(gzip) : plain, 'nobody')
    const about =
      `It has all data of storerank in the database in ${config.home}; ` +
      '`storerank restore` puts it into a new one.'
    return { parts: [verbatim(resolve(file)), about], warnings }
  },
})
