/**
 * The roles of people: `storerank_editor` writes watchlists and reads the views, `storerank_reader` reads the
 * views. The runner's login owns everything. The grants are in drizzle/objects/rights.sql.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SqlRunner } from './driver.ts'
import { OWN_SCHEMAS } from './requirements.ts'
import { sql } from './sql.ts'
import { TABLE_NAMES } from './table-names.ts'
import type { Transaction } from './transaction.ts'

export const ROLES = ['storerank_editor', 'storerank_reader']
const MAY_NOT = '42501'
const IS_THERE = '42710'
/** Another session has made it and commits at this moment: a grant of this one may not find it yet. */
const IS_BEING_MADE = '23505'
const LOOK_AGAIN_MS = 10
const MAX_LOOKS = 1000

/**
 * Makes the roles where they are missing, and gives them their rights.
 * @returns what hindered it, as a sentence; null when all is well
 */
export async function grantRoles(tx: Transaction, grants: readonly string[]): Promise<string | null> {
  const missing = await tx<{ name: string }[]>`
    select name from unnest(${ROLES}::text[]) name where to_regrole(name) is null`
  for (const { name } of missing) {
    if (!(await makeRole(tx, name))) return explainMissingRoles(tx)
  }
  await tx.unsafe(grants.join('\n'))
  return null
}

/**
 * Roles belong to the whole server: a migration of another database of it may have made this one, or make it
 * at this moment.
 * @returns whether the role is there, and grants of this transaction find it; false when the login may not
 *   make roles
 */
async function makeRole(tx: Transaction, name: string): Promise<boolean> {
  for (let looks = 1; ; looks += 1) {
    try {
      await tx.savepoint(async (inner) => inner`create role ${sql.identifier(name)} nologin`)
      return true
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (code === IS_THERE) return true
      if (code === MAY_NOT) return false
      if (code !== IS_BEING_MADE || looks === MAX_LOOKS) throw error
      await sleep(LOOK_AGAIN_MS)
    }
  }
}

async function explainMissingRoles(tx: Transaction): Promise<string> {
  const [row] = await tx<{ name: string }[]>`select current_user as name`
  const statements = ROLES.map((role) => `create role ${role} nologin;`).join(' ')
  return (
    `The roles ${ROLES.join(' and ')} were not made, because ${row?.name} may not make roles. A role ` +
    `that may make them runs: ${statements} and then \`storerank migrate\` gives them their rights.`
  )
}

/**
 * Which roles beside ours may write what no editor may, as a sentence; null when there are none. A hosted
 * database may have default privileges that give each new table to the login of its public API. A right to a
 * column, to a sequence, to hang a trigger on a table or to make what our statements would call is one to
 * write.
 */
export async function describeOtherWriters(db: SqlRunner): Promise<string | null> {
  const schemas = ['public', ...OWN_SCHEMAS]
  const [row] = await db<{ names: string | null; things: number; takes: string }[]>`
    with owned as (
      select c.oid, coalesce(pg_partition_root(c.oid)::oid, d.refobjid, c.oid) as root, c.relkind, c.relacl,
        c.relnamespace::regnamespace as schema
      from pg_class c
      left join pg_depend d on d.objid = c.oid and d.classid = 'pg_class'::regclass and c.relkind = 'S'
        and d.refclassid = d.classid and d.deptype in ('a', 'i')
      where c.relkind in ('r', 'p', 'S') and c.relnamespace::regnamespace::text = any(${schemas}::text[])
    ), thing as (
      select o.* from owned o join pg_class c on c.oid = o.root
      where o.schema <> 'public'::regnamespace or c.relname = any(${TABLE_NAMES}::text[])
    ), granted as (
      select oid as thing, root, schema, case relkind when 'S' then 'all on all sequences in'
        else 'all on all tables in' end as take, 0 as at, a.*
      from thing cross join lateral aclexplode(relacl) a
      union all
      select t.oid, t.root, t.schema, 'all on all tables in', f.attnum, a.*
      from thing t join pg_attribute f on f.attrelid = t.oid cross join lateral aclexplode(f.attacl) a
      union all
      select n.oid, n.oid, n.oid, 'create on', 0, a.*
      from pg_namespace n cross join lateral aclexplode(n.nspacl) a
      where n.nspname = any(${schemas}::text[])
    ), writer as (
      select g.*, case g.grantee when 0 then 'public' else g.grantee::regrole::text end as name
      from granted g left join pg_roles r on r.oid = g.grantee
      where g.privilege_type not in ('SELECT', 'USAGE', 'REFERENCES', 'MAINTAIN')
        and g.grantee <> (select relowner from pg_class where oid = 'ledger'::regclass)
        and r.rolsuper is not true and r.rolname is distinct from 'pg_database_owner' and not exists (
          select from granted e
          where e.grantee::regrole::text = 'storerank_editor'
            and (e.thing, e.at, e.privilege_type) = (g.thing, g.at, g.privilege_type))
    )
    select (select string_agg(distinct name, ', ') from writer) as names,
      (select count(distinct root) from writer)::int as things,
      string_agg(format('revoke %s schema %s from %s', take, schemas, names), '; ') as takes
    from (select take, string_agg(distinct schema::text, ', ') as schemas, string_agg(distinct name, ', ') as
      names from writer group by take) t`
  if (row?.names == null) return null
  return (
    `Others gave rights to write into ${row.things} tables or schemas of storerank to ${row.names}: ` +
    'whoever has such a login can change what was bought and paid. Take them away: ' +
    `${row.takes}; alter default privileges in schema public revoke all on tables from ${row.names}; and ` +
    'then `storerank migrate` gives ours again.'
  )
}

/**
 * What people granted to roles of their own on our views, for restoreGrants: a view that is dropped and made
 * again loses it.
 */
export function readGrants(tx: Transaction) {
  return tx<{ view: string; statement: string }[]>`
    select c.oid::regclass::text as view,
      format('grant %s on %s to %s%s', a.privilege_type, c.oid::regclass,
        case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
        case when a.is_grantable then ' with grant option' end) as statement
    from pg_class c
    cross join lateral aclexplode(c.relacl) a
    where c.relkind = 'v' and c.relnamespace = 'public'::regnamespace and a.grantee <> c.relowner
      and a.grantee::regrole::text <> all(${ROLES}::text[])
    order by 1, 2`
}

/** Gives back what readGrants read, on the views that are still there. */
export async function restoreGrants(
  tx: Transaction,
  grants: Awaited<ReturnType<typeof readGrants>>,
): Promise<void> {
  const views = await tx<{ view: string }[]>`
    select view from unnest(${grants.map(({ view }) => view)}::text[]) view
      where to_regclass(view) is not null`
  const present = new Set(views.map(({ view }) => view))
  await tx.unsafe(
    grants
      .filter(({ view }) => present.has(view))
      .map(({ statement }) => statement)
      .join(';'),
  )
}
