/**
 * The views, functions, triggers, grants and comments of drizzle/objects, applied to a database as a whole.
 * An object that a person made is never dropped: when it depends on one of ours
 * that must be dropped, the migration is refused with a sentence that names it.
 */
import { ConfigurationError } from '../errors.ts'
import type { Objects } from './object-files.ts'
import { ROLES } from './roles.ts'
import { sql } from './sql.ts'
import type { Transaction } from './transaction.ts'

/**
 * An object of the database, by a name that `drop` takes, like `function public.slot_of(interval,timestamp
 * with time zone)`.
 */
export type Identity = string

/** The new definition cannot replace the old one: columns went or changed, or arguments or results did. */
const CANNOT_REPLACE = ['42P16', '42P13']

/**
 * Applies all definitions, and drops what earlier ones made and these do not.
 * @param recorded what was made when definitions were applied last
 * @param isDistributed whether the history is
 * @returns what was made now
 * @throws ConfigurationError when an object of a person is in the way
 */
export async function applyObjects(
  tx: Transaction,
  { definitions, distributed, tables, columns, revokes }: Objects,
  recorded: readonly Identity[],
  isDistributed: boolean,
): Promise<Identity[]> {
  const applied = isDistributed ? [...definitions, ...distributed] : definitions
  const keys = applied.map(({ key }) => key)
  await refuseTakenNames(tx, keys, recorded)
  await resetRights(tx, recorded)
  const nameOf = (identity: Identity) => identity.replace(/^function public\.(\w+).*/, 'function $1')
  const known = new Set(recorded.map(nameOf))
  for (const { key, text } of applied) {
    await applyDefinition(tx, key, text, recorded)
    if (known.has(key)) await dropOutdated(tx, key, recorded)
  }
  const identities = await identify(tx, keys)
  const gone = recorded.filter((identity) => !identities.includes(identity))
  await dropObjects(tx, gone, recorded)
  // When no two functions have one name any more.
  const comments = tables + applied.map((definition) => definition.comments).join('')
  await tx.unsafe(comments)
  await commentColumns(tx, comments, columns)
  await tx.unsafe(revokes.join(''))
  return identities
}

/** The columns of what has a comment have one too: their own, or what their name means. */
async function commentColumns(tx: Transaction, comments: string, columns: Objects['columns']): Promise<void> {
  const find = (pattern: RegExp) => Array.from(comments.matchAll(pattern), ([, name = '']) => name)
  const statements = await tx<{ text: string }[]>`
    select format('comment on column %I.%I is %L', c.relname, a.attname, s.sentence) as text
    from unnest(${[...columns.keys()]}::text[], ${[...columns.values()]}::text[]) s (name, sentence)
    join pg_attribute a on a.attname = s.name
    join pg_class c on c.oid = a.attrelid and c.relnamespace = 'public'::regnamespace
    where c.relname = any(${find(/^comment on (?:view|table) (\w+)/gm)}::text[])
      and format('%s.%s', c.relname, a.attname) <> all(${find(/^comment on column (\S+)/gm)}::text[])`
  await tx.unsafe(statements.map(({ text }) => text).join(';'))
}

async function applyDefinition(
  tx: Transaction,
  key: string,
  text: string,
  recorded: readonly Identity[],
): Promise<void> {
  try {
    await tx.savepoint(async (inner) => inner.unsafe(text))
  } catch (error) {
    if (!CANNOT_REPLACE.includes((error as { code?: string }).code ?? '')) throw error
    await dropObjects(tx, await identify(tx, [key]), recorded)
    await tx.unsafe(text)
  }
}

/**
 * A function whose arguments changed stands beside the new one, and a call of either would be ambiguous. What
 * uses it is defined after it, and so made anew.
 */
async function dropOutdated(tx: Transaction, key: string, recorded: readonly Identity[]): Promise<void> {
  const found = await identify(tx, [key])
  if (found.length < 2) return
  await dropObjects(
    tx,
    found.filter((identity) => recorded.includes(identity)),
    recorded,
  )
}

/**
 * Drops all recorded objects before the tables change, except those that an object of a person depends on.
 * applyObjects makes them again.
 * @returns the objects of people for which objects were kept
 */
export async function dropObjectsForMigration(
  tx: Transaction,
  recorded: readonly Identity[],
): Promise<Identity[]> {
  const foreign = (await findDependents(tx, recorded)).filter(({ identity }) => !recorded.includes(identity))
  const kept = new Set(foreign.map(({ root }) => root))
  const free = recorded.filter((identity) => !kept.has(identity))
  await dropObjects(tx, free, recorded)
  return [...new Set(foreign.map(({ identity }) => identity))].sort()
}

/** @throws ConfigurationError when an object that was not recorded depends on one of them */
async function dropObjects(
  tx: Transaction,
  identities: readonly Identity[],
  recorded: readonly Identity[],
): Promise<void> {
  const found = await findDependents(tx, identities)
  const foreign = found.find(({ identity }) => !recorded.includes(identity))
  if (foreign !== undefined) {
    throw new ConfigurationError(
      `The ${foreign.identity} uses the ${foreign.root} of storerank, which this version changes. Drop ` +
        'it, run `storerank migrate`, and make it again; nothing was changed.',
    )
  }
  // The deepest dependents first, so that no drop fails.
  const depths = new Map<Identity, number>()
  for (const { identity, depth } of found) depths.set(identity, Math.max(depth, depths.get(identity) ?? 0))
  const ordered = [...depths].sort(([, a], [, b]) => b - a)
  for (const [identity] of ordered) await tx.unsafe(`drop ${identity}`)
}

/**
 * Removes rights and comments before they are given anew: `create or replace` keeps those that the files have
 * no more.
 */
async function resetRights(tx: Transaction, recorded: readonly Identity[]): Promise<void> {
  const present = await identify(tx, null)
  const roles = await tx<
    { name: string }[]
  >`select name from unnest(${ROLES}::text[]) name where to_regrole(name) is not null`
  const people = roles.map(({ name }) => name).join(', ')
  const statements: string[] = []
  for (const identity of recorded.filter((each) => present.includes(each))) {
    const [, kind, name] = /^(\w+) (.*)$/.exec(identity) ?? []
    if (kind === 'trigger') continue
    if (kind === 'function' || kind === 'procedure')
      statements.push(`grant execute on ${identity} to public; comment on ${identity} is null`)
    if (people !== '') statements.push(`revoke all on ${kind === 'view' ? name : identity} from ${people}`)
  }
  await tx.unsafe(statements.join(';'))
}

/** A name of ours must not replace an object that a person made. */
async function refuseTakenNames(
  tx: Transaction,
  keys: readonly string[],
  recorded: readonly Identity[],
): Promise<void> {
  const taken = (await identify(tx, keys)).find((identity) => !recorded.includes(identity))
  if (taken === undefined) return
  throw new ConfigurationError(
    `The database has a ${taken} that storerank did not make, and storerank needs the name. ` +
      'Rename it, and run `storerank migrate` again; nothing was changed.',
  )
}

async function identify(tx: Transaction, keys: readonly string[] | null): Promise<Identity[]> {
  return (await findObjects(tx, keys)).map(({ identity }) => identity)
}

/** Relations, functions and triggers of the schema, by the key of their definition (`o.key`) and as `i`. */
const OBJECTS = sql`(
      select 'pg_class'::regclass as class, c.oid, 'view ' || c.relname as key
      from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
      union all
      select 'pg_proc'::regclass, p.oid, case p.prokind when 'p' then 'procedure '
        else 'function ' end || p.proname
      from pg_proc p where p.pronamespace = 'public'::regnamespace
      union all
      select 'pg_trigger'::regclass, t.oid, format('trigger %s on %s', t.tgname, c.relname)
      from pg_trigger t join pg_class c on c.oid = t.tgrelid
      where c.relnamespace = 'public'::regnamespace and not t.tgisinternal
    ) o
    cross join lateral pg_identify_object(o.class, o.oid, 0) i`

/** All, or those of some keys. */
export function findObjects(tx: Transaction, keys: readonly string[] | null = null) {
  return tx<{ key: string; identity: Identity }[]>`
    select o.key, i.type || ' ' || i.identity as identity from ${OBJECTS}
    where o.key = any(coalesce(${keys as string[] | null}::text[], array[o.key]))`
}

/** The objects themselves (depth 0), and all that depend on them, directly or through others. */
function findDependents(
  tx: Transaction,
  roots: readonly Identity[],
): Promise<{ root: Identity; identity: Identity; depth: number }[]> {
  return tx<{ root: Identity; identity: Identity; depth: number }[]>`
    with recursive dependent (root, class, oid, depth) as (
      select i.type || ' ' || i.identity, o.class::oid, o.oid, 0 from ${OBJECTS}
      where i.type || ' ' || i.identity = any(${roots as string[]}::text[])
      union
      select x.root, case when r.oid is null then d.classid
        else 'pg_class'::regclass end, coalesce(r.ev_class, d.objid), x.depth + 1
      from dependent x
      join pg_depend d on d.refclassid = x.class and d.refobjid = x.oid and d.deptype in ('n', 'a', 'i')
      left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
      where coalesce(r.ev_class, d.objid) <> x.oid
    )
    select x.root, i.type || ' ' || i.identity as identity, max(x.depth)::int as depth
    from dependent x
    cross join lateral pg_identify_object(x.class, x.oid, 0) i
    -- A materialized view with texts has a table for them that are long.
    where x.class <> 'pg_type'::regclass and i.schema is distinct from 'pg_toast'
    group by 1, 2`
}
