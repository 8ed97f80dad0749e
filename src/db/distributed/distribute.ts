/**
 * The history on Citus: `ranking` is distributed by target, all other tables stay on the coordinator. What
 * asks the history asks foreign tables of postgres_fdw: a session of the coordinator with itself. So any
 * statement may ask it, where Citus takes few shapes of statements that join distributed tables with others.
 * What Citus joins itself are reference tables. drizzle/distributed says the rest.
 */
import { readFileSync } from 'node:fs'
import { ConfigurationError } from '../../errors.ts'
import type { SqlRunner } from '../database.ts'
import type { Transaction } from '../transaction.ts'

const SERVER = 'storerank_history'
const FOLDER = new URL('../../../drizzle/distributed/', import.meta.url)
/** Foreign tables, and what each asks. */
const HISTORY = ['distributed_ranking', 'ranking'] as const
const QUERIES = [
  ['distributed_slot', 'distributed_slot_query'],
  ['distributed_rank', 'distributed_rank_query'],
] as const
const REFERENCE_TABLES = ['distributed_project', 'distributed_list', 'distributed_app']
const NOT_ALLOWED = '42501'

/** Whether `distribute` was called on this database. */
export async function isDistributed(db: SqlRunner): Promise<boolean> {
  const [row] = await db<{ found: boolean }[]>`
    select to_regclass('public.distributed_ranking') is not null as found`
  return (row?.found ?? false) && (await isRankingDistributed(db))
}

async function isRankingDistributed(db: SqlRunner): Promise<boolean> {
  if (!(await hasCitus(db))) return false
  const [row] = await db<{ found: boolean }[]>`
    select exists (select from pg_dist_partition where logicalrelid = to_regclass('public.ranking')) as found`
  return row?.found ?? false
}

async function hasCitus(db: SqlRunner): Promise<boolean> {
  const [row] = await db<{ found: boolean }[]>`
    select exists (select from pg_extension where extname = 'citus') as found`
  return row?.found ?? false
}

/** Whether what is made in this transaction is made on the workers too. */
async function setPropagation(tx: Transaction, propagates: 'on' | 'off'): Promise<void> {
  await tx`select set_config('citus.enable_ddl_propagation', ${propagates}, true)`
}

/** Objects are the coordinator's alone: no worker plans a statement of ours. */
export async function keepOnCoordinator(tx: Transaction): Promise<void> {
  await setPropagation(tx, 'off')
}

/** Where the nodes of Citus find the coordinator. */
interface Coordinator {
  readonly host: string
  readonly port: number
}

/** @throws ConfigurationError when Citus is missing, or has no coordinator or no worker, with what to do */
export async function requireCluster(db: SqlRunner): Promise<Coordinator> {
  if (!(await hasCitus(db))) {
    const [row] = await db<{ database: string }[]>`select current_database() as database`
    throw new ConfigurationError(
      `The database ${row?.database} has no extension citus, so that its history cannot be ` +
        `distributed. On a server that has Citus (shared_preload_libraries = 'citus') a superuser runs ` +
        '`create extension citus` in it and in a database of that name on each worker, then `select ' +
        'citus_set_coordinator_host(…)` and `select citus_add_node(…)` here. Nothing was changed.',
    )
  }
  const nodes = await db<(Coordinator & { isCoordinator: boolean })[]>`
    select nodename as host, nodeport as port, groupid = 0 as "isCoordinator" from pg_dist_node where isactive
      and noderole = 'primary'`
  const coordinator = nodes.find(({ isCoordinator }) => isCoordinator)
  if (coordinator === undefined) {
    throw new ConfigurationError(
      `Citus does not know where its coordinator is: run \`select citus_set_coordinator_host('an ` +
        `address that reaches this server', its port)\` first. Nothing was changed.`,
    )
  }
  if (!nodes.some(({ isCoordinator }) => !isCoordinator)) {
    throw new ConfigurationError(
      `Citus has no worker: run \`select citus_add_node('host', port)\` for each first. Nothing was changed.`,
    )
  }
  return coordinator
}

/**
 * Makes or renews the foreign table through which the history is asked. The user mapping keeps the password.
 * @param password of the login, empty when it needs none
 * @throws ConfigurationError when the login may not
 */
export async function openLoop(
  tx: Transaction,
  { host, port }: Coordinator,
  password: string,
): Promise<void> {
  await keepOnCoordinator(tx)
  try {
    await tx`create extension if not exists postgres_fdw`
    await tx.unsafe(`create server if not exists ${SERVER} foreign data wrapper postgres_fdw`)
    await setServerOptions(tx, {
      host,
      port: String(port),
      dbname: await nameOf(tx, 'current_database()'),
      fetch_size: '10000',
      application_name: 'storerank history',
    })
    const user = await nameOf(tx, 'current_user')
    const login = Object.entries(password === '' ? { user } : { user, password }).map(toOption)
    await tx.unsafe(`
      drop user mapping if exists for current_user server ${SERVER};
      create user mapping for current_user server ${SERVER} options (${login.join(', ')})`)
    await makeForeignTable(tx, HISTORY)
  } catch (error) {
    if ((error as { code?: string }).code !== NOT_ALLOWED) throw error
    throw new ConfigurationError(
      'The login of DATABASE_URL may not make what a distributed history needs: ' +
        `${(error as Error).message}. A superuser runs \`create extension postgres_fdw; grant usage on ` +
        `foreign data wrapper postgres_fdw to ${await nameOf(tx, 'quote_ident(current_user)')}\`. ` +
        'Nothing was changed.',
      { cause: error },
    )
  }
}

async function nameOf(tx: Transaction, expression: string): Promise<string> {
  const [row] = await tx.unsafe<{ name: string }[]>(`select ${expression}::text as name`)
  return row?.name ?? ''
}

const toOption = ([name, value]: readonly [string, string]) => `${name} '${value.replaceAll("'", "''")}'`

/** `alter … options` needs to know which options are there. */
async function setServerOptions(tx: Transaction, options: Readonly<Record<string, string>>): Promise<void> {
  const [row] = await tx<{ given: string[] | null }[]>`
    select srvoptions as given from pg_foreign_server where srvname = ${SERVER}`
  const given = new Set((row?.given ?? []).map((option) => option.split('=')[0]))
  const wanted = Object.entries(options).map(
    (option) => `${given.has(option[0]) ? 'set' : 'add'} ${toOption(option)}`,
  )
  await tx.unsafe(`alter server ${SERVER} options (${wanted.join(', ')})`)
}

/** With the columns of what it asks, also those that a migration has added. */
async function makeForeignTable(tx: Transaction, [name, asked]: readonly [string, string]): Promise<void> {
  const [table] = await tx<{ found: boolean }[]>`select to_regclass(${`public.${name}`}) is not null as found`
  if (!table?.found) {
    await tx.unsafe(
      `create foreign table ${name} () server ${SERVER} options (table_name '${asked}', updatable 'false')`,
    )
  }
  const missing = await tx<{ name: string; type: string }[]>`
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type from pg_attribute a
    where a.attrelid = ${`public.${asked}`}::regclass and a.attnum > 0 and not a.attisdropped and not exists (
      select from pg_attribute f
      where f.attrelid = ${`public.${name}`}::regclass and f.attname = a.attname and not f.attisdropped)
    order by a.attnum`
  for (const column of missing) {
    await tx.unsafe(`alter foreign table ${name} add column "${column.name}" ${column.type}`)
  }
}

/** Makes or renews what objects of a distributed history ask: reference tables, and foreign tables. */
export async function makeReadingTables(tx: Transaction): Promise<void> {
  await keepOnCoordinator(tx)
  await tx.unsafe(readFileSync(new URL('tables.sql', FOLDER), 'utf8'))
  const local = await tx<{ name: string }[]>`
    select name from unnest(${REFERENCE_TABLES}::text[]) name
    where not exists (select from pg_dist_partition where logicalrelid = to_regclass('public.' || name))`
  await setPropagation(tx, 'on')
  for (const { name } of local) await tx`select create_reference_table(${name}::regclass)`
  await keepOnCoordinator(tx)
  await makeQueries(tx)
  await makeForeignTable(tx, HISTORY)
  for (const query of QUERIES) await makeForeignTable(tx, query)
}

async function makeQueries(tx: Transaction): Promise<void> {
  await tx.unsafe(readFileSync(new URL('queries.sql', FOLDER), 'utf8'))
}

/** Of `ranking`, which cannot be changed or distributed while views depend on it. */
export async function dropQueries(tx: Transaction): Promise<void> {
  await keepOnCoordinator(tx)
  for (const [, query] of QUERIES) await tx.unsafe(`drop view if exists ${query}`)
}

/**
 * Writes what the reference tables do not have yet. The triggers that keep them are there: no watch is
 * written meanwhile.
 */
export async function fillReferenceTables(tx: Transaction): Promise<void> {
  await tx`
    insert into distributed_project (id, name) select id, name from project
    on conflict (id) do update set name = excluded.name where distributed_project.name <> excluded.name`
  await tx`select keep_distributed_lists(null)`
}

/** @throws ConfigurationError when the coordinator cannot reach itself */
export async function tryLoop(db: SqlRunner, { host, port }: Coordinator): Promise<void> {
  try {
    await db`select from distributed_ranking limit 1`
  } catch (error) {
    throw new ConfigurationError(
      `The coordinator cannot log in to itself at ${host}:${port}, where the other nodes find it: ` +
        `${(error as Error).message}. Give its pg_hba.conf a line for that, and a login that is no ` +
        'superuser a password in DATABASE_URL. The history was not distributed.',
      { cause: error },
    )
  }
}

/** For the shards of a worker that one batch of results is written to. */
const KEPT_CONNECTIONS = 4

/**
 * Citus keeps one connection to each worker and opens the others anew for each transaction, which takes as
 * long as storing a batch. Only the owner of the database may set it, and what somebody has set stays.
 */
export async function keepConnections(tx: Transaction): Promise<void> {
  await keepOnCoordinator(tx)
  await tx.unsafe(`
    do $$ begin
      if exists (select from pg_settings where name = 'citus.max_cached_conns_per_worker'
        and source = 'default')
        and (select pg_has_role(d.datdba, 'member') from pg_database d where d.datname = current_database())
          then
        execute format('alter database %I set citus.max_cached_conns_per_worker = ${KEPT_CONNECTIONS}',
          current_database());
      end if;
    end $$`)
}

/** Moves the rows of `ranking` to the workers. Writers and readers wait until it has ended. */
export async function distributeRanking(tx: Transaction): Promise<void> {
  if (await isRankingDistributed(tx)) return
  await dropQueries(tx)
  await setPropagation(tx, 'on')
  await tx`select create_distributed_table('public.ranking', 'target_id')`
  await keepOnCoordinator(tx)
  await makeQueries(tx)
}

/** The rows that were copied to the workers, and are still on the coordinator's disk. */
export async function dropLocalCopy(db: SqlRunner): Promise<void> {
  await db`select truncate_local_data_after_distributing_table('public.ranking')`
}
