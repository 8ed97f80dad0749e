/**
 * The database that a command works with: the person's own, or the embedded one. The rest of storerank never
 * knows which. What makes the embedded one and migrates is loaded only where it is needed.
 */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { shareConnections } from '../db/connections.ts'
import { type Database, openDatabase } from '../db/database.ts'
import { ConfigurationError } from '../errors.ts'
import type { CommandContext, Need } from './command.ts'
import { tell } from './tell.ts'

export interface DatabaseSession {
  readonly db: Database
  /** Null with the person's own database. Its URL is without the password, which psql takes from a file. */
  readonly embedded: { readonly psqlUrl: string } | null
  /** It was made by a state of storerank that this one does not know: its rows can be read. */
  readonly isOfAnotherState: boolean
  close(): Promise<void>
}

interface Wants {
  /** What is made and migrated where it is missing: the embedded database, or the person's own too. */
  readonly makes?: 'embedded' | 'any'
  /** Whether the schema of another version will do. */
  readonly takesAnySchema?: true
  /** Whether an embedded database of a state that this storerank does not know will do, to be read. */
  readonly readsAnyState?: boolean
  /** Where only the embedded one will do: what does the same for the person's own. */
  readonly ownTool?: string
}

/** Invented ranks must never mix with bought ones, so each has a database of its own. */
export const SANDBOX_DATABASE = 'storerank_sandbox'
const ACCOUNT_DATABASE = 'storerank'

/** The database of the person, or the embedded one, with the schema of this version. */
export function database(wants: Wants = {}): Need<DatabaseSession> {
  return (context, work) => withDatabase(context, work, wants)
}

/** The same for a part of a command. */
export async function withDatabase<Result>(
  context: CommandContext,
  work: (session: DatabaseSession) => Promise<Result>,
  { makes, takesAnySchema, readsAnyState = false, ownTool }: Wants = {},
): Promise<Result> {
  const { person, config } = context
  const isEmbedded = config.databaseUrl === null
  if (ownTool !== undefined && !isEmbedded)
    throw new ConfigurationError(
      `The database of DATABASE_URL is yours: use ${ownTool} of its PostgreSQL. dump and restore are for ` +
        'the embedded one.',
    )
  const migrates = makes === 'any' || (makes === 'embedded' && isEmbedded)
  const session =
    person === undefined
      ? await openDatabaseSession(context, { migrates, readsAnyState })
      : openAsPerson(person)
  try {
    if (!takesAnySchema && !session.isOfAnotherState && person === undefined)
      await (await loadMigrations()).requireCurrentSchema(session.db)
    return await work(session)
  } finally {
    await session.close()
  }
}

function loadMigrations() {
  return import('../db/migrate.ts')
}

/** Opens the database. The embedded one is always migrated; the person's own only when `migrates` says so. */
export async function openDatabaseSession(
  context: CommandContext,
  { migrates, readsAnyState = false }: { readonly migrates: boolean; readonly readsAnyState?: boolean },
): Promise<DatabaseSession> {
  const { config } = context
  const own = config.databaseUrl?.reveal()
  if (own === undefined && !migrates && !existsSync(join(config.home, 'postgres'))) {
    throw new ConfigurationError(
      `There is no embedded database in ${config.home} yet. Run \`storerank run\` first, or set ` +
        'DATABASE_URL.',
    )
  }
  if (migrates) refuseMisspelt(config)
  const embedded = own === undefined ? await attach(context) : null
  const url = own ?? embedded?.url ?? ''
  const { statements } = shareConnections(config.databaseConnections)
  const db = openDatabase(url, {
    maxConnections: statements,
    // The port of the embedded one may be another at each start.
    ...(embedded === null ? {} : { place: embedded.dataDirectory }),
  })
  const close = async () => {
    await db.close()
    await embedded?.dispose()
  }
  try {
    const isOfAnotherState =
      embedded !== null && readsAnyState && !(await (await loadMigrations()).knowsSchema(db))
    if (isOfAnotherState)
      tell(
        context,
        `The embedded database in ${config.home} was made by another state of storerank, and is read as it ` +
          'is: export, dump and sql work on it, and nothing of it is changed.',
      )
    else if (migrates || embedded !== null) await bringUpToDate(url, db, context)
    else await requireSchema(db)
    const psqlUrl = embedded && (await writePassFile(embedded.url, join(config.home, 'pgpass')))
    return { db, embedded: psqlUrl === null ? null : { psqlUrl }, isOfAnotherState, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** A command of the owner lets the person in, and has looked at the schema. */
function openAsPerson({ url, role }: NonNullable<CommandContext['person']>): DatabaseSession {
  const db = openDatabase(url, { role })
  return { db, embedded: null, isOfAnotherState: false, close: () => db.close() }
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
  // libpq takes a plus for a plus, and the standard's own writing of a query has it for a space.
  const passfile = encodeURI(file).replace(/[?&#=+]/g, encodeURIComponent)
  return `${address.href}${address.search === '' ? '?' : '&'}passfile=${passfile}`
}

async function requireSchema(db: Database): Promise<void> {
  const [row] = await db.sql<{ there: boolean }[]>`select to_regclass('watch_period') is not null as there`
  if (row?.there) return
  throw new ConfigurationError(
    'The database of DATABASE_URL has no tables of storerank yet. Run `storerank migrate` or `storerank ' +
      'run` first.',
  )
}

async function attach(context: CommandContext) {
  const { home, service } = context.config
  if (!existsSync(join(home, 'postgres')))
    tell(
      context,
      `New and empty: a database is made in ${home}, which takes a few seconds. It is an embedded ` +
        `PostgreSQL, and all commands in this folder use it from now on. Delete ${home} to begin anew, ` +
        'or set DATABASE_URL to use a PostgreSQL of your own.',
    )
  const { attachEmbedded } = await import('../embedded/attach.ts')
  const name = service === null ? SANDBOX_DATABASE : ACCOUNT_DATABASE
  const embedded = await attachEmbedded({ home, database: name })
  if (embedded.missedPort !== null)
    tell(
      context,
      `Another program held port ${embedded.missedPort} when the embedded database was started, so it ` +
        `listens on ${new URL(embedded.url).port} until it is stopped.`,
    )
  return embedded
}

/** Not in silence: runners of another version end by it. */
async function bringUpToDate(url: string, db: Database, context: CommandContext): Promise<void> {
  const { describeUpgrade, migrate } = await loadMigrations()
  const upgrade = await describeUpgrade(db)
  if (upgrade !== null) tell(context, upgrade)
  await migrate(url)
}

/** Work would be done, and perhaps money spent, where nobody looks for it. */
function refuseMisspelt({ databaseUrl, service, misspelt, notes }: Config): void {
  const standIns = [
    { name: 'DATABASE_URL', standIn: 'the embedded database', isUsed: databaseUrl === null },
    { name: 'APP_DATA_URL', standIn: 'the sandbox', isUsed: service === null },
  ]
  for (const { name, standIn, isUsed } of standIns) {
    if (!isUsed || !misspelt.includes(name)) continue
    const note = notes.find((each) => each.endsWith(`Did you mean ${name}?`))
    throw new ConfigurationError(
      `${note} Without that, ${standIn} would be used: rename it, or unset it. Nothing was done.`,
    )
  }
}
