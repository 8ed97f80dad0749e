/** Writes the tables of tables.ts into their pages: `npm run docs`. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readTable, TABLES } from './tables.ts'

for (const table of TABLES)
  writeFileSync(join(import.meta.dirname, '../..', table.page), readTable(table).replace(await table.draw()))
