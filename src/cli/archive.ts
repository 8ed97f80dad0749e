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
    const archived = archiveMonths(session.db, { before, folder, drops: options.drop, signal })
    for await (const { file, rows, isNew, isDropped } of archived) {
      months += 1
      const became = `${isNew ? 'written' : 'there already'} and verified${isDropped ? ', dropped from the database' : ''}`
      stdout.write(`${file}: ${formatCount(rows)} rows, ${became}\n`)
    }
    if (months === 0) stdout.write(`No month of the history ends before ${options.before}.\n`)
    return 0
  } finally {
    await session.close()
  }
}
