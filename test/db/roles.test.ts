/** What people beside the runner may do in the database, tried by logging in as them. */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, before, beforeEach, describe, test } from 'node:test'
import { pino } from 'pino'
import type { Sql } from 'postgres'
import { openQueue } from '../../src/queue/queue.ts'
import { addPerson, type Person } from '../support/people.ts'
import { createWatchlist, type Watchlist } from '../support/watchlist.ts'

const WATCH_TABLES = ['project', 'keyword_watch', 'app_watch', 'chart_watch']
/** Which readers see as well. */
const REPORT_TABLES = ['alert_rule', 'annotation', 'imported_rank', 'location', 'project', 'rank_weight']
const REFERENCE_TABLES = ['app', 'category', 'language', 'location']
/** They call what runs as the owner, or read the zones of money. */
const VIEWS_FOR_ROLES = 'open_work place_problem plan_deadline spend_difference watch_cost watch_problem'
const SLOT = '2026-03-10 00:00+00'

let list: Watchlist
let owner: Sql
let editor: Person
let reader: Person

before(async () => {
  list = await createWatchlist()
  owner = list.sql
  const queue = await openQueue(urlOf(owner), pino({ level: 'silent' }))
  await queue.stop(0)
  editor = await addPerson(owner, 'storerank_editor')
  reader = await addPerson(owner, 'storerank_reader')
  await leaveSomethingInEveryView()
})
after(async () => {
  await editor.remove()
  await reader.remove()
  await list.drop()
})

function urlOf({ options: { host, port, user, pass, database } }: Sql): string {
  const login = pass === null ? user : `${user}:${pass}`
  return `postgres://${login}@${host[0]}:${port[0]}/${database}`
}

async function leaveSomethingInEveryView(): Promise<void> {
  await list.setNow('2026-03-10 13:00+00')
  await list.addKeyword()
  await list.addKeyword({ location_code: null, location_name: 'Nowhere' })
  await list.addKeyword({ project: 'research', keyword: 'zen' })
  await list.addKeyword({ project: 'research', keyword: 'Zen' })
  await owner`insert into location (store, code, name) values ('ios_store', 2840, 'United States')`
  await list.addKeyword({ location_code: null, location_name: 'United States' })
  await list.addApp({ info: true, reviews: true, location_code: 2840, language_code: 'en' })
  await list.addChart()
  await list.setNow('2026-03-11 13:00+00')
  await list.capture('yoga', SLOT, ['1001'])
  const [app] = await owner`select id from app where app_id = '1001'`
  await owner`
    insert into imported_rank (project, target_id, app, day, source, rank)
    select 'fitness', id, ${app?.id}, '2026-03-01', 'tool', 12 from target
      where function = 'app_searches' and subject = 'yoga'`
  await owner`
    insert into app_numbers (location_code, day, block, apps, votes, ratings, price_micros, currency)
    select 2840, '2026-03-10', id / 32768, array[id % 32768], '{120}', '{450}', '{990000}', 'USD' from app
    where app_id = '1001'`
  // As if neither spelling saw the other.
  await owner`
    insert into watch_period (kind, watch_id, project, target_id, every, depth, priority, started_at,
      first_slot)
    select 'keyword', k.id, k.project, target_of(k.store, 'app_searches', k.keyword, 2840, 'en'), k.every,
      k.depth, k.priority, ${SLOT}, ${SLOT}
    from keyword_watch k where k.keyword = 'Zen'`
  const [page] = await owner`insert into listing (hash, details) values ('a', '{}') returning hash`
  await list.describeApp('1001', SLOT, { app: app?.id, version: '1.0', listing_hash: page?.hash })
  await list.describeApp('1001', '2026-03-11 00:00+00', { app: app?.id, version: '1.1' })
  const review = { app: app?.id, review_id: 'r', location_code: 2840, language_code: 'en' }
  await owner`insert into review ${owner({ ...review, first_seen_at: SLOT, last_seen_at: SLOT })}`
  const slot = { target_id: 1, slot: SLOT, slot_ends_at: SLOT, priority: 1 }
  const task = { ...slot, estimate_micros: 1200, payers: [1] }
  await owner`insert into task ${owner({ ...task, state: 'failed', ended_at: SLOT, problem: 'It failed.' })}`
  const next = { slot: '2026-03-11 00:00+00', slot_ends_at: '2026-03-12 00:00+00' }
  await owner`insert into task ${owner({ ...task, ...next })}`
  await list.leaveGap('zen', SLOT, 'failed', 'It failed.')
  const charge = { kind: 'charge', project_id: 1, amount_micros: 1200, target_id: 1, slot: SLOT }
  const paid = { ...charge, service_id: 'a' }
  await owner`insert into charge ${owner([paid, { ...paid, kind: 'duplicate' }])}`
  await owner`select recount_spend()`
  // Not counted, which no transition does: spend_difference has a row of it.
  await owner`insert into charge ${owner({ ...charge, service_id: 'b' })}`
  await owner`insert into audit_difference (service_id, kind, posted_at, our_micros)
    values ('b', 'missing', ${SLOT}, 1200)`
  await owner.unsafe(`insert into account_usage (login, prices) values ('a', '[]');
    insert into service_status (api, endpoint, status) values ('app_data', '', 'ok');
    insert into job_run (job, slot, state) values ('track', '${SLOT}', 'done');
    insert into api_call (id, kind, path, runner, permit_at, deadline_at)
      values (1, 'task_post', '/', 'r', now(), now());
    insert into alert_channel (name, kind, address, problem_kind, problem)
      values ('gone', 'email', 'a@example.com', 'channel_settings', 'It is gone.');
    insert into alert_rule (project, name, kind, app_id) values ('fitness', 'r', 'listing_changed', '999');
    insert into alert_event (rule_id, subject, slot, kind, severity)
      select id, 's', '${SLOT}', kind, 'info' from alert_rule`)
}

const views = () => owner<{ name: string }[]>`
  select oid::regclass::text as name from pg_class
  where relkind = 'v' and relnamespace = 'public'::regnamespace order by 1`

/** Runs a statement and undoes what it did; the SQLSTATE of its refusal, or null. */
async function refusalOf({ sql }: Pick<Person, 'sql'>, statement: string): Promise<string | null> {
  await sql.unsafe('begin')
  try {
    await sql.unsafe(statement)
    return null
  } catch (error) {
    return (error as { code: string }).code
  } finally {
    await sql.unsafe('rollback')
  }
}

describe('the rights of people', () => {
  type Rights = Record<string, string>

  /** What a role may do, by table or view; what it may do nothing with is left out. */
  async function rightsOf(sql: Pick<Sql, 'unsafe'>, role: string): Promise<Rights> {
    const rows = await sql.unsafe<{ name: string; rights: string }[]>(
      `select c.oid::regclass::text as name, string_agg(r, ' ' order by n) as rights
       from pg_class c
       cross join unnest('{select,insert,update,delete,truncate,references,trigger}'::text[])
         with ordinality w (r, n)
       where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relnamespace not in
         ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'pg_toast'::regnamespace)
         and (has_table_privilege($1, c.oid, r)
           or r in ('select', 'insert', 'update', 'references') and has_any_column_privilege($1, c.oid, r))
       group by c.oid order by 1`,
      [role],
    )
    return Object.fromEntries(rows.map(({ name, rights }) => [name, rights]))
  }

  const sorted = (may: Rights) => Object.fromEntries(Object.entries(may).sort(([a], [b]) => (a < b ? -1 : 1)))

  async function readableViews(): Promise<Rights> {
    return Object.fromEntries((await views()).map(({ name }) => [name, 'select']))
  }

  test('to tables and views are these and no others, in every schema', async () => {
    const may = await readableViews()
    for (const table of [...REPORT_TABLES, 'money_zone']) may[table] = 'select'
    assert.deepEqual(await rightsOf(owner, reader.name), sorted(may))
    for (const table of [...WATCH_TABLES, ...REPORT_TABLES, 'alert_channel'])
      may[table] = 'select insert update delete'
    for (const table of [...REFERENCE_TABLES, 'alert_message']) may[table] = 'select'
    assert.deepEqual(await rightsOf(owner, editor.name), sorted(may))
  })

  test('hold no sequence, no schema to make things in, nothing of the queue and migrations', async () => {
    for (const { name } of [editor, reader]) {
      const [row] = await owner`
        select
          (select count(*)::int from pg_class where case relkind when 'S'
            then has_sequence_privilege(${name}, oid, 'usage, select, update') end) as sequences,
          (select array_agg(nspname::text) from pg_namespace
            where has_schema_privilege(${name}, oid, 'create')) as makes,
          (select array_agg(nspname::text order by nspname) from pg_namespace
            where nspname !~ '^pg_' and has_schema_privilege(${name}, oid, 'usage')) as uses`
      assert.deepEqual(row, { sequences: 0, makes: null, uses: ['information_schema', 'public'] })
    }
  })

  test('to functions that act as the owner are what views and dashboards call, and refusals', async () => {
    const rows = await owner<{ name: string; pinned: boolean; callers: string[] | null }[]>`
      select p.proname as name, 'search_path=public, pg_temp' = any(p.proconfig) as pinned,
        array(select r from unnest(array['public', 'storerank_editor', 'storerank_reader']) r
          where has_function_privilege(r, p.oid, 'execute')) as callers
      from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prosecdef order by 1`
    for (const { name, pinned } of rows) assert.ok(pinned, `${name} has its search path pinned`)
    const called = rows.filter(({ callers }) => callers?.length)
    assert.deepEqual(
      called.map(({ name, callers }) => [name, ...(callers ?? [])]),
      [
        ['clock_ahead', 'storerank_editor', 'storerank_reader'],
        ['forecast_lines', 'storerank_editor', 'storerank_reader'],
        ['low_balance', 'storerank_editor', 'storerank_reader'],
        ['refuse', 'public', 'storerank_editor', 'storerank_reader'],
        ['restore_hold', 'storerank_editor', 'storerank_reader'],
        ...['unknown_category', 'unknown_language', 'unknown_location'].map((name) => [
          name,
          'storerank_editor',
          'storerank_reader',
        ]),
      ],
    )
  })

  test('to functions that change something are none', async () => {
    const rows = await owner<{ name: string }[]>`
      select p.proname as name from pg_proc p
      where p.pronamespace = 'public'::regnamespace and p.provolatile = 'v'
        and p.prorettype <> 'trigger'::regtype
        and (has_function_privilege('storerank_editor', p.oid, 'execute')
          or has_function_privilege('storerank_reader', p.oid, 'execute'))`
    assert.deepEqual([...rows], [])
  })

  test('need no more than triggers that act as the owner, on every table that people write', async () => {
    const rows = await owner<{ name: string }[]>`
      select distinct p.proname as name from pg_trigger t join pg_proc p on p.oid = t.tgfoid
      where not t.tgisinternal and not p.prosecdef
        and t.tgrelid::regclass::text = any(${WATCH_TABLES}::text[])`
    assert.deepEqual([...rows], [{ name: 'refuse_simulated_time' }])
  })
})

describe('every view', () => {
  for (const who of ['an editor', 'a reader'] as const) {
    test(`shows ${who} the rows that the owner sees`, async () => {
      const person = who === 'an editor' ? editor : reader
      await person.sql`set storerank.now = '2026-03-11 13:00+00'`
      try {
        for (const { name } of await views()) {
          const count = `select count(*)::int as rows from (select to_jsonb(v) from ${name} v offset 0) v`
          const [seen] = await person.sql.unsafe(count)
          const [there] = await owner.unsafe(count)
          assert.ok(there?.rows > 0, `${name} has a row to look at: add one to leaveSomethingInEveryView`)
          assert.deepEqual([name, seen], [name, there])
        }
      } finally {
        await person.sql`reset storerank.now`
      }
    })
  }

  test('is read by a role of a person that has it alone, but for those that need one of ours', async () => {
    const refused: string[] = []
    for (const { name } of await views()) {
      const own = `create role own_role; grant select on ${name} to own_role; set role own_role`
      const code = await refusalOf({ sql: owner }, `${own}; select * from ${name}`)
      if (code !== null) refused.push(code === '42501' ? name : `${name}: ${code}`)
    }
    assert.equal(refused.join(' '), VIEWS_FOR_ROLES)
  })
})

describe('an editor', () => {
  const columns = 'project, store, keyword, location_code, language_code'
  beforeEach(() => list.setNow(''))

  /** The periods of an editor's project, as `kind subject` with a mark on those that have ended. */
  async function periods(): Promise<string[]> {
    const rows = await owner<{ text: string }[]>`
      select concat(p.kind, ' ', coalesce(t.subject, a.app_id),
        case when p.ended_at is not null then ' ended' end) as text
      from watch_period p left join target t on t.id = p.target_id left join app a on a.id = p.app
      where p.project = 'mine' order by p.id`
    return rows.map(({ text }) => text)
  }

  test('writes watches in all tables, and the triggers do their part', async () => {
    const { sql } = editor
    await sql`insert into keyword_watch (project, store, keyword, location_code, language_code)
      values ('mine', 'ios_store', 'zen', 2840, 'en'), ('mine', 'android_store', 'zen', 2840, 'en')`
    await sql`insert into app_watch (project, store, app_id, info, reviews, location_code, language_code)
      values ('mine', 'ios_store', '2001', true, true, 2840, 'en')`
    await sql`insert into chart_watch (project, collection, location_code, language_code)
      values ('mine', 'topselling_free', 2840, 'en')`
    assert.deepEqual(await periods(), [
      'keyword zen',
      'keyword zen',
      'app 2001',
      'reviews 2001',
      'chart topselling_free',
    ])
    await sql`update keyword_watch set keyword = 'calm' where store = 'ios_store' and project = 'mine'`
    await sql`update keyword_watch set enabled = false where store = 'android_store' and project = 'mine'`
    await sql`update chart_watch set depth = 50 where project = 'mine'`
    await sql`delete from app_watch where project = 'mine'`
    assert.deepEqual(await periods(), [
      'keyword zen ended',
      'keyword zen ended',
      'app 2001 ended',
      'reviews 2001 ended',
      'chart topselling_free',
      'keyword calm',
    ])
    await sql`update project set enabled = false, daily_usd = 1, timezone = 'Asia/Tokyo' where name = 'mine'`
    assert.ok((await periods()).every((text) => text.endsWith(' ended')))
    await sql`update project set enabled = true, name = 'yours' where name = 'mine'`
    await sql`update project set name = 'mine' where name = 'yours'`
    assert.deepEqual(
      (await periods()).filter((text) => !text.endsWith(' ended')),
      ['keyword calm', 'chart topselling_free'],
    )
    await sql`delete from keyword_watch where project = 'mine'`
    await sql`delete from chart_watch where project = 'mine'`
  })

  test('imports a CSV once: the same file again is refused whole, or row by row does nothing', async () => {
    const { sql } = editor
    const csv =
      'csv,ios_store,yoga,2840,en\ncsv,ios_store,"breathe, deep",2840,en\ncsv,android_store,ヨガ,2392,ja\n'
    // Not into the watches themselves: the driver hangs on a COPY that is refused.
    await sql`create temp table incoming (like keyword_watch including defaults)`
    await sql`alter table incoming alter id drop not null, alter depth drop not null`
    await pipeline(
      Readable.from([csv]),
      await sql.unsafe(`copy incoming (${columns}) from stdin csv`).writable(),
    )
    const insert = `insert into keyword_watch (${columns}) select ${columns} from incoming`
    assert.equal((await sql.unsafe(insert)).count, 3)
    const again = { code: '23505', constraint_name: 'keyword_watch_same_row_twice' }
    await assert.rejects(sql.unsafe(insert), again)
    await assert.rejects(sql.unsafe(`${insert} where keyword = 'ヨガ'`), again)
    assert.equal((await sql.unsafe(`${insert} on conflict do nothing`)).count, 0)
    await sql`discard temp`
    const rows =
      await owner`select count(*)::int as open from watch_period where project = 'csv' and ended_at is null`
    assert.deepEqual([...rows], [{ open: 3 }])
  })

  test('has a text of any kind taken for a text', async () => {
    await owner`delete from location`
    const { sql } = editor
    const keyword = `x'); drop table ranking; -- %s %I $1 \\ "`
    await sql`insert into keyword_watch (project, store, keyword, location_name, language_code)
      values (${keyword}, 'ios_store', ${keyword}, ${keyword}, 'en')`
    const [problem] = await sql`select message from watch_problem where subject = ${keyword}`
    assert.match(problem?.message, /x'\); drop table ranking/)
    assert.equal((await owner`select from ranking where gap is null`).count, 1)
  })

  test('cannot slip a table of his own under the triggers', async () => {
    const { sql } = editor
    await sql`create temp table target (like pg_class)`
    await sql`create temp table watch_period (id int)`
    await sql`create temp table project (name text)`
    await sql`set search_path = pg_temp, public`
    try {
      await sql`insert into public.app_watch (project, store, app_id) values ('slipped', 'ios_store', '3001')`
      assert.equal((await sql`select from watch_period`).count, 0)
    } finally {
      await sql`reset search_path`
      await sql`discard temp`
    }
    assert.equal((await owner`select from watch_period where project = 'slipped'`).count, 1)
  })

  test('cannot feed a trigger from a table of his own', async () => {
    const { sql } = editor
    await sql`create temp table bait (like keyword_watch)`
    const hook = (of: string) =>
      refusalOf(editor, `create trigger t after insert on pg_temp.bait for each row execute function ${of}()`)
    const machines = await owner<{ name: string }[]>`
      select distinct proname as name from pg_proc where prorettype = 'trigger'::regtype and prosecdef`
    assert.ok(machines.length > 5)
    for (const { name } of machines) assert.deepEqual([name, await hook(name)], [name, '42501'])
    await sql`discard temp`
  })

  test('writes at the present time alone, however the other one was set', async () => {
    const row = "'late', 'ios_store', 'late', 2840, 'en'"
    const ways = [
      `set local storerank.now = '2001-01-01'; insert into keyword_watch (${columns}) values (${row})`,
      `insert into keyword_watch (${columns}, note)
       values (${row}, set_config('storerank.now', '2001-01-01', true))`,
      `set local storerank.now = '2001-01-01'; update keyword_watch set every = '1 hour'`,
      `set local storerank.now = '2001-01-01'; delete from app_watch`,
      `set local storerank.now = '2001-01-01'; update project set enabled = false`,
      `create temp table pg_class as
         select oid, '${editor.name}'::regrole::oid as relowner from pg_catalog.pg_class;
       set local search_path = pg_temp, pg_catalog, public; set local storerank.now = '2001-01-01';
       insert into public.keyword_watch (${columns}) values (${row})`,
    ]
    for (const way of ways) assert.deepEqual([way, await refusalOf(editor, way)], [way, '42501'])
    assert.equal(await refusalOf(editor, `insert into keyword_watch (${columns}) values (${row})`), null)
  })
})

describe('nobody but the owner', () => {
  const TRIGGER = 'create trigger mine before insert on keyword_watch for each row'
  /** Refused for want of a right, and not for anything else that is wrong with them. */
  const forbidden = () => [
    'select * from ranking',
    'insert into charge default values',
    'delete from task',
    'truncate charge',
    'lock table ledger',
    'update ranking set app_ids = null',
    'update charge set amount_micros = 0',
    'update ledger set reserved_micros = 0',
    'select from ledger for update',
    'update watch_period set ended_at = null',
    "update app set title = 'ours'",
    "insert into location (store, code, name) values ('ios_store', 1, 'Here')",
    'truncate keyword_watch',
    'select * from pgboss.job',
    'select * from drizzle.__drizzle_migrations',
    'delete from drizzle.objects',
    'select * from pg_authid',
    "select take_call_permits('{task_get}', '{/v3}', 'me', null, 2000, 30, 1000)",
    "select target_of('ios_store', 'app_searches', 'yoga', 2840, 'en')",
    "select start_periods('keyword', '{1}')",
    "select end_periods('{1}')",
    "select ensure_history_partitions('2001-01-01', '2001-01-01')",
    'select start_missing_watch_periods()',
    "call delete_project('mine')",
    "select follow_watches('keyword', '{1}')",
    'select * from overall_money(now(), 1, 1)',
    'select * from project_money(now())',
    'select ledger_taken()',
    'select fold_spend()',
    'select recount_spend()',
    'create table mine (a int)',
    'create view mine as select 1',
    'create function mine() returns int language sql return 1',
    'create schema mine',
    'create role mine',
    'create index on keyword_watch (note)',
    `${TRIGGER} execute function suppress_redundant_updates_trigger()`,
    'create rule mine as on delete to keyword_watch do instead nothing',
    'alter table keyword_watch disable trigger all',
    'alter table keyword_watch drop constraint keyword_watch_depth_1_to_maximum_of_function',
    'alter table keyword_watch add column mine int',
    'alter function storerank_now() volatile',
    'drop view rank_history',
    "comment on view rank_history is 'mine'",
    'grant select on ranking to public',
    'grant storerank_editor to storerank_reader',
    'set session_replication_role = replica',
    `set role ${owner.options.user}`,
    `set session authorization ${owner.options.user}`,
    `alter role ${owner.options.user} login`,
    `alter database ${owner.options.database} set storerank.now = '2001-01-01'`,
    "copy keyword_watch to program 'true'",
    "copy keyword_watch from program 'true'",
    "copy rank_history to '/tmp/rank_history'",
    "select pg_read_file('/etc/passwd')",
    "select lo_import('/etc/passwd')",
  ]

  for (const who of ['an editor', 'a reader'] as const) {
    test(`may do any of this: ${who} is refused`, async () => {
      const person = who === 'an editor' ? editor : reader
      for (const statement of forbidden())
        assert.deepEqual([statement, await refusalOf(person, statement)], [statement, '42501'])
    })
  }

  test('writes a watch: a reader is refused', async () => {
    for (const table of WATCH_TABLES) {
      const reads = table === 'project' ? [] : [`select * from ${table}`]
      for (const statement of [...reads, `insert into ${table} default values`, `delete from ${table}`])
        assert.deepEqual([statement, await refusalOf(reader, statement)], [statement, '42501'])
    }
  })

  test('changes the time of others: a reader who sets it sees it alone', async () => {
    await reader.sql`set storerank.now = '2030-01-01'`
    assert.equal((await reader.sql`select from pending_slot where slot > '2029-12-01'`).count > 0, true)
    assert.equal((await editor.sql`select from pending_slot where slot > '2029-12-01'`).count, 0)
    await reader.sql`reset storerank.now`
  })
})
