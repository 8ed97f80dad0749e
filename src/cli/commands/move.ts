/**
 * The database of a person takes the place of the embedded one. Nothing is posted from either while its rows
 * are on the way, and from the embedded one nothing afterwards.
 */
import packageJson from '../../../package.json' with { type: 'json' }
import type { Database } from '../../db/database.ts'
import { describeForeign, dumpDatabase, restoreDatabase } from '../../embedded/dump.ts'
import { ConfigurationError } from '../../errors.ts'
import { advanceRecovery, holdForMove, noteMoved, recordOrigin } from '../../ledger/restored.ts'
import { countOf } from '../../text/words.ts'
import { command } from '../command.ts'
import { openDatabaseSession } from '../database-session.ts'
import { createProgress } from '../progress.ts'

export const move = command({
  group: 'Keep',
  summary: 'bring all that the embedded database has into the empty one of DATABASE_URL',
  examples: ['DATABASE_URL=postgres://me:secret@localhost/ranks storerank move'],
  run: async (_, context) => {
    const { config } = context
    if (config.databaseUrl === null)
      throw new ConfigurationError(
        'DATABASE_URL is not set: it names the empty database into which the embedded one is moved.',
      )
    const embedded = { ...context, config: { ...config, databaseUrl: null } }
    const source = await openDatabaseSession(embedded, { migrates: false })
    const progress = createProgress(context)
    try {
      await requireIdle(source.db, config.home)
      const target = await openDatabaseSession(context, { migrates: true })
      try {
        progress.phase('moving the rows')
        const { tables, rows, warnings } = await moveRows(source.db, target.db)
        progress.done('all rows are moved')
        await target.db.sql`analyze`
        const done = `${countOf(rows, 'row')} of ${countOf(tables, 'table')} are moved, and were compared.`
        const next =
          'The database of DATABASE_URL goes on from here. From the one in ' +
          `${config.home} nothing is posted any more; its folder postgres may be deleted.`
        return { parts: [done, next], warnings }
      } finally {
        await target.close()
      }
    } finally {
      progress.stop()
      await source.close()
    }
  },
})

/** What another process has under way would be missing in the copy. */
async function requireIdle({ sql }: Database, home: string): Promise<void> {
  const [row] = await sql<{ isAtWork: boolean; isEmpty: boolean }[]>`
    select not exists (select from project) as "isEmpty", exists (
      select from pg_stat_activity
      where datname = current_database() and application_name = 'storerank queue') as "isAtWork"`
  if (row?.isEmpty) {
    throw new ConfigurationError(
      `The embedded database in ${home} has nothing to move. What the sandbox has invented is never moved ` +
        'to an account: that begins with an empty database.',
    )
  }
  if (!row?.isAtWork) return
  throw new ConfigurationError(
    `Another storerank works with the embedded database in ${home}: end it first. Nothing was changed.`,
  )
}

/** In this order, so that at most one of the two posts, wherever it is broken off. */
async function moveRows(source: Database, db: Database) {
  await holdForMove(source.sql)
  const warnings: string[] = []
  const tell = (tables: readonly string[]) => warnings.push(describeForeign(tables))
  const rows = dumpDatabase(source.url, packageJson.version, tell)
  const moved = await restoreDatabase(db.url, rows).catch(async (error) => {
    if (error instanceof ConfigurationError) await advanceRecovery(source.sql, null)
    throw error
  })
  await noteMoved(source.sql, db.place)
  await db.begin(async (tx) => {
    await advanceRecovery(tx, null)
    await recordOrigin(tx)
  })
  return { ...moved, warnings }
}
