/**
 * Migrates a database to this version's schema in one transaction, once, however many processes try at the
 * same moment: first the tables by the migrations of drizzle/, then the objects of drizzle/objects when they
 * differ from those of the database. Refuses a server that is too old, and a schema that is newer than this
 * version.
 */
import { fileURLToPath } from 'node:url'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import packageJson from '../../package.json' with { type: 'json' }
import { parseDatabaseUrl } from '../database-url.ts'
import { ConfigurationError } from '../errors.ts'
import { type Database, openDatabase, type SqlRunner } from './database.ts'
import {
  distributeRanking,
  dropLocalCopy,
  dropQueries,
  fillReferenceTables,
  isDistributed,
  keepConnections,
  keepOnCoordinator,
  makeReadingTables,
  openLoop,
  requireCluster,
  tryLoop,
} from './distributed/distribute.ts'
import { readObjects } from './object-files.ts'
import { applyObjects, dropObjectsForMigration, findObjects, type Identity } from './objects.ts'
import { OWN_SCHEMAS, refuseMissingRights, refusePooler, refuseUnfitDatabase } from './requirements.ts'
import * as roles from './roles.ts'
import { sql } from './sql.ts'
import type { Transaction } from './transaction.ts'

export type Schema = ReturnType<typeof readSchema>

/** Read once: an update may replace the files under a process that goes on. */
const PRESENT = readSchema(fileURLToPath(new URL('../../drizzle', import.meta.url)), packageJson.version)
/** Another object depends on the column or table that was to be changed. */
const IN_USE = ['2BP01', '0A000']
/** A migration waits so long for another one, or for a transaction that reads what it changes. */
const LOCKING = { name: 'The migration', lockTimeoutMs: 600_000 }
const NO_LIMIT_MS = 2_147_483_647

/**
 * A schema as the files of one version describe it.
 * @param folder drizzle/ of that version
 */
export function readSchema(folder: string, version: string) {
  return {
    version,
    migrations: readMigrationFiles({ migrationsFolder: folder }),
    objects: readObjects(folder),
  }
}

/**
 * This version and its schema: how many migrations its tables take, and the hash of its views and functions.
 */
export function describeSchema(of: Schema = PRESENT): string {
  const { version, schema } = nameSchema(of)
  const [migrations, objects] = schema.split('-')
  return `${version} (schema: ${migrations} migrations, objects ${objects})`
}

export function nameSchema({ version, migrations, objects }: Schema = PRESENT) {
  return { version, schema: `${migrations.length}-${objects.hash.slice(0, 12)}` }
}

interface Applied {
  /** Whether the tables are there without a word of who made them. */
  readonly isUnsigned: boolean
  readonly migrations: readonly { readonly hash: string; readonly stamp: number }[]
  /** The objects, and the version of storerank that applied them; null before the first time. */
  readonly objects: { readonly version: string; readonly hash: string; readonly identities: string[] } | null
}

/**
 * Applies what the database lacks of drizzle/.
 * @param schema of another version, in tests of upgrades
 * @returns whether it lacked anything
 * @throws ConfigurationError when storerank cannot work in this database, when the schema is newer than this
 *   storerank or was never released, and when an object of a person is in the way
 */
export async function migrate(url: string, schema: Schema = PRESENT): Promise<boolean> {
  const db = openMigration(url)
  const another = db.openSession(LOCKING.lockTimeoutMs)
  try {
    await refuseUnfitDatabase(db.sql)
    await refusePooler(db.sql, another)
    // Without the lock first, so that who holds it keeps nobody out of a database that is up to date.
    if (await db.begin(async (tx) => isWhole(tx, await readKnown(tx, schema), schema))) return false
    return await db.begin((tx) => bringUpToDate(tx, schema), { ...LOCKING, limitMs: NO_LIMIT_MS })
  } finally {
    await Promise.all([another.end(), db.close()])
  }
}

/** What it means that this version migrates a database, as a sentence; null where it is new or up to date. */
export async function describeUpgrade({ sql: db }: Database): Promise<string | null> {
  const applied = await readApplied(db)
  if (applied.objects === null || isCurrent(applied, PRESENT) || isNewer(applied, PRESENT)) return null
  const { version: before, hash } = applied.objects
  const [from, to] = before === PRESENT.version ? [hash, PRESENT.objects.hash].map(shortHash) : ['', '']
  return (
    `The database is migrated from storerank ${before}${from} to ${PRESENT.version}${to}. Runners of the ` +
    'old version notice it within a minute, finish what they have, and exit with 2; only a backup leads ' +
    'back. To choose the time, run `storerank migrate` before the new version starts.'
  )
}

function shortHash(hash: string): string {
  return ` (objects ${hash.slice(0, 12)})`
}

function openMigration(url: string): Database {
  return openDatabase(url, { name: 'storerank migrate', maxConnections: 1 })
}

async function bringUpToDate(tx: Transaction, schema: Schema): Promise<boolean> {
  await waitForMigrations(tx)
  const applied = await readKnown(tx, schema)
  if (await isWhole(tx, applied, schema)) return false
  await refuseMissingRights(tx)
  await makeOwnSchemas(tx)
  const recorded = applied.objects?.identities ?? []
  const grants = await roles.readGrants(tx)
  const isElsewhere = await isDistributed(tx)
  if (isElsewhere) await dropQueries(tx)
  await migrateTables(tx, listMissing(applied, schema), recorded)
  if (isElsewhere) await makeReadingTables(tx)
  await replaceObjects(tx, schema, recorded, isElsewhere)
  if (isElsewhere) await fillReferenceTables(tx)
  await roles.restoreGrants(tx, grants)
  return true
}

async function replaceObjects(
  tx: Transaction,
  { version, objects }: Schema,
  recorded: readonly Identity[],
  isElsewhere: boolean,
): Promise<void> {
  if (isElsewhere) await keepOnCoordinator(tx)
  const identities = await applyObjects(tx, objects, recorded, isElsewhere)
  await tx`delete from drizzle.objects`
  await tx`insert into drizzle.objects (version, hash, identities)
    values (${version}, ${objects.hash}, ${identities})`
  await roles.grantRoles(tx, objects.grants)
}

/**
 * Distributes the history of a database that is at this schema over the workers of Citus; later migrations
 * keep it so. May be called again, also when the password of the login is another.
 * @throws ConfigurationError when there is no such cluster, or the login may not; then nothing was
 *   distributed
 */
export async function distribute(url: string): Promise<void> {
  const db = openMigration(url)
  try {
    const coordinator = await requireCluster(db.sql)
    const { password } = parseDatabaseUrl(url)
    await db.begin((tx) => openLoop(tx, coordinator, password), LOCKING)
    await tryLoop(db.sql, coordinator)
    await db.begin(
      async (tx) => {
        await waitForMigrations(tx)
        const { objects } = await readKnown(tx, PRESENT)
        await makeReadingTables(tx)
        // Before, because Citus distributes no table on which views depend that depend on functions that
        // depend on views.
        await replaceObjects(tx, PRESENT, objects?.identities ?? [], true)
        await distributeRanking(tx)
        await fillReferenceTables(tx)
        await keepConnections(tx)
      },
      { ...LOCKING, limitMs: NO_LIMIT_MS },
    )
    await dropLocalCopy(db.sql)
  } finally {
    await db.close()
  }
}

async function migrateTables(
  tx: Transaction,
  missing: readonly MigrationMeta[],
  recorded: readonly Identity[],
): Promise<void> {
  if (missing.length === 0) return
  const foreign = await dropObjectsForMigration(tx, recorded)
  try {
    await applyMigrations(tx, missing)
  } catch (error) {
    const { code = '', message, detail } = error as { code?: string; message: string; detail?: string }
    if (!IN_USE.includes(code)) throw error
    const reasons = [message, detail, ...foreign.map((object) => `${object} uses it`)]
    throw new ConfigurationError(
      `A table could not be changed: ${reasons.filter(Boolean).join('; ')}. Drop what is yours of these, ` +
        'run `storerank migrate`, and make it again; nothing was changed.',
      { cause: error },
    )
  }
}

/**
 * Not `if not exists`: that needs the right to make schemas even where they are there. The queue makes its
 * tables when it starts.
 */
async function makeOwnSchemas(tx: Transaction): Promise<void> {
  for (const { name } of await listMissingSchemas(tx)) await tx`create schema ${sql.identifier(name)}`
}

function listMissingSchemas(tx: Transaction): Promise<{ name: string }[]> {
  return tx<{ name: string }[]>`
    select name from unnest(${OWN_SCHEMAS}::text[]) name where to_regnamespace(name) is null`
}

/** As Drizzle's own migrator does, but in the transaction that applies the objects as well. */
async function applyMigrations(tx: Transaction, migrations: readonly MigrationMeta[]): Promise<void> {
  await tx`create table if not exists drizzle.__drizzle_migrations
    (id serial primary key, hash text not null, created_at bigint)`
  await tx`create table if not exists drizzle.objects
    (version text not null, hash text not null, identities text[] not null,
      applied_at timestamptz not null default clock_timestamp())`
  // It has no key, and a publication of all tables would refuse to delete from it.
  await tx`alter table drizzle.objects replica identity full`
  for (const { sql, hash, folderMillis } of migrations) {
    for (const statement of sql) await tx.unsafe(statement)
    await tx`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${folderMillis})`
  }
}

/**
 * For a command that only reads. A login that may not see what was applied, such as one of storerank_reader,
 * goes on: the views that it reads outlast an update.
 * @throws ConfigurationError when the schema is older or newer than this storerank.
 */
export async function requireCurrentSchema({ sql: db }: Database): Promise<void> {
  const [login] = await db<{ maySee: boolean }[]>`
    select coalesce(has_schema_privilege(to_regnamespace('drizzle')::oid, 'usage'), true) as "maySee"`
  if (!login?.maySee) return
  const applied = await readKnown(db, PRESENT)
  if (!isCurrent(applied, PRESENT)) {
    throw new ConfigurationError(
      'The database was made by an older storerank than this one. Run `storerank migrate` first.',
    )
  }
}

/** Whether this storerank may bring the tables up to date. */
export async function knowsSchema({ sql: db }: Database): Promise<boolean> {
  return findForeign(await readApplied(db), PRESENT) === null
}

/**
 * For a process that goes on working.
 * @throws ConfigurationError when a newer storerank has migrated the database since this one began
 */
export async function refuseNewerSchema({ sql: db }: Database): Promise<void> {
  if (isNewer(await readApplied(db), PRESENT)) {
    throw new ConfigurationError(
      'A newer storerank has migrated the database while this one was running, so this one has stopped ' +
        'in order. Update this installation and start it again.',
    )
  }
}

/**
 * Makes the roles of people where they are missing and gives them their rights, also when they were made by
 * hand since the migration.
 * @returns what hindered it, and who else may write, as sentences; null where all is well
 */
export async function grantRoles({ begin }: Database): Promise<readonly (string | null)[]> {
  return begin(async (tx) => {
    await waitForMigrations(tx)
    return [await roles.grantRoles(tx, PRESENT.objects.grants), await roles.describeOtherWriters(tx)]
  }, LOCKING)
}

/** One migration at a time. An advisory lock, because there may be no table yet whose row could be locked. */
async function waitForMigrations(tx: Transaction): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtext('storerank'), hashtext('migrate'))`
}

const UNSIGNED =
  'The tables of storerank are in this database, and the schema drizzle, which says how they were made, is ' +
  'gone: it was dropped, or a backup had the schema public alone. Restore it from a backup of the whole ' +
  'database (pg_restore --schema=drizzle), or from an empty database in which the same version of ' +
  'storerank ran `storerank migrate`: pg_dump --schema=drizzle EMPTY | psql THIS. Nothing was changed.'

const UNRELEASED =
  'The tables of this database were made by a state of storerank that was never released, and ' +
  'cannot be brought up to date: keep what you want of it (export, dump and sql read an embedded one ' +
  'as it is, `storerank export watches` the watchlists), make an empty database (the embedded one is ' +
  'the folder postgres in the home of storerank), and run `storerank migrate`. Nothing was changed.'
const NEWER =
  'The database was migrated by a newer storerank than this one. Update this installation; nothing ' +
  'was changed.'

/** @throws ConfigurationError when this version must not touch the schema */
async function readKnown(tx: SqlRunner, schema: Schema): Promise<Applied> {
  const applied = await readApplied(tx)
  const foreign = findForeign(applied, schema)
  if (foreign !== null) throw new ConfigurationError(foreign)
  return applied
}

/** Why this version must not touch the schema; null where it may. */
function findForeign(applied: Applied, schema: Schema): string | null {
  if (applied.isUnsigned) return UNSIGNED
  const hashes = new Set(applied.migrations.map(({ hash }) => hash))
  const newest = Math.max(0, ...applied.migrations.map(({ stamp }) => stamp))
  const isUnknown = schema.migrations.some(
    ({ hash, folderMillis }) => folderMillis <= newest && !hashes.has(hash),
  )
  if (isUnknown) return UNRELEASED
  return isNewer(applied, schema) ? NEWER : null
}

/** Current, and nobody has dropped a view, a function, a trigger or the schema of the queue since. */
async function isWhole(tx: Transaction, applied: Applied, schema: Schema): Promise<boolean> {
  const found = await findObjects(tx)
  if (applied.migrations.length > 0) refuseLostFunctions(found, schema)
  if (!isCurrent(applied, schema)) return false
  const missing = await listMissingSchemas(tx)
  if (missing.length > 0) return false
  const present = new Set(found.map(({ identity }) => identity))
  return applied.objects?.identities.every((identity) => present.has(identity)) ?? false
}

/**
 * Those that tables use: Postgres drops them with the defaults, rules and indexes alone that call them.
 * @throws ConfigurationError when one is gone
 */
function refuseLostFunctions(found: readonly { readonly key: string }[], { migrations }: Schema): void {
  const made = migrations[0]?.sql.join('').matchAll(/^create function (\w+)/gm) ?? []
  const lost = Array.from(made, ([, name]) => name).find(
    (name) => !found.some(({ key }) => key === `function ${name}`),
  )
  if (lost === undefined) return
  throw new ConfigurationError(
    `The function ${lost} of storerank is gone, and with it what tables used it for: defaults, rules or ` +
      'indexes. They cannot be made again one by one. Restore the database from a backup, or make an empty ' +
      'one and put the data of this one in: `storerank dump` and `storerank restore` do so for the ' +
      'embedded one, pg_dump --data-only for another. Nothing was changed.',
  )
}

function isCurrent(applied: Applied, schema: Schema): boolean {
  return listMissing(applied, schema).length === 0 && applied.objects?.hash === schema.objects.hash
}

function listMissing(applied: Applied, { migrations }: Schema): MigrationMeta[] {
  const stamps = new Set(applied.migrations.map(({ stamp }) => stamp))
  return migrations.filter(({ folderMillis }) => !stamps.has(folderMillis))
}

/** Objects of this same version with another hash were applied by another commit of it, and are replaced. */
function isNewer(applied: Applied, { version, migrations, objects }: Schema): boolean {
  const newest = Math.max(...migrations.map(({ folderMillis }) => folderMillis))
  const other = applied.objects?.hash === objects.hash ? null : applied.objects
  return (
    applied.migrations.some(({ stamp }) => stamp > newest) ||
    (other !== null && isLater(other.version, version))
  )
}

/** Versions are numbers between dots. */
function isLater(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) > 0
}

async function readApplied(db: SqlRunner): Promise<Applied> {
  // From the catalog: to_regclass remembers what it did not find, and a wait for an advisory lock does not
  // remind it.
  const tables = await db<{ name: string }[]>`
    select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'drizzle' or n.nspname = 'public' and c.relname = 'call_window'`
  const has = (table: string) => tables.some(({ name }) => name === table)
  const isUnsigned = has('call_window') && !has('objects')
  if (!has('__drizzle_migrations')) return { migrations: [], objects: null, isUnsigned }
  const migrations = await db<{ hash: string; stamp: number }[]>`
    select hash, created_at as stamp from drizzle.__drizzle_migrations`
  if (!has('objects')) return { migrations, objects: null, isUnsigned }
  const [objects = null] = await db<{ version: string; hash: string; identities: string[] }[]>`
    select version, hash, identities from drizzle.objects`
  return { migrations, objects, isUnsigned }
}
