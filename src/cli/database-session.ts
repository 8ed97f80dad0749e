/**
 * The database that a command works with: the person's own, or the embedded one. The rest of storerank never
 * knows which. What makes the embedded one and migrates is loaded only where it is needed.
 */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Database, openDatabase } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import type { CommandContext } from './command.ts'
import { tell } from './tell.ts'

export interface DatabaseSession {
  readonly db: Database
  /** Null with the person's own database. */
  readonly embedded: {
    /** Without the password: psql takes it from the file that only its owner reads. */
    readonly psqlUrl: string
  } | null
  close(): Promise<void>
}

/** Invented ranks must never mix with bought ones, so each has a database of its own. */
export const SANDBOX_DATABASE = 'storerank_sandbox'
const ACCOUNT_DATABASE = 'storerank'

/** Opens the database. The embedded one is always migrated; the person's own only when `migrates` says so. */
export async function openDatabaseSession(
  context: CommandContext,
  options: { readonly migrates: boolean },
): Promise<DatabaseSession> {
  const { config } = context
  const own = config.databaseUrl?.reveal()
  if (own === undefined && !options.migrates && !existsSync(join(config.home, 'postgres'))) {
    throw new ConfigurationError(
      `There is no embedded database in ${config.home} yet. Run \`storerank run\` first, or set ` +
        'DATABASE_URL.',
    )
  }
  const database = config.service === null ? SANDBOX_DATABASE : ACCOUNT_DATABASE
  const embedded = own === undefined ? await attach(context, database) : null
  const url = own ?? embedded?.url ?? ''
  // The port of the embedded one may be another at each start.
  const db = openDatabase(url, embedded === null ? {} : { place: embedded.dataDirectory })
  const close = async () => {
    await db.close()
    await embedded?.dispose()
  }
  try {
    if (options.migrates || embedded !== null) await bringUpToDate(url)
    else await requireSchema(db)
    const psqlUrl = embedded === null ? null : await writePassFile(embedded.url, join(config.home, 'pgpass'))
    return { db, embedded: psqlUrl === null ? null : { psqlUrl }, close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * A password file as psql reads it, so that no password stands in a command line or a log.
 * @returns the URL with the file in the password's place
 */
export async function writePassFile(url: string, file: string): Promise<string> {
  const address = new URL(url)
  const { hostname, port, username, password } = address
  const secret = decodeURIComponent(password).replace(/[\\:]/g, '\\$&')
  await writeFile(file, `${hostname}:${port || 5432}:*:${decodeURIComponent(username)}:${secret}\n`, {
    mode: 0o600,
  })
  address.password = ''
  address.searchParams.set('passfile', file)
  return address.href
}

async function requireSchema(db: Database): Promise<void> {
  const [row] = await db.sql<{ there: boolean }[]>`select to_regclass('watch_period') is not null as there`
  if (row?.there) return
  throw new ConfigurationError(
    'The database of DATABASE_URL has no tables of storerank yet. Run `storerank migrate` or `storerank ' +
      'run` first.',
  )
}

async function attach(context: CommandContext, database: string) {
  const { home } = context.config
  if (!existsSync(join(home, 'postgres'))) {
    tell(
      context,
      `New and empty: a database is made in ${home}, which takes a few seconds. It is an embedded ` +
        `PostgreSQL, and all commands in this folder use it from now on. Delete ${home} to begin anew, ` +
        'or set DATABASE_URL to use a PostgreSQL of your own.',
    )
  }
  const { attachEmbedded } = await import('../embedded/attach.ts')
  const embedded = await attachEmbedded({ home, database })
  if (embedded.missedPort !== null) {
    const { port } = new URL(embedded.url)
    tell(
      context,
      `Another program held port ${embedded.missedPort} when the embedded database was started, so it ` +
        `listens on ${port} until it is stopped.`,
    )
  }
  return embedded
}

async function bringUpToDate(url: string): Promise<void> {
  const { migrate } = await import('../db/migrate.ts')
  await migrate(url)
}
