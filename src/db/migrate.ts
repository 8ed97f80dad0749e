/**
 * Brings a database to this version's schema, once, however many processes try at the same moment, and wholly or not at
 * all. Refuses a server that is too old, and a schema that is newer than this version.
 */
import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator'
import postgres from 'postgres'
import { ConfigurationError } from '../errors.ts'
import type { Database, SqlRunner } from './database.ts'

const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../drizzle', import.meta.url))
/** Stamps of what this version knows. Read once: an update may replace the files under a process that goes on. */
const KNOWN = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER }).map(
  ({ folderMillis }) => folderMillis,
)
/** `unique … nulls not distinct` and `begin atomic` functions; tested on 15 to 18. */
const OLDEST_SERVER = 150_000
/** Whoever waits for another one's migration waits as long as it takes. Not 0, which the driver leaves out. */
const NO_LIMIT_MS = 2_147_483_647

/**
 * Applies what is missing of drizzle/ and returns how many migrations that were.
 * @throws ConfigurationError when the server is older than PostgreSQL 15, or the schema newer than this storerank.
 */
export async function migrate(url: string): Promise<number> {
  const client = postgres(url, {
    max: 1,
    onnotice: () => {},
    connection: {
      application_name: 'storerank migrate',
      statement_timeout: NO_LIMIT_MS,
      lock_timeout: NO_LIMIT_MS,
    },
  })
  try {
    await refuseOldServer(client)
    // Held by the session: the migrator opens transactions of its own.
    await client`select pg_advisory_lock(hashtext('storerank'), hashtext('migrate'))`
    const missing = await countMissing(client)
    if (missing > 0) {
      await applyMigrations(drizzle(client), { migrationsFolder: MIGRATIONS_FOLDER })
      await client`select grant_roles()`
    }
    return missing
  } finally {
    await client.end({ timeout: 5 })
  }
}

async function refuseOldServer(client: postgres.Sql): Promise<void> {
  const [row] =
    await client`select current_setting('server_version_num')::int as number, current_setting('server_version') as name`
  if (row && row.number < OLDEST_SERVER) {
    throw new ConfigurationError(
      `The database server is PostgreSQL ${row.name}; storerank needs 15 or later. Set DATABASE_URL to such a server, or unset it to use the embedded one.`,
    )
  }
}

/**
 * For whoever only looks.
 * @throws ConfigurationError when the schema is older or newer than this storerank.
 */
export async function requireCurrentSchema({ sql }: Database): Promise<void> {
  const missing = await countMissing(sql)
  if (missing > 0) {
    throw new ConfigurationError(
      `The database was made by an older storerank than this one. Run \`storerank migrate\` first.`,
    )
  }
}

/**
 * For whoever goes on working.
 * @throws ConfigurationError when a newer storerank has migrated the database since this one began
 */
export async function refuseNewerSchema({ sql }: Database): Promise<void> {
  if (isNewer(await appliedUpTo(sql))) {
    throw new ConfigurationError(
      'A newer storerank has migrated the database while this one was running, so this one has stopped in order. Update this installation and start it again.',
    )
  }
}

/**
 * Makes the roles of people where they are missing and gives them their rights, also where whoever may has made them
 * since.
 * @returns what hindered it, as a sentence; null when all is well
 */
export async function grantRoles({ begin }: Database): Promise<string | null> {
  return begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtext('storerank'), hashtext('migrate'))`
    const [row] = await tx<{ hindrance: string | null }[]>`select grant_roles() as hindrance`
    return row?.hindrance ?? null
  })
}

/** Migrations of ours that the database lacks. */
async function countMissing(sql: SqlRunner | postgres.Sql): Promise<number> {
  const applied = await appliedUpTo(sql)
  if (isNewer(applied)) {
    throw new ConfigurationError(
      'The database was migrated by a newer storerank than this one. Update this installation; nothing was changed.',
    )
  }
  return KNOWN.filter((stamp) => stamp > applied).length
}

function isNewer(applied: number): boolean {
  return applied > Math.max(...KNOWN)
}

/** The stamp of the newest applied migration; 0 on an empty database. */
async function appliedUpTo(sql: SqlRunner | postgres.Sql): Promise<number> {
  const [table] = await sql`select to_regclass('drizzle.__drizzle_migrations') is not null as there`
  if (!table?.there) return 0
  const [row] =
    await sql`select coalesce(max(created_at), 0)::text as stamp from drizzle.__drizzle_migrations`
  return Number(row?.stamp ?? 0)
}
