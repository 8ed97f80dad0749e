/**
 * Databases of released versions, with data in them, come up to date: nothing is lost, and every view says
 * what it said.
 */
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Sql } from 'postgres'
import packageJson from '../../package.json' with { type: 'json' }
import { migrate, readSchema } from '../../src/db/migrate.ts'
import { describeSchema } from '../schema/describe.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts'

const DRIZZLE = join(import.meta.dirname, '../../drizzle')
const RELEASED = join(import.meta.dirname, 'released')
/** Of the version under way. */
const DATA = join(RELEASED, 'next.sql')

type Rows = Record<string, Record<string, unknown>[]>

/** The database as that version made it, with the data that goes with it. */
async function makeDatabase(
  t: TestContext,
  { version, folder, data }: Record<'version' | 'folder' | 'data', string>,
): Promise<TestDatabase> {
  const database = await createEmptyDatabase()
  t.after(() => database.drop())
  assert.equal(await migrate(database.url, readSchema(folder, version)), true)
  await database.sql.unsafe(`set TimeZone = 'UTC'; ${readFileSync(data, 'utf8')}`)
  return database
}

/** All rows of all tables or views ('r' or 'v'), at one business time. */
async function readRows(sql: Sql, kind: 'r' | 'v'): Promise<Rows> {
  return sql.begin(async (tx) => {
    await tx`set local storerank.now = '2026-03-11 13:00+00'`
    const names = await tx<{ name: string }[]>`
      select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in (${kind}, ${kind === 'r' ? 'p' : kind})
        and not relispartition
      order by 1`
    const rows: Rows = {}
    for (const { name } of names) {
      const found = await tx`select to_jsonb(r) as row from ${tx(name)} r order by r::text`
      rows[name] = found.map(({ row }) => row)
    }
    return rows
  }) as Promise<Rows>
}

/** Views that have more rows in a later version, which sells and tells more. */
const GROWN = ['open_work', 'unit_price']

/** A column that goes by the clock of the database, which stands still for nobody. */
const MOVING = ['due_by']

/**
 * Tables that a later version does not have: what of their rows stands in another one; nothing of those that
 * were queues of work.
 */
const DISSOLVED: Rows = {
  interval_progress: [],
  period_due: [],
  due_batch: [],
  waiting_slot: [],
  watch_twin: [],
  spelled_alike: [],
  service_account: [],
  alert_channel_problem: [],
}

/** The rows of tables where they stand in a later version. */
function carryOver({ budget_cut: cuts = [], ...tables }: Rows): Rows {
  const due = cuts.map(({ slot_ends_at, reason, cut_at: _, ...cut }) => ({
    ...cut,
    ends_at: slot_ends_at,
    cut: reason,
  }))
  const ledger = tables.ledger?.map((row) => ({ ...row, ...tables.service_account?.[0] }))
  const channels = tables.alert_channel?.map((row) => {
    const told = tables.alert_channel_problem?.find(({ channel_id }) => channel_id === row.id)
    return told === undefined ? row : { ...row, problem_kind: told.kind, problem: told.problem }
  })
  return {
    due_slot: due,
    ...tables,
    ...(ledger && { ledger }),
    ...(channels && { alert_channel: channels }),
    ...DISSOLVED,
  }
}

/** What was there is there, in the columns that both have; sentences of a view may change. */
function assertKept(before: Rows, after: Rows, said?: 'message'): void {
  for (const [name, rows] of Object.entries(before)) {
    const [first = {}] = rows
    const [has = first] = after[name] ?? []
    const columns = Object.keys(first).filter(
      (column) => column in has && column !== said && !MOVING.includes(column),
    )
    const texts = (all: Rows[string]) =>
      all.map((row) => JSON.stringify(columns.map((one) => row[one]))).sort()
    const had = texts(rows)
    const kept = texts(after[name] ?? []).filter((row) => !GROWN.includes(name) || had.includes(row))
    assert.deepEqual([name, ...kept], [name, ...had])
  }
}

const versions = readdirSync(RELEASED, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name: version }) => {
    const folder = join(RELEASED, version)
    return { version, folder, data: join(folder, 'data.sql') }
  })
const present = { version: packageJson.version, folder: DRIZZLE, data: DATA }

for (const released of [...versions, present]) {
  const name = released === present ? 'the present version' : released.version
  test(`a database of ${name} comes up to date with all that is in it`, async (t) => {
    const { sql, url } = await makeDatabase(t, released)
    const tables = await readRows(sql, 'r')
    const views = await readRows(sql, 'v')
    for (const [view, rows] of Object.entries(views)) {
      // It has rows only where the books are broken.
      assert.equal(rows.length > 0, view !== 'spend_difference', `${view} shows something`)
    }
    assert.equal(await migrate(url), released !== present)
    assertKept(carryOver(tables), await readRows(sql, 'r'))
    assertKept(views, await readRows(sql, 'v'), 'message')
    const fresh = await createTestDatabase()
    t.after(() => fresh.drop())
    assert.equal(await describeSchema(sql), await describeSchema(fresh.sql))
  })
}

test('each release of the changelog is among them', () => {
  const changelog = readFileSync(join(import.meta.dirname, '../../CHANGELOG.md'), 'utf8')
  const released = [...changelog.matchAll(/^## \[(\d[\d.]*)\]/gm)].map(([, version]) => version)
  assert.deepEqual(versions.map(({ version }) => version).sort(), released.sort())
})

/** drizzle/ as a later version may have it, with a migration of its own. */
function writeLaterVersion(t: TestContext, migration: string) {
  const folder = mkdtempSync(join(tmpdir(), 'storerank-later-'))
  t.after(() => rmSync(folder, { recursive: true }))
  cpSync(DRIZZLE, folder, { recursive: true })
  const journalFile = join(folder, 'meta/_journal.json')
  const journal = JSON.parse(readFileSync(journalFile, 'utf8'))
  const last = journal.entries.at(-1)
  journal.entries.push({ ...last, idx: last.idx + 1, when: last.when + 1, tag: 'later' })
  writeFileSync(journalFile, JSON.stringify(journal))
  writeFileSync(join(folder, 'later.sql'), migration)
  return readSchema(folder, '99.0.0')
}

const TABLES_CHANGE = `
  alter table app alter column title type varchar(300);
  alter table charge alter column amount_micros type numeric;
  alter table keyword_watch add column color text not null default 'none';
  alter table watch_period add column color text not null default clock_timestamp()::text`

test('a later version changes columns that our views and functions read, and nothing is lost', async (t) => {
  const { sql, url } = await makeDatabase(t, present)
  const tables = await readRows(sql, 'r')
  const views = await readRows(sql, 'v')
  await sql`create view mine as select * from owed_slot`
  assert.equal(await migrate(url, writeLaterVersion(t, TABLES_CHANGE)), true)
  assertKept(tables, await readRows(sql, 'r'))
  assertKept(views, await readRows(sql, 'v'), 'message')
  assert.ok((await sql`select from mine`).count > 0)
  await assert.rejects(migrate(url), {
    message: /^The database was migrated by a newer storerank than this one\./,
  })
})

test('a version that changes a column which a view of a person reads is refused by its name', async (t) => {
  const { sql, url } = await makeDatabase(t, present)
  const later = writeLaterVersion(t, TABLES_CHANGE)
  await sql`create view mine as select title from rank_history`
  await assert.rejects(migrate(url, later), {
    code: 'configuration',
    message:
      /^A table could not be changed: .* view public\.mine uses it\. Drop what is yours .* was changed\.$/,
  })
  await sql`drop view mine`
  await sql`create view mine as select title from app`
  await assert.rejects(migrate(url, later), {
    message: /^A table could not be changed: .*\bview mine\b.* nothing was changed\.$/,
  })
  await sql`drop view mine`
  assert.equal(await migrate(url, later), true)
})

test('a view of a person on a table that goes, or on a view of it, is refused by its name', async (t) => {
  const [released] = versions
  assert.ok(released)
  const { sql, url } = await makeDatabase(t, released)
  for (const used of ['watch_twin', 'watch_problem', 'open_work']) {
    await sql`create view mine as select * from ${sql(used)}`
    await assert.rejects(migrate(url), {
      code: 'configuration',
      message: /^A table could not be changed: .*\bview (public\.)?mine\b.* nothing was changed\.$/s,
    })
    await sql`drop view mine`
  }
  assert.equal(await migrate(url), true)
})

test('rows that are gone, or say something else, would be noticed', async (t) => {
  const { sql } = await makeDatabase(t, present)
  const before = await readRows(sql, 'v')
  for (const change of [
    'delete from charge',
    'delete from spend where reserved_micros > 0',
    "update ranking set app_ids = '{2}' where app_ids is not null",
    'delete from watch_period',
  ]) {
    await sql.unsafe(change)
    const after = await readRows(sql, 'v')
    assert.throws(() => assertKept(before, after), change)
  }
})
