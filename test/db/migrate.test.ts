/** Migrations by many at once, by the old and the new, by the killed, and by those who may not make roles. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import postgres from 'postgres'
import { migrate } from '../../src/db/migrate.ts'
import { runCommand, startCommand } from '../support/command.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  migrateLater,
  type TestDatabase,
} from '../support/database.ts'
import { attach, makeHome, until } from '../support/embedded.ts'
import { addPerson } from '../support/people.ts'

const DONE = 'The database is at the schema of this version.\n'

async function withDatabase(
  t: TestContext,
  make: () => Promise<TestDatabase> = createEmptyDatabase,
): Promise<TestDatabase> {
  const database = await make()
  t.after(() => database.drop())
  return database
}

/** What the journal says was applied, one stamp for each. */
const readJournal = ({ sql }: TestDatabase) =>
  sql<{ stamp: string }[]>`select created_at as stamp from drizzle.__drizzle_migrations order by id`

describe('many who migrate one empty database at once', () => {
  test('make it once: 20 sessions', async (t) => {
    const database = await withDatabase(t)
    const applied = await Promise.all(Array.from({ length: 20 }, () => migrate(database.url)))
    const stamps = await readJournal(database)
    assert.deepEqual(
      applied.sort((a, b) => b - a),
      [stamps.length, ...Array(19).fill(0)],
    )
    assert.equal(new Set(stamps.map(({ stamp }) => stamp)).size, stamps.length)
  })

  test('make it once: three processes, with the tables of the queue', async (t) => {
    const database = await withDatabase(t)
    const env = { DATABASE_URL: database.url }
    const ended = await Promise.all([1, 2, 3].map(() => runCommand(t, ['migrate'], { env })))
    for (const { code, stdout, stderr } of ended) assert.deepEqual([code, stdout], [0, DONE], stderr)
    assert.ok((await database.sql`select from pgboss.version`).count > 0)
  })

  test('wait for one another longer than a statement may take', async (t) => {
    const database = await withDatabase(t)
    await database.sql.unsafe(`alter database ${database.sql.options.database} set statement_timeout = '1ms'`)
    assert.ok((await migrate(database.url)) > 0)
  })
})

test('who is killed in the middle leaves nothing behind, and the next one makes it all', async (t) => {
  const database = await withDatabase(t)
  const { sql } = database
  await sql.unsafe(`
    create function hold() returns event_trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); end $$;
    create event trigger hold on ddl_command_end when tag in ('CREATE VIEW') execute function hold()`)
  const holder = await sql.reserve()
  await holder`select pg_advisory_lock(1)`
  const killed = startCommand(t, ['migrate'], { env: { DATABASE_URL: database.url } })
  const sessions = (state: string) => sql`
    select from pg_stat_activity
    where datname = current_database() and application_name = 'storerank migrate' and coalesce(wait_event, '') ~ ${state}`
  await until('the migration has come to its first view', async () => (await sessions('advisory')).count > 0)
  killed.child.kill('SIGKILL')
  await killed.ended
  await holder`select pg_advisory_unlock(1)`
  holder.release()
  await until('the server has noticed', async () => (await sessions('')).count === 0)
  await sql.unsafe('drop event trigger hold; drop function hold')
  assert.equal((await sql`select from pg_class where relnamespace = 'public'::regnamespace`).count, 0)
  assert.ok((await migrate(database.url)) > 0)
})

describe('a storerank of another age', () => {
  test('that is older than the schema refuses with a sentence, whatever it is asked, and changes nothing', async (t) => {
    const database = await withDatabase(t, createTestDatabase)
    await migrateLater(database.sql)
    const env = { DATABASE_URL: database.url }
    for (const command of ['run', 'plan', 'status']) {
      const { code, stdout, stderr } = await runCommand(t, [command], { env })
      assert.deepEqual(
        [command, code, stdout, stderr],
        [
          command,
          2,
          '',
          'The database was migrated by a newer storerank than this one. Update this installation; nothing was changed.\n',
        ],
      )
    }
    assert.equal((await database.sql`select from pg_namespace where nspname = 'pgboss'`).count, 0)
    assert.equal((await database.sql`select from service_account`).count, 0)
  })

  test('that is newer tells who only looks to migrate, and brings a database in use up to date', async (t) => {
    const database = await withDatabase(t)
    const { sql } = database
    await makeFirstRelease(database)
    await sql`insert into keyword_watch (project, store, keyword, location_code, language_code)
      values ('fitness', 'ios_store', 'yoga', 2840, 'en')`
    // Two watches on one target that were written at the same moment were both followed then.
    await sql`insert into watch_period (kind, watch_id, project, target_id, every, depth, priority, started_at, first_slot, closed_to)
      select kind, 0, project, target_id, every, depth, priority, started_at, first_slot, closed_to from watch_period`
    const before = await sql`select id, kind, project, watch_id, every, started_at from watch_period`
    const env = { DATABASE_URL: database.url }
    for (const command of ['plan', 'status']) {
      const { code, stdout, stderr } = await runCommand(t, [command], { env })
      assert.deepEqual([command, code, stdout], [command, 2, ''])
      assert.match(
        stderr,
        /^The database was made by an older storerank than this one\. Run `storerank migrate` first\.\n$/,
      )
    }
    assert.ok((await migrate(database.url)) > 0)
    const after = await sql`select id, kind, project, watch_id, every, started_at from watch_period`
    assert.deepEqual([...after], [...before])
    assert.equal((await sql`select from watch_period where ended_at is null`).count, 1)
    const plan = await runCommand(t, ['plan', '--json'], { env })
    assert.equal(JSON.parse(plan.stdout).planned, 1, plan.stderr)
  })
})

/** The schema as the first release had it. */
async function makeFirstRelease({ sql }: TestDatabase): Promise<void> {
  await sql`create schema drizzle`
  await sql`create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`
  const migrationsFolder = fileURLToPath(new URL('../../drizzle', import.meta.url))
  for (const { sql: statements, hash, folderMillis } of readMigrationFiles({ migrationsFolder }).slice(
    0,
    6,
  )) {
    for (const statement of statements) await sql.unsafe(statement)
    await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${folderMillis})`
  }
}

describe('the roles of people', () => {
  test('are not made by who may not, which migrate says, and have their rights once somebody has made them', async (t) => {
    const { url } = await attach(t, await makeHome(t))
    const admin = connect(t, url)
    await admin`create role runner login password 'runs'`
    await admin`create database ranks owner runner`
    const ranks = new URL(url)
    ranks.pathname = '/ranks'
    const env = { DATABASE_URL: Object.assign(new URL(ranks), { username: 'runner', password: 'runs' }).href }
    const first = await runCommand(t, ['migrate'], { env })
    assert.equal(first.code, 0, first.stderr)
    const [, , said = '', make = ''] =
      /^(The database .*\n)(The roles .* were not made, because runner may not make roles\. .* runs: (.*); and then .*\n)$/.exec(
        first.stdout,
      ) ?? []
    assert.match(said, /`storerank migrate` gives them their rights/)

    await admin.unsafe(make)
    const second = await runCommand(t, ['migrate'], { env })
    assert.deepEqual([second.code, second.stdout], [0, DONE], second.stderr)

    // The owner is no superuser here: what acts as the owner has no more rights than it needs.
    const owner = connect(t, ranks.href)
    const editor = await addPerson(owner, 'storerank_editor')
    const reader = await addPerson(owner, 'storerank_reader')
    await editor.sql`insert into keyword_watch (project, store, keyword, location_code, language_code)
      values ('fitness', 'ios_store', 'yoga', 2840, 'en')`
    await editor.sql`insert into app_watch (project, store, app_id) values ('fitness', 'ios_store', '1001')`
    await editor.sql`update keyword_watch set every = '1 hour'`
    const rows = await reader.sql`select keyword, app_id, outcome from rank_history`
    assert.deepEqual([...rows], [{ keyword: 'yoga', app_id: '1001', outcome: 'pending' }])
    await editor.remove()
    await reader.remove()
  })

  test('are shared by the databases of a server, also when several are migrated at the same moment', async (t) => {
    const { url } = await attach(t, await makeHome(t))
    const admin = connect(t, url)
    const names = ['one', 'two', 'three', 'four']
    for (const name of names) await admin`create database ${admin(name)}`
    await Promise.all(names.map((name) => migrate(new URL(`/${name}`, url).href)))
    const roles =
      await admin`select rolname, rolcanlogin from pg_roles where rolname like 'storerank\\_%' order by 1`
    assert.deepEqual(
      [...roles],
      [
        { rolname: 'storerank_editor', rolcanlogin: false },
        { rolname: 'storerank_reader', rolcanlogin: false },
      ],
    )
    for (const name of names) {
      const sql = connect(t, new URL(`/${name}`, url).href)
      const [row] = await sql`select has_table_privilege('storerank_reader', 'rank_history', 'select') as may`
      assert.deepEqual(row, { may: true })
    }
  })
})

function connect(t: TestContext, url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  t.after(() => sql.end())
  return sql
}
