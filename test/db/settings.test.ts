/** Whatever a login or a database was given as its settings, storerank works, or says why it does not. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { parse } from 'csv-parse/sync'
import postgres from 'postgres'
import { JOBS } from '../../jobs/index.ts'
import {
  PLANNING_SETTINGS,
  SEMANTIC_SETTINGS,
  toStartupOptions,
  WRITER_SETTINGS,
} from '../../src/db/connection.ts'
import { openDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { type DatabaseNature, findObstacle } from '../../src/db/requirements.ts'
import { runCycle } from '../../src/queue/cycle.ts'
import { startRunner } from '../../src/queue/runner.ts'
import { importWatches } from '../../src/watch/import.ts'
import { callCommand } from '../support/command.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { createWorld, type World } from '../support/world.ts'

/** Of each setting of ours, a value that another program may have wanted for the login. */
const HOSTILE: Record<keyof typeof WRITER_SETTINGS, string> = {
  search_path: 'somewhere',
  TimeZone: 'America/St_Johns',
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'iso_8601',
  array_nulls: 'off',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  quote_all_identifiers: 'on',
  standard_conforming_strings: 'off',
  transform_null_equals: 'on',
  default_transaction_read_only: 'on',
  default_transaction_deferrable: 'on',
  default_transaction_isolation: 'serializable',
  synchronous_commit: 'off',
  statement_timeout: '1ms',
  lock_timeout: '1ms',
  idle_session_timeout: '1ms',
  jit: 'on',
  constraint_exclusion: 'on',
}

/** An empty database that belongs to a login with the settings; `url` logs in as it. */
async function createDatabaseWith(settings: Readonly<Record<string, string>>): Promise<TestDatabase> {
  const database = await createEmptyDatabase()
  const { sql } = database
  const login = `login_${randomBytes(6).toString('hex')}`
  const url = new URL(database.url)
  await sql.unsafe(`create role ${login} login password 'hush'`)
  await sql`alter database ${sql(url.pathname.slice(1))} owner to ${sql(login)}`
  for (const [name, value] of Object.entries(settings)) {
    await sql.unsafe(`alter role ${login} set ${name} = '${value}'`)
  }
  Object.assign(url, { username: login, password: 'hush' })
  return {
    url: url.href,
    sql,
    async drop() {
      await sql.unsafe(`reassign owned by ${login} to current_user`)
      await sql.unsafe(`drop owned by ${login}`)
      await sql.unsafe(`drop role ${login}`)
      await database.drop()
    },
  }
}

async function openWorld(t: TestContext, database: TestDatabase): Promise<World> {
  await migrate(database.url)
  const world = await createWorld({ database })
  t.after(() => world.close())
  return world
}

/** The whole cycle over watches with everything in them that the settings bear upon. */
async function measure(world: World): Promise<void> {
  await world.db.sql`
    insert into keyword_watch (project, store, keyword, location_name, language_code, every, tags, depth)
    select 'fitness', 'ios_store', keyword, 'United States', 'en', '1 day', '{"a null","back\\\\slash"}', 10
    from unnest(array['yoga', 'c++', '100% free', 'naïve', '日本語', 'back\\slash']) keyword`
  await world.db.sql`
    insert into app_watch (project, store, app_id, info, reviews, location_code, language_code)
    values ('fitness', 'ios_store', '1480010017', true, true, 2840, 'en')`
  await world.db.sql`
    insert into chart_watch (project, collection, location_code, language_code)
    values ('fitness', 'topselling_free', 2840, 'en')`
  const { context, stop } = await world.openRunner()
  const quiet = { waitMs: 60_000, onPhase: () => {}, onProgress: () => {} }
  const { plan, outstanding } = await runCycle(context, await startRunner(context, []), JOBS, quiet)
  await stop()
  assert.equal(plan.planned, 9)
  assert.deepEqual([outstanding.planned, outstanding.posting, outstanding.posted], [0, 0, 0])
  const failed = await world.db.sql`select outcome, count(*)::int from rank_history
    where outcome not in ('ranked', 'not_in_top') group by 1`
  assert.deepEqual([...failed], [])
  assert.deepEqual([...(await world.db.sql`table rejected_result`)], [])
  assert.deepEqual([...(await world.db.sql`table task_problem`)], [])
  assert.deepEqual([...(await world.db.sql`table watch_problem`)], [])
}

const VIEWS =
  `select oid::regclass::text as name from pg_class where relkind = 'v' and relnamespace = ` +
  `'public'::regnamespace`

describe('every setting of a login that our statements stand on', () => {
  test('is our own in every session, and the login has it otherwise', async (t) => {
    const database = await createDatabaseWith(HOSTILE)
    t.after(() => database.drop())
    const db = openDatabase(database.url)
    const session = db.openSession(60_000)
    t.after(() => Promise.all([session.end(), db.close()]))
    const ours: Record<string, string> = WRITER_SETTINGS
    for (const [name, hostile] of Object.entries(HOSTILE)) assert.notEqual(ours[name], hostile)
    for (const name of Object.keys(WRITER_SETTINGS)) {
      const [row] = await db.sql`select current_setting(${name}) as value`
      assert.deepEqual([name, row?.value], [name, ours[name]])
    }
    const [row] = await session`select current_setting('DateStyle') as style,
        current_setting('idle_session_timeout') as idle`
    assert.deepEqual(row, { style: WRITER_SETTINGS.DateStyle, idle: '1min' })
  })

  test(
    'is our own where `sql` and `export` ask for a person, as far as it says what a value is and what a ' +
      'plan costs',
    async (t) => {
      const ours = { ...SEMANTIC_SETTINGS, ...PLANNING_SETTINGS }
      const names = Object.keys(ours) as (keyof typeof ours)[]
      const database = await createDatabaseWith(
        Object.fromEntries(names.map((name) => [name, HOSTILE[name]])),
      )
      t.after(() => database.drop())
      await migrate(database.url)
      const query = `select ${names.map((name) => `current_setting('${name}') as "${name}"`)}`
      const env = { DATABASE_URL: database.url, LOG_LEVEL: 'error' }
      for (const args of [
        ['sql', query, '--csv'],
        ['export', query],
      ]) {
        const { stdout, stderr } = await callCommand(args, { env })
        assert.equal(stderr, '')
        assert.deepEqual(parse(stdout, { columns: true }), [ours])
      }
    },
  )

  test('may be otherwise: what is watched is migrated, planned, posted, collected and shown', async (t) => {
    const world = await openWorld(t, await createDatabaseWith(HOSTILE))
    await measure(world)
    for (const { name } of await world.db.sql.unsafe(VIEWS)) {
      await world.db.sql.unsafe(`select to_jsonb(v) from ${name} v`)
    }
  })

  test('may be otherwise for a person, who writes watches and reads views', async (t) => {
    const world = await createWorld()
    t.after(() => world.close())
    await measure(world)
    const its = Object.fromEntries(
      Object.keys(SEMANTIC_SETTINGS).map((name) => [name, HOSTILE[name as keyof typeof SEMANTIC_SETTINGS]]),
    )
    const person = postgres(new URL(world.db.url).href, {
      max: 1,
      connection: { options: toStartupOptions(its) },
    })
    t.after(() => person.end())
    await person`insert into public.keyword_watch (project, store, keyword, location_name, language_code)
      values ('fitness', 'ios_store', 'zen', 'united states', 'en')`
    await person`update public.keyword_watch set every = '2 days' where keyword = 'zen'`
    await person`insert into public.project (name, timezone) values ('other', 'Europe/Berlin')`
    await person`delete from public.app_watch`
    for (const { name } of await world.db.sql.unsafe(VIEWS)) {
      await person.unsafe(`select to_jsonb(v) from public.${name} v`)
    }
    const [row] = await world.db
      .sql`select outcome from rank_history where keyword = 'zen' and app_id = '1480010017'`
    assert.equal(row, undefined)
  })
})

test('a database in Turkish finds places without regard to case, and refuses what it must', async (t) => {
  const database = await createEmptyDatabase(`locale_provider icu icu_locale 'tr-TR' locale 'C'`)
  assert.deepEqual([...(await database.sql`select lower('I') as small`)], [{ small: 'ı' }])
  const world = await openWorld(t, database)
  const { sql } = world.db
  await measure(world)
  const add = (name: string, language = 'en') => sql`
    insert into keyword_watch (project, store, keyword, location_name, language_code)
    values ('fitness', 'ios_store', 'calm', ${name}, ${language})`
  await add('UNITED STATES')
  await assert.rejects(add('united states'), { constraint_name: 'keyword_watch_same_row_twice' })
  await assert.rejects(add('BELARUS', 'fr'), { constraint_name: 'keyword_watch_location_country_supported' })
  await assert.rejects(add('RUSSIA', 'fr'), { constraint_name: 'keyword_watch_location_country_supported' })
  await assert.rejects(add('UNITED STATIS', 'de'), { message: /Did you mean "United States"\?/ })
  const csv =
    'project,store,keyword,location_name,language_code,note\nfitness,ios_store,calm,United ' +
    'STATES,en,soothing\n'
  const { added, changed, refused } = await importWatches(world.db, csv)
  assert.deepEqual({ added, changed, refused }, { added: 0, changed: 1, refused: [] })
})

describe('what no session can set is told', () => {
  test('when it begins: a database in LATIN1 is refused by migrate, run and start', async (t) => {
    const database = await createEmptyDatabase(`encoding 'LATIN1' locale 'C'`)
    t.after(() => database.drop())
    for (const command of ['migrate', 'run', 'start']) {
      const env = { DATABASE_URL: database.url, LOG_LEVEL: 'error' }
      const { code, stdout, stderr } = await callCommand([command], { env })
      assert.deepEqual([command, code, stdout], [command, 2, ''])
      assert.match(stderr, /^The database \w+ is encoded in LATIN1, [^\n]+\n$/)
    }
    assert.equal(
      (await database.sql`select from pg_class where relnamespace = 'public'::regnamespace`).count,
      0,
    )
  })

  const FIT: DatabaseNature = {
    database: 'ranks',
    version: '18.4',
    versionNumber: 180_004,
    encoding: 'UTF8',
    transactionTimeout: '0',
    replicationRole: 'origin',
  }
  const obstacles: [what: string, Partial<DatabaseNature>, RegExp | null][] = [
    ['nothing is wrong', {}, null],
    ['PostgreSQL 15', { versionNumber: 150_000, version: '15.0', transactionTimeout: null }, null],
    [
      'an older server',
      { versionNumber: 140_011, version: '14.11' },
      /^The database server is PostgreSQL 14\.11; storerank needs 15 or later\./,
    ],
    [
      'another encoding',
      { encoding: 'LATIN1' },
      /^The database ranks is encoded in LATIN1, .* encoding 'UTF8'/,
    ],
    [
      'a limit to transactions',
      { transactionTimeout: '5s' },
      /transaction_timeout of 5s, .* set transaction_timeout = 0/,
    ],
    ['triggers that do not run', { replicationRole: 'replica' }, /session_replication_role replica, .*reset/],
  ]
  for (const [what, change, sentence] of obstacles) {
    test(what, () => {
      const obstacle = findObstacle({ ...FIT, ...change })
      if (sentence === null) assert.equal(obstacle, null)
      else assert.match(obstacle ?? '', sentence)
    })
  }
})
