/**
 * Brings a database to this version's schema, once, however many processes try at the same moment, and wholly or not at
 * all: first the tables by the migrations of drizzle/, then the objects of drizzle/objects when they differ from those of the
 * database. Refuses a server that is too old, and a schema that is newer than this version.
 */
import { fileURLToPath } from 'node:url'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import postgres from 'postgres'
import packageJson from '../../package.json' with { type: 'json' }
import { ConfigurationError } from '../errors.ts'
import { type Database, int8, type SqlRunner } from './database.ts'
import { applyObjects, dropObjectsForMigration, readObjects } from './objects.ts'
import * as roles from './roles.ts'
import { createBegin, type Transaction } from './transaction.ts'

const FOLDER = fileURLToPath(new URL('../../drizzle', import.meta.url))
/** What this version knows. Read once: an update may replace the files under a process that goes on. */
const MIGRATIONS = readMigrationFiles({ migrationsFolder: FOLDER })
const OBJECTS = readObjects(fileURLToPath(new URL('../../drizzle/objects', import.meta.url)))
/** `unique … nulls not distinct` and `begin atomic` functions; tested on 15 to 18. */
const OLDEST_SERVER = 150_000
/** A process that waits for the migration of another waits as long as it takes. Not 0, which the driver leaves out. */
const NO_LIMIT_MS = 2_147_483_647

/** What a database says of its schema. */
interface Applied {
  /** The tables: one row per migration. */
  readonly migrations: readonly { readonly hash: string; readonly stamp: number }[]
  /** The objects, and the version of storerank that applied them; null before the first time. */
  readonly objects: { readonly version: string; readonly hash: string; readonly identities: string[] } | null
}

/**
 * Applies what the database lacks of drizzle/.
 * @returns whether it lacked anything
 * @throws ConfigurationError when the server is older than PostgreSQL 15, when the schema is newer than this storerank or was
 * never released, and when an object of a person is in the way
 */
export async function migrate(url: string): Promise<boolean> {
  const client = postgres(url, {
    max: 1,
    onnotice: () => {},
    types: { int8 },
    connection: {
      application_name: 'storerank migrate',
      search_path: 'public',
      statement_timeout: NO_LIMIT_MS,
      lock_timeout: NO_LIMIT_MS,
    },
  })
  try {
    await refuseOldServer(client)
    return await createBegin(client)(bringUpToDate)
  } finally {
    await client.end({ timeout: 5 })
  }
}

async function bringUpToDate(tx: Transaction): Promise<boolean> {
  await tx`select pg_advisory_xact_lock(hashtext('storerank'), hashtext('migrate'))`
  const applied = await readApplied(tx)
  refuseOtherSchemas(applied)
  if (isCurrent(applied)) return false
  const recorded = applied.objects?.identities ?? []
  const missing = listMissing(applied)
  if (missing.length > 0) {
    await dropObjectsForMigration(tx, recorded)
    await applyMigrations(tx, missing)
  }
  const identities = await applyObjects(tx, OBJECTS, recorded)
  await tx`delete from drizzle.objects`
  await tx`insert into drizzle.objects (version, hash, identities)
    values (${packageJson.version}, ${OBJECTS.hash}, ${identities})`
  await roles.grantRoles(tx, OBJECTS.grants)
  return true
}

/** As Drizzle's own migrator does, but in the transaction that applies the objects as well. */
async function applyMigrations(tx: Transaction, migrations: readonly MigrationMeta[]): Promise<void> {
  await tx`create schema if not exists drizzle`
  await tx`create table if not exists drizzle.__drizzle_migrations
    (id serial primary key, hash text not null, created_at bigint)`
  await tx`create table if not exists drizzle.objects
    (version text not null, hash text not null, identities text[] not null, applied_at timestamptz not null default clock_timestamp())`
  for (const { sql, hash, folderMillis } of migrations) {
    for (const statement of sql) await tx.unsafe(statement)
    await tx`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${folderMillis})`
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
 * For a command that only reads.
 * @throws ConfigurationError when the schema is older or newer than this storerank.
 */
export async function requireCurrentSchema({ sql }: Database): Promise<void> {
  const applied = await readApplied(sql)
  refuseOtherSchemas(applied)
  if (!isCurrent(applied)) {
    throw new ConfigurationError(
      `The database was made by an older storerank than this one. Run \`storerank migrate\` first.`,
    )
  }
}

/**
 * For a process that goes on working.
 * @throws ConfigurationError when a newer storerank has migrated the database since this one began
 */
export async function refuseNewerSchema({ sql }: Database): Promise<void> {
  if (isNewer(await readApplied(sql))) {
    throw new ConfigurationError(
      'A newer storerank has migrated the database while this one was running, so this one has stopped in order. Update this installation and start it again.',
    )
  }
}

/**
 * Makes the roles of people where they are missing and gives them their rights, also when they were made by hand since the
 * migration.
 * @returns what hindered it, as a sentence; null when all is well
 */
export async function grantRoles({ begin }: Database): Promise<string | null> {
  return begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtext('storerank'), hashtext('migrate'))`
    return roles.grantRoles(tx, OBJECTS.grants)
  })
}

/** @throws ConfigurationError when this version must not touch the schema */
function refuseOtherSchemas(applied: Applied): void {
  const hashes = new Set(applied.migrations.map(({ hash }) => hash))
  const newest = Math.max(0, ...applied.migrations.map(({ stamp }) => stamp))
  if (MIGRATIONS.some(({ hash, folderMillis }) => folderMillis <= newest && !hashes.has(hash))) {
    throw new ConfigurationError(
      'The tables of this database were made by a state of storerank that was never released, and cannot be brought up to date: keep what you want of it (the watchlists are in keyword_watch, app_watch and chart_watch), make an empty database (the embedded one is the folder postgres in the home of storerank), and run `storerank migrate`. Nothing was changed.',
    )
  }
  if (isNewer(applied)) {
    throw new ConfigurationError(
      'The database was migrated by a newer storerank than this one. Update this installation; nothing was changed.',
    )
  }
}

function isCurrent(applied: Applied): boolean {
  return listMissing(applied).length === 0 && applied.objects?.hash === OBJECTS.hash
}

function listMissing({ migrations }: Applied): MigrationMeta[] {
  const stamps = new Set(migrations.map(({ stamp }) => stamp))
  return MIGRATIONS.filter(({ folderMillis }) => !stamps.has(folderMillis))
}

/** Other objects of this very version are those of another state of it, and are replaced. */
function isNewer({ migrations, objects }: Applied): boolean {
  const newest = Math.max(...MIGRATIONS.map(({ folderMillis }) => folderMillis))
  return (
    migrations.some(({ stamp }) => stamp > newest) ||
    (objects !== null && objects.hash !== OBJECTS.hash && isLater(objects.version, packageJson.version))
  )
}

/** Versions are numbers between dots. */
function isLater(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) > 0
}

async function readApplied(sql: SqlRunner): Promise<Applied> {
  const [table] = await sql`select to_regclass('drizzle.__drizzle_migrations') is not null as there,
    to_regclass('drizzle.objects') is not null as has_objects`
  if (!table?.there) return { migrations: [], objects: null }
  const migrations = await sql<{ hash: string; stamp: number }[]>`
    select hash, created_at as stamp from drizzle.__drizzle_migrations`
  if (!table.has_objects) return { migrations, objects: null }
  const [objects = null] = await sql<{ version: string; hash: string; identities: string[] }[]>`
    select version, hash, identities from drizzle.objects`
  return { migrations, objects }
}
