/**
 * Brings a database to this version's schema, once, however many processes try at the same moment. Refuses a server
 * that is too old, and a schema that is newer than this version.
 */
import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator'
import postgres from 'postgres'
import { ConfigurationError } from '../errors.ts'

const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../drizzle', import.meta.url))
/** `unique … nulls not distinct` and `begin atomic` functions; tested on 15 to 18. */
const OLDEST_SERVER = 150_000

/**
 * Applies what is missing of drizzle/ and returns how many migrations that were.
 * @throws ConfigurationError when the server is older than PostgreSQL 15, or the schema newer than this storerank.
 */
export async function migrate(url: string): Promise<number> {
  const client = postgres(url, {
    max: 1,
    onnotice: () => {},
    connection: { application_name: 'storerank migrate' },
  })
  try {
    await refuseOldServer(client)
    // Held by the session: the migrator opens transactions of its own.
    await client`select pg_advisory_lock(hashtext('storerank'), hashtext('migrate'))`
    const before = await appliedUpTo(client)
    const migrations = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER })
    refuseNewerSchema(before, migrations.at(-1)?.folderMillis ?? 0)
    await applyMigrations(drizzle(client), { migrationsFolder: MIGRATIONS_FOLDER })
    return migrations.filter((migration) => migration.folderMillis > before).length
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

function refuseNewerSchema(applied: number, known: number): void {
  if (applied > known) {
    throw new ConfigurationError(
      'The database was migrated by a newer storerank than this one. Update this installation; nothing was changed.',
    )
  }
}

/** The stamp of the newest applied migration; 0 on an empty database. */
async function appliedUpTo(client: postgres.Sql): Promise<number> {
  const [table] = await client`select to_regclass('drizzle.__drizzle_migrations') is not null as there`
  if (!table?.there) return 0
  const [row] =
    await client`select coalesce(max(created_at), 0)::text as stamp from drizzle.__drizzle_migrations`
  return Number(row?.stamp ?? 0)
}
