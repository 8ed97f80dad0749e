import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { migrate } from '../../src/db/migrate.ts'
import { dumpDatabase, restoreDatabase } from '../../src/embedded/dump.ts'
import { ConfigurationError, UnavailableError } from '../../src/errors.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/embedded.ts'
import { createWatchlist, type Watchlist } from '../support/watchlist.ts'

let list: Watchlist
let file: Buffer
/** What the database had then. */
let dumped: Record<string, string[]>
before(async () => {
  list = await createWatchlist()
  const note = 'tab\t, line\nand \\., \\N, "quotes" and ✓'
  await list.addKeyword({ keyword: 'c\\d ヨガ', note, tags: ['a b', '{"x"}'] })
  await list.addKeyword({ keyword: 'calm' })
  await list.addApp({ label: 'Ours' })
  for (const month of ['01', '02', '12']) {
    await list.setNow(`2025-${month}-10T12:00:00Z`)
    await list.capture('calm', `2025-${month}-10T00:00:00Z`, ['1001', '2002'])
  }
  await list.leaveGap('calm', '2025-12-11T00:00:00Z', 'failed', 'a \u2028 b \\.')
  await list.sql`delete from keyword_watch where keyword = 'calm'`
  // One that is set, and has given no number since.
  await list.sql`alter table app_watch alter id restart with 5000`
  file = await dump()
  dumped = await readAll(list.sql as unknown as TestDatabase['sql'])
})
after(() => list.drop())

function dump(onForeign?: (tables: readonly string[]) => void): Promise<Buffer> {
  return buffer(dumpDatabase(list.url, '0.0.0', onForeign))
}

async function* pieces(bytes: Buffer, size = 1000): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
}

/** All rows of all tables, as text. */
async function readAll(sql: TestDatabase['sql']): Promise<Record<string, string[]>> {
  const tables = await sql<{ name: string }[]>`
    select relname::text as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`
  const all: Record<string, string[]> = {}
  for (const { name } of tables) {
    const rows = await sql<{ row: string }[]>`select t::text as row from ${sql(name)} t order by 1`
    all[name] = rows.map(({ row }) => row)
  }
  return all
}

test('a dump that is restored has the same rows, and goes on counting where the old one ended', async (t) => {
  const target = await createTestDatabase()
  t.after(() => target.drop())
  assert.ok((await restoreDatabase(target.url, pieces(file))).tables > 20)
  assert.deepEqual(await readAll(target.sql), dumped)
  const insert = `insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('new', 'ios_store', 'sleep', 2840, 'en') returning id::int`
  assert.deepEqual([...(await target.sql.unsafe(insert))], [...(await list.sql.unsafe(insert))])
  await list.sql`delete from keyword_watch where project = 'new'`
  const [period] = await target.sql`select count(*)::int as open from watch_period where project = 'new'
      and ended_at is null`
  assert.equal(period?.open, 1)
  const [app] = await target.sql`
    insert into app_watch (project, store, app_id) values ('new', 'ios_store', '1003') returning id::int`
  assert.equal(app?.id, 5000)
})

test('no whole dump, one of other tables, or for a database in use is refused as a whole', async (t) => {
  const target = await createTestDatabase()
  t.after(() => target.drop())
  const refused = async (bytes: Buffer, reason: RegExp) => {
    await assert.rejects(
      restoreDatabase(target.url, pieces(bytes)),
      (error) => error instanceof ConfigurationError && reason.test(error.message),
    )
    const [row] = await target.sql`select (select count(*) from project)::int as projects,
        (select count(*) from ledger)::int as ledgers`
    assert.deepEqual(row, { projects: 0, ledgers: 1 })
  }
  await refused(Buffer.from(''), /no dump of storerank/)
  await refused(Buffer.from('-- PostgreSQL database dump\n'), /no dump of storerank/)
  await refused(file.subarray(0, file.length - 5), /damaged|ends too early/)
  const text = file.toString()
  for (const [from, to, reason] of [
    [/\n/, '\ndrop table project;\n', /damaged/],
    // At the end of its COPY, and at the row itself.
    [/(copy public\."project" .*\n)(.*\n)/, '$1$2$2', /rows of project .* damaged/],
    [/(copy public\."project" .*\n)/, '$1x\n', /rows of project .* damaged/],
    [/"migrations":\["/, '"migrations":["x', /made by storerank 0\.0\.0 with other tables/],
    ['Ours', 'Mine', /rows of app_watch are not those of the dump/],
  ] as const)
    await refused(Buffer.from(text.replace(from, to)), reason)
  await target.sql`insert into project (name) values ('mine')`
  await assert.rejects(
    restoreDatabase(target.url, pieces(file)),
    /The database is not empty: project has rows\./,
  )
})

/** Pieces that end the session of the restore behind so many bytes. */
async function* cutAfter(bytes: number, sql: TestDatabase['sql']): AsyncGenerator<Buffer> {
  const sessions = () => sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database()
      and application_name = 'storerank dump'`
  let sent = 0
  let isCut = false
  for await (const piece of pieces(file)) {
    if (sent >= bytes && !isCut) {
      isCut = true
      const [session] = await sessions()
      assert.ok(session)
      await sql`select pg_terminate_backend(${session.pid})`
      const isGone = async () => !(await sessions()).some(({ pid }) => pid === session.pid)
      await until('the session is gone', isGone)
    }
    yield piece
    sent += piece.length
  }
}

test('a restore whose session is lost in the middle changes nothing, and may be run again', async (t) => {
  const target = await createTestDatabase()
  t.after(() => target.drop())
  const untouched = await readAll(target.sql)
  for (const part of [0.3, 0.9]) {
    await assert.rejects(
      restoreDatabase(target.url, cutAfter(file.length * part, target.sql)),
      (error) => error instanceof UnavailableError && /Nothing was changed/.test(error.message),
    )
    assert.deepEqual(await readAll(target.sql), untouched)
  }
  assert.ok((await restoreDatabase(target.url, pieces(file))).tables > 20)
})

test('the owner of an empty database, no superuser, restores into it; rules hold again then', async (t) => {
  const target = await createEmptyDatabase()
  const url = new URL(target.url)
  const role = `owner_${randomBytes(6).toString('hex')}`
  await target.sql.unsafe(`create role ${role} login password 'x'`)
  t.after(async () => {
    await target.sql.unsafe(
      `reassign owned by ${role} to current_user; drop owned by ${role}; drop role ${role}`,
    )
    await target.drop()
  })
  const database = url.pathname.slice(1)
  await target.sql.unsafe(
    `alter database "${database}" owner to ${role}; alter schema public owner to ${role}`,
  )
  Object.assign(url, { username: role, password: 'x' })
  await migrate(url.href)
  const keys = () => target.sql`
    select conname, pg_get_constraintdef(oid) as rule, convalidated from pg_constraint
    where contype = 'f' order by 1`
  const before = await keys()
  await target.sql.unsafe(`alter role ${role} set default_transaction_read_only = on`)
  await restoreDatabase(url.href, pieces(file))
  assert.deepEqual(await readAll(target.sql), dumped)
  assert.deepEqual(await keys(), before)
  assert.deepEqual([...(await target.sql`select tgname from pg_trigger where tgenabled <> 'O'`)], [])
})

test('a dump names the tables that it does not carry, and can be restored', async (t) => {
  await list.sql`create schema mine create table notes (id int)`
  await list.sql`create table scores as select 1 as id`
  await list.sql`create materialized view best as select 1 as id`
  t.after(() => list.sql.unsafe('drop schema mine cascade; drop table scores; drop materialized view best'))
  const named: string[] = []
  const dumpedNow = await dump((tables) => named.push(...tables))
  assert.deepEqual(named, ['best', 'mine.notes', 'scores'])
  assert.match(String(dumpedNow), /"without":\["best","mine\.notes","scores"\]/)
  const target = await createTestDatabase()
  t.after(() => target.drop())
  await restoreDatabase(target.url, pieces(dumpedNow))
  const { scores, ...carried } = await readAll(list.sql as unknown as TestDatabase['sql'])
  assert.equal(scores?.length, 1)
  assert.deepEqual(await readAll(target.sql), carried)
})
