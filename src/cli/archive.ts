/** `storerank archive`: whole months of the history as Parquet files, verified; with --drop they leave the database. */
import { resolve } from 'node:path'
import { archiveMonths } from '../archive/archive.ts'
import { requireCurrentSchema } from '../db/migrate.ts'
import type { CommandContext, CommandOptions } from './command.ts'
import { openDatabaseSession } from './database-session.ts'
import { formatCount } from './print.ts'

export async function run(options: CommandOptions['archive'], context: CommandContext): Promise<number> {
  const { stdout, signal } = context
  const session = await openDatabaseSession(context, { migrates: false })
  try {
    await requireCurrentSchema(session.db)
    const folder = resolve(options.to)
    const before = new Date(`${options.before}T00:00:00Z`)
    let months = 0
    for await (const each of archiveMonths(session.db, { before, folder, drops: options.drop, signal })) {
      months += 1
      const became = `${each.isNew ? 'written' : 'there already'} and verified${each.isDropped ? ', dropped from the database' : ''}`
      stdout.write(`${each.file}: ${formatCount(each.rows)} rows, ${became}\n`)
    }
    if (months === 0) stdout.write(`No month of the history ends before ${options.before}.\n`)
    return 0
  } finally {
    await session.close()
  }
}
