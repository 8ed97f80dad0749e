/**
 * The roles of people: `storerank_editor` writes watchlists and reads the views, `storerank_reader` reads the
 * views. The runner's login owns everything. The grants are in drizzle/objects/rights.sql.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SqlRunner } from './driver.ts'
import { sql } from './sql.ts'
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
 * database may have default privileges that give each new table to the login of its public API.
 */
export async function describeOtherWriters(db: SqlRunner): Promise<string | null> {
  const writers = await db<{ name: string; tables: number }[]>`
    select case a.grantee when 0 then 'public' else a.grantee::regrole::text end as name,
      count(distinct c.oid) as tables
    from pg_class c cross join lateral aclexplode(c.relacl) a
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
      and a.grantee <> c.relowner and a.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
      and not coalesce((select rolsuper from pg_roles where oid = a.grantee), false)
      and not exists (
        select from aclexplode(c.relacl) e
        where e.grantee::regrole::text = 'storerank_editor' and e.privilege_type = a.privilege_type)
    group by 1 order by 1`
  if (writers.length === 0) return null
  const names = writers.map(({ name }) => name).join(', ')
  const tables = Math.max(...writers.map((writer) => writer.tables))
  return (
    `Others gave rights to write into ${tables} tables of storerank to ${names}: whoever has such a login ` +
    `can change what was bought and paid. Take them away: revoke all on all tables in schema public from ` +
    `${names}; alter default privileges in schema public revoke all on tables from ${names}; and then ` +
    '`storerank migrate` gives ours again.'
  )
}

/** What a person granted to a role of their own on one of our views. */
export interface OwnGrant {
  readonly view: string
  readonly statement: string
}

/** For restoreGrants: a view that is dropped and made again loses its grants. */
export async function readGrants(tx: Transaction): Promise<OwnGrant[]> {
  return tx<OwnGrant[]>`
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
export async function restoreGrants(tx: Transaction, grants: readonly OwnGrant[]): Promise<void> {
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
