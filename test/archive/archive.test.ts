/**
 * Months of the history as files: readable by another implementation, whole or not at all, and dropped only
 * when they were compared.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, describe, test } from 'node:test'
import { DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api'
import { type Archived, archiveMonths } from '../../src/archive/archive.ts'
import { sql } from '../../src/db/sql.ts'
import { createPlanning } from '../support/planning.ts'

const planning = await createPlanning()
const { db } = planning
const home = await mkdtemp(join(tmpdir(), 'archive-'))
const duck = await (await DuckDBInstance.create(':memory:')).connect()
// It writes instants in the time zone of the process.
DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0
after(async () => {
  duck.closeSync()
  await planning.drop()
  await rm(home, { recursive: true })
})

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(home, 'to-'))
  await planning.clear()
  await db.sql`truncate app_numbers`
  for (const table of ['ranking', 'app_snapshot', 'page'])
    for (const { name } of await db.sql<{ name: string }[]>`
      select inhrelid::regclass::text as name from pg_inherits where inhparent = ${table}::text::regclass`)
      await db.sql`drop table ${sql.identifier(name)}`
  await planning.setNow('2026-01-30 00:00+00')
  await planning.watch('p', ['yoga', 'ヨガ "x", {y}'])
  await db.sql`insert into app_watch (project, store, app_id, info, location_code, language_code)
    values ('p', 'ios_store', '1001', true, 2840, 'en')`
  await planning.setNow('2026-02-03 00:00+00')
  await db.sql`select ensure_history_partitions('2026-01-01', '2026-02-28')`
  await db.sql`insert into app (store, app_id, title) values ('ios_store', '1002', 'Zen'),
    ('ios_store', 'odd "id", \\ {x}', 'Odd')`
  await db.sql`
    insert into ranking (target_id, slot, captured_at, depth, results_count, app_ids, absolute, paid_ids,
      paid_places)
    select t.id, '2026-01-30', '2026-01-30 00:05:06.123456+00', 100, 9007199254740993, array[
      (select id from app where app_id = '1002'), 0, (select id from app where app_id like 'odd%')],
        '{1,3,4}', array(select id from app where app_id like 'odd%'), '{2}'
    from target t where t.subject = 'yoga'`
  await db.sql`update target set check_url = 'https://example.com/?a=1' where subject = 'yoga'`
  await db.sql`insert into listing (hash, title, description, images, details)
    values ('\\x01', 'Zen', 'Ein—Text', '{"a,b",c}', '{"a": [1]}')`
  await db.sql`
    insert into app_snapshot (target_id, slot, captured_at, app, found, rating, price_micros, is_free,
      released_at, listing_hash)
    select t.id, '2026-01-31', '2026-01-31 01:00+00', a.id, true, 4.5, 990000, false, '2020-02-29', '\\x01'
    from target t, app a where t.function = 'app_info' and a.app_id = '1001'`
  await planning.closeSlots()
  await planning.setNow('2026-06-15')
  await db.sql`update keyword_watch set enabled = false`
  await db.sql`update app_watch set enabled = false`
  await planning.closeSlots()
})

async function archive(before = '2026-03-01', drops = false): Promise<Archived[]> {
  const options = { before: new Date(before), folder, drops, signal: new AbortController().signal }
  return collectAll(archiveMonths(db, options))
}

async function collectAll(months: AsyncIterable<Archived>): Promise<Archived[]> {
  const all: Archived[] = []
  for await (const month of months) all.push(month)
  return all
}

const told = (archived: readonly Archived[]) =>
  archived.map(({ file, rows, isNew, isDropped }) => {
    const name = file.slice(folder.length + 1)
    return `${name} ${rows} ${isNew ? 'new' : 'there'}${isDropped ? ' dropped' : ''}`
  })

const read = async (query: string) => (await duck.runAndReadAll(query)).getRowObjectsJson()
const rankings = async () => (await db.sql`select from ranking`).count

describe('an archive', () => {
  test('has a file of each table and month, and leaves the database as it is', async () => {
    const before = await rankings()
    const files = [
      ...['ranking-2026-01.parquet 4', 'app_snapshot-2026-01.parquet 2'],
      ...['ranking-2026-02.parquet 56', 'app_snapshot-2026-02.parquet 28'],
    ]
    for (const state of ['new', 'there']) {
      assert.deepEqual(
        told(await archive()),
        files.map((file) => `${file} ${state}`),
      )
    }
    assert.equal(await rankings(), before)
  })

  test('leaves no draft of a run that was killed, and one that may be at work alone', async () => {
    const [dead, young] = [
      '.ranking-2026-01.parquet.0a1b2c3d.draft',
      '.ranking-2026-02.parquet.0a1b2c3d.draft',
    ]
    for (const name of [dead, young]) await writeFile(join(folder, name), 'PAR1')
    await utimes(join(folder, dead), new Date(), new Date(Date.now() - 2 * 3_600_000))
    await archive('2026-02-01')
    const names = await readdir(folder)
    assert.deepEqual(names.sort(), [young, 'app_snapshot-2026-01.parquet', 'ranking-2026-01.parquet'])
  })

  test('is read by DuckDB as it stood in the database, by the two lines of docs/operations.md', async () => {
    await archive('2026-02-01')
    const docs = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8')
    const [, lines = ''] = /```sql\n(create view ranking as .*?)```/s.exec(docs) ?? []
    assert.ok(lines)
    const [, captured] = await (async () => {
      const results = []
      for (const line of lines.replaceAll('/srv/ranks', folder).trim().split(/;\s*/).filter(Boolean))
        results.push(await read(line))
      return results
    })()
    assert.deepEqual(captured, [
      { slot: '2026-01-30 00:00:00+00', keyword: 'yoga', rank: '1', app_id: '1002' },
      { slot: '2026-01-30 00:00:00+00', keyword: 'yoga', rank: '3', app_id: 'odd "id", \\ {x}' },
    ])
    const rows = await read(`select * from '${folder}/ranking-2026-01.parquet' order by slot, target_id`)
    assert.deepEqual(
      rows.map(({ subject, slot, gap }) => [subject, slot, gap]),
      [
        ['yoga', '2026-01-30 00:00:00+00', null],
        ['ヨガ "x", {y}', '2026-01-30 00:00:00+00', 'missed'],
        ['yoga', '2026-01-31 00:00:00+00', 'missed'],
        ['ヨガ "x", {y}', '2026-01-31 00:00:00+00', 'missed'],
      ],
    )
    const { target_id: _, ...first } = rows[0] ?? {}
    assert.deepEqual(first, {
      ...{ slot: '2026-01-30 00:00:00+00', captured_at: '2026-01-30 00:05:06.123456+00' },
      ...{ store: 'ios_store', function: 'app_searches', subject: 'yoga', category: null },
      ...{ location_code: 2840, language_code: 'en', gap: null, reason: null, depth: 100 },
      ...{ results_count: '9007199254740993', check_url: 'https://example.com/?a=1' },
      ...{ app_ids: ['1002', null, 'odd "id", \\ {x}'], absolute: [1, 3, 4] },
      ...{ paid_app_ids: ['odd "id", \\ {x}'], paid_places: [2] },
    })
    const pages = await read(`select app_id, rating, price_micros, is_free, released_at, images, details
      from '${folder}/app_snapshot-2026-01.parquet' where gap is null`)
    assert.deepEqual(
      pages.flatMap((page) => Object.values(page)),
      ['1001', 4.5, '990000', false, '2020-02-29 00:00:00+00', ['a,b', 'c'], '{"a": [1]}'],
    )
  })

  test('drops a month only with --drop, and what was archived before is compared again', async () => {
    await archive('2026-02-01')
    assert.deepEqual(told(await archive('2026-03-01', true)), [
      'ranking-2026-01.parquet 4 there dropped',
      'app_snapshot-2026-01.parquet 2 there dropped',
      'ranking-2026-02.parquet 56 new dropped',
      'app_snapshot-2026-02.parquet 28 new dropped',
    ])
    const [left] = await db.sql`select min(slot) as slot from ranking`
    assert.deepEqual(left?.slot, new Date('2026-03-01'))
    assert.deepEqual(await archive('2026-03-01', true), [])
    assert.equal((await planning.closeSlots()).missed, 0)
  })

  test('has the numbers of apps, entry for entry, and drops those of its months alone', async () => {
    await db.sql`
      insert into app_numbers (location_code, day, block, apps, votes, ratings, price_micros, currency)
      select 2840, day::date, a.id / 32768, array[a.id % 32768], array[7], null, '{990000}', 'USD'
      from app a, unnest(array['2026-01-31', '2026-02-01', '2026-03-01']) day where a.app_id = '1002'`
    assert.deepEqual(told(await archive('2026-03-01', true)).slice(0, 1), [
      'app_numbers-2026-01.parquet 1 new dropped',
    ])
    const query = `select day::text as day, * exclude (day) from '${folder}/app_numbers-2026-02.parquet'`
    assert.deepEqual(await read(query), [
      {
        ...{ day: '2026-02-01', store: 'ios_store', app_id: '1002', location_code: 2840, votes: 7 },
        ...{ rating: null, price: 0.99, currency: 'USD' },
      },
    ])
    const left = await db.sql`select day::text from app_numbers`
    assert.deepEqual(
      left.map(({ day }) => day),
      ['2026-03-01'],
    )
  })

  test('refuses a file that differs in a value, in length, or is none, and drops nothing', async () => {
    await archive('2026-02-01')
    const file = join(folder, 'ranking-2026-01.parquet')
    const whole = await readFile(file)
    const change = async (statement: string, back: string, differs: RegExp) => {
      await db.sql.unsafe(statement)
      await assert.rejects(archive('2026-02-01', true), differs)
      await db.sql.unsafe(back)
    }
    await change(
      `update ranking set captured_at = captured_at + interval '1 microsecond'`,
      `update ranking set captured_at = captured_at - interval '1 microsecond'`,
      /stands there and is not what the database has: row 1 has another captured_at\. Nothing was changed/,
    )
    await change(
      `update ranking set absolute = '{1,3,5}' where absolute is not null`,
      `update ranking set absolute = '{1,3,4}' where absolute is not null`,
      /row 1 has another absolute/,
    )
    await change(
      `insert into ranking (target_id, slot, gap) values (999, '2026-01-31 23:00+00', 'missed')`,
      `delete from ranking where target_id = 999`,
      /it ends after 4 rows/,
    )
    await change(
      `delete from ranking where slot = '2026-01-31'`,
      `insert into ranking (target_id, slot, gap, reason) select id, '2026-01-31', 'missed', 'Nothing ` +
        `ran while it was due.' from target where function = 'app_searches'`,
      /it has more than 2 rows/,
    )
    await writeFile(file, whole.subarray(0, -9))
    await assert.rejects(archive('2026-02-01', true), /is no Parquet file/)
    assert.deepEqual(await readFile(file), whole.subarray(0, -9))
    assert.equal((await db.sql`select from ranking where slot < '2026-02-01'`).count, 4)
    await writeFile(file, whole)
    assert.equal((await archive('2026-02-01', true)).length, 2)
  })

  test('refuses a month with results to come, open slots, or tasks', async () => {
    await planning.setNow('2026-04-03')
    assert.equal((await archive('2026-03-01')).length, 4)
    await assert.rejects(
      archive('2026-04-01'),
      /Results of the month before 2026-04 may still come\. Archive what is before 2026-03-01/,
    )
    await planning.setNow('2026-06-15')
    await db.sql`
      insert into task (target_id, payers, slot, slot_ends_at, priority, estimate_micros, state)
      select min(id), '{1}', '2026-02-10', '2026-02-11', 1, 1, 'collected' from target`
    assert.equal((await archive('2026-03-01')).length, 4)
    await assert.rejects(
      archive('2026-03-01', true),
      /Tasks of 2026-02 are still there.*what is before 2026-02-01/,
    )
    await db.sql`update task set state = 'posted'`
    await assert.rejects(archive('2026-03-01'), /Slots of 2026-02 are not closed yet/)
    assert.equal((await archive('2026-02-01', true)).length, 2)
    await db.sql`delete from task`
    await db.sql`insert into period_change (period_id, from_slot) select min(id), '2026-02-10'
      from watch_period`
    await assert.rejects(archive('2026-03-01'), /Slots of 2026-02 are not closed yet/)
  })

  test('that was broken off leaves no file and no draft, and goes on', async () => {
    const stop = new AbortController()
    const options = { before: new Date('2026-03-01'), folder, drops: true, signal: stop.signal }
    const months = archiveMonths(db, options)
    await months.next()
    stop.abort()
    await assert.rejects(async () => months.next(), { name: 'AbortError' })
    assert.deepEqual(await readdir(folder), ['ranking-2026-01.parquet'])
    assert.equal((await archive('2026-03-01', true)).length, 3)
    await writeFile(join(folder, 'a-file'), '')
    for (const name of [join(folder, 'a-file'), '/proc/no/such']) {
      const elsewhere = { ...options, folder: name, before: new Date('2026-05-01') }
      await assert.rejects(
        collectAll(archiveMonths(db, { ...elsewhere, signal: new AbortController().signal })),
        { code: 'configuration', message: new RegExp(`The folder ${name} cannot be used: `) },
      )
    }
  })
})
