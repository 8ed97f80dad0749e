/** Old months of the history on a tablespace of their own, such as a larger and slower disk. */
import type { Database } from '../db/database.ts'
import { isDistributed } from '../db/distributed/distribute.ts'
import { sql } from '../db/sql.ts'
import { ConfigurationError, UnavailableError } from '../errors.ts'

/** So long after its end only questions and pruning read a month: audits look back 32 days at most. */
const OLD_AFTER_DAYS = 92
/** What reads the month at this moment goes first; then the next night moves it. */
const LOCK_TIMEOUT_MS = 2_000
/** The job gives up by its own timeout before that. */
const LIMIT_MS = 3_600_000

interface Relation {
  readonly name: string
  readonly kind: 'table' | 'index'
}

/**
 * Moves the months that ended 92 days ago with their indexes, each in a transaction of its own. What asks
 * about one meanwhile waits.
 * @param tablespace null: nothing is moved
 * @returns how many tables and indexes were moved, and how many left, because they were in use
 * @throws ConfigurationError when there is none, or the login may not use it
 */
export async function moveOldMonths(db: Database, tablespace: string | null, signal?: AbortSignal) {
  const months = { moved: 0, left: 0 }
  if (tablespace === null) return months
  await requireTablespace(db, tablespace)
  for (const relation of await listOldRelations(db, tablespace)) {
    signal?.throwIfAborted()
    months[(await moveRelation(db, relation, tablespace)) ? 'moved' : 'left'] += 1
  }
  return months
}

async function requireTablespace(db: Database, tablespace: string): Promise<void> {
  const [row] = await db.sql<{ login: string; mayUse: boolean | null }[]>`
    select quote_ident(current_user) as login,
      (select has_tablespace_privilege(oid, 'create') from pg_tablespace
        where spcname = ${tablespace}) as "mayUse"`
  if (row?.mayUse) return
  const problem =
    row?.mayUse === false
      ? `the login may not use: grant create on tablespace "${tablespace}" to ${row.login}`
      : `there is not: create tablespace "${tablespace}" owner ${row?.login} location ` +
        `'/a/folder/of/the/server'`
  throw new ConfigurationError(
    `OLD_MONTHS_TABLESPACE names the tablespace "${tablespace}", which ${problem}. Old months stay ` +
      'where they are.',
  )
}

/** Oldest first. The tablespace of a relation is 0 where it is that of the database. */
async function listOldRelations(db: Database, tablespace: string): Promise<Relation[]> {
  // The months of a distributed history are on the disks of the workers.
  const parents = (await isDistributed(db.sql))
    ? ['app_snapshot', 'page']
    : ['ranking', 'app_snapshot', 'page']
  return db.sql<Relation[]>`
    with part as (
      select c.oid, c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = any(${parents}::text[]::regclass[])
        -- Names of other tables end in numbers too, and may be read first: pg_toast_105271.
        and case when c.relname ~ '_[0-9]{4}(0[1-9]|1[0-2])$' then
          (to_timestamp(right(c.relname, 6), 'YYYYMM')::timestamp + interval '1 month') at time zone 'UTC' end
          <= storerank_now() - make_interval(days => ${OLD_AFTER_DAYS})
    )
    select c.relname as name, case c.relkind when 'r' then 'table' else 'index' end as kind
    from part p join pg_class c on c.oid = p.oid or c.oid in (select indexrelid from pg_index
      where indrelid = p.oid)
    where coalesce(nullif(c.reltablespace, 0), (select dattablespace from pg_database
      where datname = current_database()))
      <> (select oid from pg_tablespace where spcname = ${tablespace})
    order by right(p.relname, 6), p.relname, c.relkind desc, c.relname`
}

/** False when it was in use. */
async function moveRelation(db: Database, { name, kind }: Relation, tablespace: string): Promise<boolean> {
  try {
    await db.begin(
      (tx) => tx`alter ${sql.raw(kind)} ${sql.identifier(name)} set tablespace ${sql.identifier(tablespace)}`,
      { name: 'Moving an old month', lockTimeoutMs: LOCK_TIMEOUT_MS, limitMs: LIMIT_MS },
    )
    return true
  } catch (error) {
    if (error instanceof UnavailableError) return false
    throw error
  }
}
