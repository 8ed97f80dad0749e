/** Migrations by many at once, by the old and the new, by the killed, and by those who may not make roles. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import postgres from 'postgres'
import { openDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { describeOtherWriters, grantRoles, ROLES } from '../../src/db/roles.ts'
import type { Transaction } from '../../src/db/transaction.ts'
import { callCommand, runCommand, startCommand } from '../support/command.ts'
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
  test('make it once: 20 sessions, which wait longer than a statement may take', async (t) => {
    const database = await withDatabase(t)
    await database.sql.unsafe(`alter database ${database.sql.options.database} set statement_timeout = '1ms'`)
    const applied = await Promise.all(Array.from({ length: 20 }, () => migrate(database.url)))
    const stamps = await readJournal(database)
    assert.deepEqual(applied.sort(), [...Array(19).fill(false), true])
    assert.equal(new Set(stamps.map(({ stamp }) => stamp)).size, stamps.length)
  })

  test('make it once: three processes, with the tables of the queue', async (t) => {
    const database = await withDatabase(t)
    const env = { DATABASE_URL: database.url }
    const ended = await Promise.all([1, 2, 3].map(() => runCommand(t, ['migrate'], { env })))
    for (const { code, stdout, stderr } of ended) assert.deepEqual([code, stdout], [0, DONE], stderr)
    assert.ok((await database.sql`select from pgboss.version`).count > 0)
  })
})

test('who is killed in the middle leaves nothing behind, and the next one makes it all', async (t) => {
  const database = await withDatabase(t)
  const { sql } = database
  await sql.unsafe(`
    create function hold() returns event_trigger
      language plpgsql as $$ begin perform pg_advisory_xact_lock(1); end $$;
    create event trigger hold on ddl_command_end when tag in ('CREATE VIEW') execute function hold()`)
  const holder = await sql.reserve()
  await holder`select pg_advisory_lock(1)`
  const killed = startCommand(t, ['migrate'], { env: { DATABASE_URL: database.url } })
  const sessions = (state: string) => sql`
    select from pg_stat_activity
    where datname = current_database() and application_name = 'storerank migrate'
      and coalesce(wait_event, '') ~ ${state}`
  await until('the migration has come to its first view', async () => (await sessions('advisory')).count > 0)
  killed.child.kill('SIGKILL')
  await killed.ended
  await holder`select pg_advisory_unlock(1)`
  holder.release()
  await until('the server has noticed', async () => (await sessions('')).count === 0)
  await sql.unsafe('drop event trigger hold; drop function hold')
  assert.equal((await sql`select from pg_class where relnamespace = 'public'::regnamespace`).count, 0)
  assert.equal(await migrate(database.url), true)
})

describe('a storerank of another age', () => {
  test('that is older than the schema refuses with a sentence, and changes nothing', async (t) => {
    const database = await withDatabase(t, createTestDatabase)
    await database.sql`drop schema pgboss cascade`
    await migrateLater(database.sql)
    const env = { DATABASE_URL: database.url }
    for (const command of ['run', 'plan', 'status']) {
      const { code, stdout, stderr } = await callCommand([command], { env })
      assert.deepEqual(
        [command, code, stdout, stderr],
        [
          command,
          2,
          '',
          'The database was migrated by a newer storerank than this one. Update this installation; ' +
            'nothing was changed.\n',
        ],
      )
    }
    assert.equal((await database.sql`select from pg_namespace where nspname = 'pgboss'`).count, 0)
    assert.equal((await database.sql`select from ledger where account is not null`).count, 0)
  })

  test('that is newer tells readers to migrate, and brings a database in use up to date', async (t) => {
    const database = await withDatabase(t, createTestDatabase)
    const { sql } = database
    await sql`insert into keyword_watch (project, store, keyword, location_code, language_code)
      values ('fitness', 'ios_store', 'yoga', 2840, 'en')`
    // Of objects that an earlier version had test/db/objects.test.ts tells.
    await sql.unsafe(`
      drop view rank_change;
      create view rank_change as select slot, app_id as app from rank_latest;
      update drizzle.objects set version = '0.1.0', hash = 'earlier'`)
    const env = { DATABASE_URL: database.url }
    for (const command of ['plan', 'status']) {
      const { code, stdout, stderr } = await callCommand([command], { env })
      assert.deepEqual([command, code, stdout], [command, 2, ''])
      assert.match(
        stderr,
        /^The database was made by an older storerank than this one\. Run `storerank migrate` first\.\n$/,
      )
    }
    assert.equal(await migrate(database.url), true)
    assert.equal(await migrate(database.url), false)
    const plan = await callCommand(['plan', '--json'], { env })
    assert.equal(JSON.parse(plan.stdout).planned, 1, plan.stderr)
  })

  test('that is older than the objects of the schema refuses as well', async (t) => {
    const database = await withDatabase(t, createTestDatabase)
    await database.sql`update drizzle.objects set version = '0.100.0', hash = 'later'`
    await assert.rejects(migrate(database.url), {
      message: /^The database was migrated by a newer storerank than this one\./,
    })
    await database.sql`update drizzle.objects set version = '0.1.100'`
    assert.equal(await migrate(database.url), true)
  })

  test('that was never released is told of, and its database stays as it is', async (t) => {
    const database = await withDatabase(t, createTestDatabase)
    await database.sql`update drizzle.__drizzle_migrations set hash = 'of another baseline'`
    await migrateLater(database.sql)
    const { code, stderr } = await callCommand(['migrate'], { env: { DATABASE_URL: database.url } })
    assert.equal(code, 2)
    assert.match(
      stderr,
      /^The tables of this database were made by a state of storerank that was never released, .* Nothing /,
    )
  })
})

test('rights to write that a hosted database gives to others are told, and how to take them', async (t) => {
  const database = await createEmptyDatabase()
  const { sql } = database
  const anyone = `anyone_${database.sql.options.database}`
  t.after(async () => {
    await sql.unsafe(`drop owned by ${anyone}; drop role ${anyone}`)
    await database.drop()
  })
  await sql.unsafe(`create role ${anyone} nologin;
    alter default privileges in schema public grant all on tables to ${anyone}`)
  const env = { DATABASE_URL: database.url }
  const first = await callCommand(['migrate'], { env })
  const [, names, take = ''] =
    /\nOthers gave .* tables or schemas of storerank to (.*): .* Take them away: (.*); and /.exec(
      first.stdout,
    ) ?? []
  assert.equal(names, anyone, first.stdout)
  const { code, stdout } = await callCommand(['status', '--check'], { env })
  assert.deepEqual([code, stdout.split(' ')[0]], [1, 'other_writers:'], stdout)
  await sql.unsafe(take)
  // Each is a way in, and none is a right to a whole table of public.
  const ways = [
    `grant update (amount_micros) on charge to ${anyone}`,
    `grant trigger on task to ${anyone}`,
    `grant insert on drizzle.objects to ${anyone}`,
    `grant update on sequence keyword_watch_id_seq to ${anyone}`,
    `grant create on schema public to ${anyone}`,
  ]
  const db = openDatabase(database.url)
  for (const way of ways) {
    await sql.unsafe(way)
    const told = await describeOtherWriters(db.sql)
    assert.match(told ?? way, /^Others gave rights to write into 1 tables or schemas of storerank to anyone_/)
    await sql.unsafe(/Take them away: (.*); and then/.exec(told ?? '')?.[1] ?? '')
    assert.equal(await describeOtherWriters(db.sql), null, way)
  }
  await db.close()
  await sql.unsafe(`create table mine (id int); grant all on mine to ${anyone}`)
  await sql.unsafe(`create role mine_${anyone}; grant insert on keyword_watch to mine_${anyone}`)
  assert.equal((await callCommand(['migrate'], { env })).stdout, DONE)
  await sql.unsafe(`drop owned by mine_${anyone}; drop role mine_${anyone}`)
})

describe('the roles of people', () => {
  test('are not made by who may not, and have their rights once they are made', async (t) => {
    const { url } = await attach(t, await makeHome(t))
    const admin = connect(t, url)
    await admin`create role runner login password 'runs'`
    await admin`create database ranks owner runner`
    const ranks = new URL(url)
    ranks.pathname = '/ranks'
    const env = { DATABASE_URL: Object.assign(new URL(ranks), { username: 'runner', password: 'runs' }).href }
    const first = await callCommand(['migrate'], { env })
    assert.equal(first.code, 0, first.stderr)
    const [, , said = '', make = ''] =
      /^(The database .*\n)(The roles .*, because runner may not make .* runs: (.*); and then .*\n)$/.exec(
        first.stdout,
      ) ?? []
    assert.match(said, /`storerank migrate` gives them their rights/)

    await admin.unsafe(make)
    const second = await callCommand(['migrate'], { env })
    assert.deepEqual([second.code, second.stdout], [0, DONE], second.stderr)

    // The owner is no superuser here: what acts as the owner has no more rights than it needs.
    const owner = connect(t, ranks.href)
    const editor = await addPerson(owner, 'storerank_editor')
    const reader = await addPerson(owner, 'storerank_reader')
    await editor.sql`insert into keyword_watch (project, store, keyword, location_code, language_code)
      values ('fitness', 'ios_store', 'yoga', 2840, 'en')`
    await editor.sql`insert into app_watch (project, store, app_id) values ('fitness', 'ios_store', '1001')`
    await editor.sql`update keyword_watch set depth = 50`
    const rows = await reader.sql`select keyword, app_id, outcome from rank_history`
    assert.deepEqual([...rows], [{ keyword: 'yoga', app_id: '1001', outcome: 'pending' }])
    await editor.remove()
    await reader.remove()
  })

  test('are shared by the databases of a server, also when two are migrated at once', async (t) => {
    const { url } = await attach(t, await makeHome(t))
    const admin = connect(t, url)
    const names = ['one', 'two']
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

  test('have their rights also when another session commits one at this moment', async (t) => {
    const { url } = await attach(t, await makeHome(t))
    const db = openDatabase(url)
    t.after(() => db.close())
    const may = await db.begin(async (tx) => {
      let isSeen = false
      const savepoint = async <T>(work: (inner: Transaction) => Promise<T>) => {
        if (isSeen) return tx.savepoint(work)
        isSeen = true
        throw Object.assign(new Error('duplicate key value'), { code: '23505' })
      }
      const late = Object.assign(((...given: Parameters<Transaction>) => tx(...given)) as Transaction, tx, {
        savepoint,
      })
      assert.equal(
        await grantRoles(
          late,
          ROLES.map((role) => `grant create on schema public to ${role};`),
        ),
        null,
      )
      return tx`select has_schema_privilege(role, 'public', 'create') as may
        from unnest(${ROLES}::text[]) role`
    })
    assert.deepEqual([...may], [{ may: true }, { may: true }])
  })
})

function connect(t: TestContext, url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  t.after(() => sql.end())
  return sql
}
