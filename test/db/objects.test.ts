/**
 * The objects of a database are those of drizzle/objects, each defined once and whole, and a person's own are
 * left alone.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { migrate } from '../../src/db/migrate.ts'
import { readObjects } from '../../src/db/object-files.ts'
import { rulesOf } from '../../src/db/schema/columns.ts'
import { describeSchema, readBodies } from '../schema/describe.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const DRIZZLE = join(import.meta.dirname, '../../drizzle')
const SCHEMA = join(DRIZZLE, '../docs/schema.txt')
const OBJECTS = readObjects(DRIZZLE)
const FILES = globSync(join(DRIZZLE, 'objects/**/*.sql')).map((path) => ({
  noun: basename(path, '.sql'),
  text: readFileSync(path, 'utf8'),
}))
const FOUNDATION = readFileSync(join(DRIZZLE, '0000_functions.sql'), 'utf8')
/** What objects, tables and columns of theirs are. */
const SAID = OBJECTS.tables + OBJECTS.definitions.map(({ comments }) => comments).join('')

async function open(t: TestContext): Promise<TestDatabase> {
  const database = await createTestDatabase()
  t.after(() => database.drop())
  return database
}

const describeAll = async ({ sql }: TestDatabase) => [await describeSchema(sql), await readBodies(sql)]

/** What migrate finds when a version with other objects has been here. */
async function migrateAgain({ sql, url }: TestDatabase): Promise<void> {
  await sql`update drizzle.objects set hash = 'another'`
  assert.equal(await migrate(url), true)
}

/** For the tests that read alone. */
const fresh = lasting(createTestDatabase)

/** A moved clock (`support/moved-clock.ts`) is told as one of the objects. */
const skip = process.env.TEST_CLOCK_AHEAD_MS !== undefined

test('the schema is that of docs/schema.txt: `npm run schema` writes it anew', { skip }, async (t) => {
  const { sql } = fresh
  const text = await describeSchema(sql)
  try {
    t.assert.fileSnapshot(text, SCHEMA, { serializers: [(value: string) => value] })
  } catch (error) {
    // Its own message has the whole text twice.
    const [lines, written] = [text, readFileSync(SCHEMA, 'utf8')].map((each) => each.split('\n')) as [
      string[],
      string[],
    ]
    const missing = lines.filter((line) => !written.includes(line))
    const outdated = written.filter((line) => !lines.includes(line))
    assert.deepEqual({ missing, outdated }, { missing: [], outdated: [] })
    throw error
  }
})

// Where such a function sorts columns that are then converted to those that it returns, Postgres 15 takes its
// query for one that only reads, and a statement trigger on a table that it writes (of an audit, of the crash
// harness) ends it: "AfterTriggerSaveEvent() called outside of query".
test('no SQL function that returns rows writes: a trigger of a person would stop it', async () => {
  const { sql } = fresh
  const writing = await sql`
    select proname from pg_proc
    where pronamespace = 'public'::regnamespace and prolang
      = (select oid from pg_language where lanname = 'sql')
      and proretset and provolatile = 'v'`
  assert.deepEqual([...writing], [])
})

test('every view, function and trigger is defined once, and each view in the file of its name', async () => {
  const { sql } = fresh
  const rows = await sql<{ key: string }[]>`
    select 'view ' || relname as key from pg_class where relkind = 'v'
      and relnamespace = 'public'::regnamespace
    union all
    select case prokind when 'p' then 'procedure ' else 'function ' end || proname from pg_proc
      where pronamespace = 'public'::regnamespace
    union all
    select format('trigger %s on %s', tgname, tgrelid::regclass) from pg_trigger where not tgisinternal`
  const foundation = [...FOUNDATION.matchAll(/^create function (\w+)/gm)].map(
    ([, name]) => `function ${name}`,
  )
  assert.deepEqual(
    [...OBJECTS.definitions.map(({ key }) => key), ...foundation].sort(),
    rows.map(({ key }) => key).sort(),
  )
  for (const { noun, text } of FILES) {
    for (const [, view] of text.matchAll(/^create or replace view (\w+)/gm))
      assert.equal(view?.replaceAll('_', '-'), noun)
  }
})

test('every comment and every right of the database is given exactly once', async () => {
  const { sql } = fresh
  const comments = [FOUNDATION, SAID].flatMap(
    (text) => text.match(/^comment on(?! column) .*?(?= is( '|$))/gm) ?? [],
  )
  assert.equal(new Set(comments).size, comments.length)
  const [row] = await sql`
    select count(*)::int as comments from pg_description d
    where (d.classoid = 'pg_class'::regclass and d.objsubid = 0 and d.objoid in (select oid from pg_class
      where relnamespace = 'public'::regnamespace))
      or (d.classoid = 'pg_proc'::regclass and d.objoid in (select oid from pg_proc
        where pronamespace = 'public'::regnamespace))`
  assert.equal(comments.length, row?.comments)
  const rights = [...OBJECTS.revokes, ...OBJECTS.grants]
  for (const right of rights)
    assert.match(right, /^[^;]*;\s*(--.*\s*)*$/, 'nothing follows a right but the next')
})

test('every column of a view says what it is: by its name, or itself where it is otherwise', async () => {
  const { sql } = fresh
  const rows = await sql<{ view: string; name: string; said: string | null }[]>`
    select c.relname as view, a.attname as name, col_description(c.oid, a.attnum) as said
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'public'::regnamespace and obj_description(c.oid, 'pg_class') is not null`
  assert.deepEqual(
    rows.filter(({ said }) => said === null).map(({ view, name }) => `${view}.${name}`),
    [],
  )
  const own: readonly string[] = SAID.match(/(?<=^comment on column )\S+/gm) ?? []
  assert.equal(new Set(own).size, own.length)
  const told = rows.filter(({ view, name }) => own.includes(`${view}.${name}`))
  assert.equal(told.length, own.length, 'no column is told of that is not there')
  assert.deepEqual(
    told.filter(({ name, said }) => OBJECTS.columns.get(name) === said),
    [],
  )
  const used = new Set(rows.filter((row) => !told.includes(row)).map(({ name }) => name))
  assert.deepEqual(
    [...OBJECTS.columns.keys()],
    [...used].sort(),
    'each name of columns.txt is used, in order',
  )
})

test('definitions that are applied again, in whatever order and alone, change nothing', async (t) => {
  const database = await open(t)
  const before = await describeAll(database)
  for (const { text } of OBJECTS.definitions.toReversed()) {
    // Without comments and rights: what `create or replace` alone would lose is lost here.
    await database.sql.unsafe(text)
  }
  assert.deepEqual(await describeAll(database), before)
  await migrateAgain(database)
  assert.deepEqual(await describeAll(database), before)
})

test('whatever an earlier version had, the database has the objects of the files alone', async (t) => {
  const database = await open(t)
  const before = await describeAll(database)
  await leaveOlderObjects(database)
  assert.notDeepEqual(await describeAll(database), before)
  await migrateAgain(database)
  assert.deepEqual(await describeAll(database), before)
})

/**
 * Another column, other arguments, other results, a view, a function and a trigger that are gone, other
 * rights and comments.
 */
async function leaveOlderObjects({ sql }: TestDatabase): Promise<void> {
  await sql.unsafe(`
    drop view rank_change;
    create view rank_change as select slot, app_id as app from rank_latest;
    create view rank_gone as select slot from rank_change;
    grant select on rank_gone to storerank_reader;
    drop function explain_status;
    create function explain_status(said text) returns text language sql return said;
    drop view project_event;
    drop function project_events, impact, changed_titles;
    drop function app_changes;
    create function app_changes(text, date, date) returns integer language sql return 1;
    drop function start_missing_watch_periods;
    create function start_missing_watch_periods(of_projects text[]) returns text language sql return 'no';
    create function gone(slot timestamptz) returns timestamptz language sql return slot;
    create function trigger_gone() returns trigger language plpgsql as 'begin return null; end';
    create trigger gone after update on task for each row execute function trigger_gone();
    revoke execute on function nearest_name(text, text[]) from public;
    grant execute on function target_of to storerank_reader;
    alter function follow_watches reset all;
    alter function prepare_row security invoker;
    grant insert on rank_history to storerank_reader;
    comment on column rank_history.rank is 'Another.';
    update drizzle.objects set identities = array(select i from unnest(identities) i
      where i !~ 'explain_status|function public.app_changes') || array[
      'function public.app_changes(pg_catalog.text,pg_catalog.date,pg_catalog.date)',
      'view public.rank_gone', 'function public.explain_status(pg_catalog.text)',
        'function public.trigger_gone()',
      'function public.gone(timestamp with time zone)', 'trigger gone on public.task']`)
}

test("a person's view and rights survive what replaces ours", async (t) => {
  const database = await open(t)
  const { sql } = database
  // A role that every server has.
  const role = 'pg_monitor'
  await sql`create schema reports`
  await sql`create view reports.best as select keyword, min(rank) as rank from rank_history group by 1`
  await sql`create view best_of_all as select * from reports.best`
  await sql`grant select on rank_history, rank_change, spend_daily to ${sql(role)}`
  // Both have to be dropped and made again; nothing of the person's hangs on them.
  await sql`drop view rank_change`
  await sql`create view rank_change as select slot from rank_latest`
  await sql`grant select on rank_change to ${sql(role)}`
  await migrateAgain(database)
  const [row] = await sql`
    select has_table_privilege(${role}, 'rank_change', 'select')
      and has_table_privilege(${role}, 'rank_history', 'select')
      and (select count(change_7d) = 0 from rank_change)
        and (select count(*) = 0 from best_of_all) as survived`
  assert.deepEqual(row, { survived: true })
})

test("a person's view on a column that goes is refused by its name, and nothing is changed", async (t) => {
  const database = await open(t)
  const { sql, url } = database
  await sql.unsafe(`
    alter view owed_slot rename column subject to expected;
    create materialized view mine as select expected from owed_slot;
    create view "My report" as select * from mine;
    update drizzle.objects set hash = 'another'`)
  await assert.rejects(migrate(url), {
    code: 'configuration',
    message:
      'The materialized view public.mine uses the view public.owed_slot of storerank, which this ' +
      'version changes. Drop it, run `storerank migrate`, and make it again; nothing was changed.',
  })
  await sql`drop materialized view mine cascade`
  assert.equal(await migrate(url), true)
})

test("a person's function on a function or view that goes is refused by its name", async (t) => {
  const { sql, url } = await open(t)
  await sql.unsafe(`
    create view gone as select 1 as one;
    create function mine() returns setof gone language sql as 'select 2';
    update drizzle.objects set hash = 'another', identities = identities || '{view public.gone}'`)
  await assert.rejects(migrate(url), {
    message: /^The function public\.mine\(\) uses the view public\.gone of storerank/,
  })
})

for (const [kind, statement] of Object.entries({
  'table public.rank_latest':
    'drop view rank_change; drop view rank_latest; create table rank_latest (a int)',
  'view public.owed_slot':
    "update drizzle.objects set identities = array_remove(identities, 'view public.owed_slot')",
  'function public.dollars(integer)':
    'create function dollars(euros integer) returns text language sql return euros::text',
})) {
  test(`a name that a person took is not replaced: ${kind}`, async (t) => {
    const { sql, url } = await open(t)
    await sql.unsafe(`${statement}; update drizzle.objects set hash = 'another'`)
    await assert.rejects(migrate(url), {
      code: 'configuration',
      message:
        `The database has a ${kind} that storerank did not make, and storerank needs the name. Rename ` +
        'it, and run `storerank migrate` again; nothing was changed.',
    })
  })
}

test('a line of another form than the others is an error, and no rule that is lost without a word', () => {
  assert.throws(
    () => rulesOf('t', 'id', '\n    fit (id): id > 0\n   unfit (id): id > 0'),
    /another form.*unfit/,
  )
  assert.equal(rulesOf('t', 'id', '\n    fit (id): id > 0').length, 1)
})
