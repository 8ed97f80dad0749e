/**
 * What storerank needs of a database, of what stands before it, and of the login: each is told with what to
 * do.
 */
import { ConfigurationError } from '../errors.ts'
import { WRITER_SETTINGS } from './connection.ts'
import type { SqlRunner } from './driver.ts'
import { TABLE_NAMES } from './table-names.ts'
import type { Transaction } from './transaction.ts'

/** `unique … nulls not distinct`; tested on 15 to 18. */
const OLDEST_SERVER = 150_000

export interface DatabaseNature {
  readonly database: string
  readonly version: string
  readonly versionNumber: number
  readonly encoding: string
  /** Null before PostgreSQL 17. */
  readonly transactionTimeout: string | null
  readonly replicationRole: string
}

/** @throws ConfigurationError when storerank cannot work in the database, with what to do */
export async function refuseUnfitDatabase(db: SqlRunner): Promise<void> {
  const [nature] = await db<DatabaseNature[]>`
    select current_database() as database, current_setting('server_version') as version,
      current_setting('server_version_num')::int as "versionNumber",
        current_setting('server_encoding') as encoding,
      current_setting('transaction_timeout', true) as "transactionTimeout",
      current_setting('session_replication_role') as "replicationRole"`
  const obstacle = nature === undefined ? null : findObstacle(nature)
  if (obstacle !== null) throw new ConfigurationError(obstacle)
}

/** The first thing that makes a database unfit, as a sentence; null when it is fit. */
export function findObstacle(nature: DatabaseNature): string | null {
  if (nature.versionNumber < OLDEST_SERVER) {
    return (
      `The database server is PostgreSQL ${nature.version}; storerank needs 15 or later. Set ` +
      'DATABASE_URL to such a server, or unset it to use the embedded one.'
    )
  }
  if (nature.encoding !== 'UTF8') {
    return (
      `The database ${nature.database} is encoded in ${nature.encoding}, which cannot hold every keyword ` +
      `and title. Make another one with \`create database … encoding 'UTF8' template template0\`, and ` +
      'name it in DATABASE_URL.'
    )
  }
  if (!['0', null].includes(nature.transactionTimeout)) {
    return (
      `The login of DATABASE_URL has a transaction_timeout of ${nature.transactionTimeout}, which would ` +
      'cut work off in the middle. Take it away: `alter role … set transaction_timeout = 0`.'
    )
  }
  if (nature.replicationRole !== 'origin') {
    return (
      `The login of DATABASE_URL has the session_replication_role ${nature.replicationRole}, under which ` +
      'no trigger runs. Take it away: `alter role … reset session_replication_role`.'
    )
  }
  return null
}

/**
 * A pooler that gives one session of the server to several clients loses what a session holds: the locks of
 * the jobs, the notifications of the queue, the settings. Two clients that are connected at once have the
 * same process of the server only behind such a pooler.
 * @param db one connection, which began with the settings of `WRITER_SETTINGS`
 * @param another one connection too
 * @throws ConfigurationError with what to change
 */
export async function refusePooler(db: SqlRunner, another: SqlRunner): Promise<void> {
  const pidOf = async (client: SqlRunner) =>
    (await client<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid
  const first = await pidOf(db)
  const second = await pidOf(another)
  if (first === second || first !== (await pidOf(db))) throw new ConfigurationError(SHARED_SESSIONS)
  const lost = await db<{ name: string; value: string }[]>`
    select name, value from unnest(${Object.keys(WRITER_SETTINGS)}::text[],
      ${Object.values(WRITER_SETTINGS)}::text[]) as wanted (name, value)
    where current_setting(name) <> value`
  if (lost.length === 0) return
  const [row] = await db<{ login: string }[]>`
    select format('alter role %I in database %I set', current_user, current_database()) as login`
  const statements = [...lost, { name: 'idle_in_transaction_session_timeout', value: '30s' }].map(
    ({ name, value }) => `${row?.login} ${name} = '${value}';`,
  )
  throw new ConfigurationError(
    'What stands between storerank and the database drops the settings with which our sessions begin. ' +
      'Use a direct address in DATABASE_URL, or give the settings to the login, and let the pooler ' +
      `reconnect:\n${statements.join('\n')}`,
  )
}

const SHARED_SESSIONS =
  'Between storerank and the database stands a pooler that gives one session of the server to several ' +
  'clients (pool_mode = transaction or ' +
  'statement). Locks and notifications of a session would be lost, and with them the promise that ' +
  'nothing is paid for twice. Give ' +
  'DATABASE_URL the address of the database itself, or of a pooler in session mode.'

/** Tables that a person has dropped, or whose triggers are off, as a sentence; null when all are as made. */
export async function describeLostTables(db: SqlRunner): Promise<string | null> {
  const rows = await db<{ name: string; is_gone: boolean }[]>`
    select name, to_regclass(name) is null as is_gone from unnest(${TABLE_NAMES}::text[]) name
    where to_regclass(name) is null or exists (
      select from pg_trigger where tgrelid = to_regclass(name) and tgenabled in ('D', 'R'))`
  if (rows.length === 0) return null
  const gone = rows.filter((row) => row.is_gone).map(({ name }) => name)
  if (gone.length > 0)
    return `Tables of storerank are gone, and come back with a backup alone: ${gone.join(', ')}.`
  const enable = rows.map(({ name }) => `alter table ${name} enable trigger all;`)
  // What was written meanwhile is written again, for them to see.
  const again = rows
    .filter(({ name }) => name.endsWith('_watch'))
    .map(({ name }) => ` update ${name} set project = project;`)
  return (
    'Triggers of storerank are disabled, so that nothing follows from what is written there: no watch is ' +
    `measured, no gap is told. Enable them: ${enable.join(' ')}${again.join('')}`
  )
}

/** Schemas of ours beside `public`: of the migrations, and of the queue. */
export const OWN_SCHEMAS = ['drizzle', 'pgboss']

/**
 * @throws ConfigurationError that names each right which the login lacks, with the statement by which an
 *   administrator gives it
 */
export async function refuseMissingRights(tx: Transaction): Promise<void> {
  const missing = await tx<{ lacks: string; statement: string }[]>`
    select 'to make tables in the schema public' as lacks,
      format('grant usage, create on schema public to %I;', current_user) as statement
    where not (has_schema_privilege('public', 'usage') and has_schema_privilege('public', 'create'))
    union all
    select format('to make the schema %s', name), format('create schema %I authorization %I;', name,
      current_user)
    from unnest(${OWN_SCHEMAS}::text[]) name
    where to_regnamespace(name) is null and not has_database_privilege(current_database(), 'create')
    union all
    select format('to make tables in the schema %s', name),
      format('grant usage, create on schema %I to %I;', name, current_user)
    from unnest(${OWN_SCHEMAS}::text[]) name
    where to_regnamespace(name) is not null
      and not (has_schema_privilege(to_regnamespace(name), 'usage')
        and has_schema_privilege(to_regnamespace(name), 'create'))
    union all
    select 'to make temporary tables', format('grant temporary on database %I to %I;', current_database(),
      current_user)
    where not has_database_privilege(current_database(), 'temporary')`
  if (missing.length === 0) return
  throw new ConfigurationError(
    `The login of DATABASE_URL lacks ${missing.length === 1 ? 'a right' : `${missing.length} rights`}: ` +
      `${missing.map(({ lacks }) => lacks).join('; ')}. An administrator of the database runs:\n` +
      missing.map(({ statement }) => statement).join('\n'),
  )
}
