/**
 * How long the history, pages and charges are kept: to the day that was said, and nothing that is still
 * needed goes before.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, describe, test } from 'node:test'
import { sql } from '../../src/db/sql.ts'
import { pruneHistory, prunePages } from '../../src/history/retention.ts'
import { pruneMoney } from '../../src/ledger/prune.ts'
import { readRestoreHold, readRestoreState } from '../../src/ledger/restored.ts'
import { insertCharge, readSpendDifferences, recount } from '../support/ledger.ts'
import { createPlanning } from '../support/planning.ts'

const DAY_MS = 86_400_000
const planning = await createPlanning()
const { db } = planning
after(() => planning.drop())
beforeEach(async () => {
  await planning.clear()
  for (const table of ['ranking', 'app_snapshot', 'page'])
    for (const { name } of await db.sql<{ name: string }[]>`
      select inhrelid::regclass::text as name from pg_inherits where inhparent = ${table}::text::regclass`)
      await db.sql`drop table ${sql.identifier(name)}`
})

/** Two weeks of gaps on both sides of the end of February, of keywords watched from then on. */
async function live(watches: Readonly<Record<string, readonly string[]>>): Promise<void> {
  await planning.setNow('2026-02-22 00:00+00')
  for (const [project, keywords] of Object.entries(watches)) await planning.watch(project, keywords)
  await planning.setNow('2026-03-08 00:00+00')
  await planning.closeSlots()
}

async function months(table = 'ranking'): Promise<Record<string, number>> {
  const rows = await db.sql<{ month: string; rows: number }[]>`
    select to_char(r.slot at time zone 'UTC', 'MM') as month, count(*) as rows from ${sql.identifier(table)} r
      group by 1 order by 1`
  return Object.fromEntries(rows.map(({ month, rows: count }) => [month, count]))
}

async function partitions(): Promise<string[]> {
  const rows = await db.sql<{ name: string }[]>`
    select inhrelid::regclass::text as name from pg_inherits where inhparent = 'ranking'::regclass order by 1`
  return rows.map(({ name }) => name)
}

async function countTargetsRead(): Promise<number> {
  await db.sql`select pg_stat_force_next_flush()`
  const [row] = await db.sql<{ rows: number }[]>`
    select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_user_tables where relname = 'target'`
  return row?.rows ?? 0
}

const subjects = async () =>
  (
    await db.sql<{ subject: string }[]>`
      select distinct t.subject from ranking r join target t on t.id = r.target_id where r.slot < '2026-03-01'
        order by 1`
  ).map(({ subject }) => subject)

describe('the history', () => {
  test('is kept for ever unless a person says so', async () => {
    await live({ a: ['yoga'] })
    await planning.setNow('2126-03-01')
    assert.deepEqual(await pruneHistory(db, null), { rows: 0, months: 0 })
    assert.deepEqual(await months(), { '02': 7, '03': 7 })
  })

  test('reads the targets once for each table where no month is old enough', async () => {
    await live({ a: ['yoga', 'tea', 'naïve'] })
    const before = await countTargetsRead()
    assert.deepEqual(await pruneHistory(db, 100 * DAY_MS), { rows: 0, months: 0 })
    assert.ok((await countTargetsRead()) - before <= 2 * 3)
  })

  test('goes by the month, when the last instant of it is old enough, and not a moment before', async () => {
    await live({ a: ['yoga'] })
    await planning.setNow('2026-06-08 23:59:59+00')
    assert.deepEqual(await pruneHistory(db, 100 * DAY_MS), { rows: 0, months: 0 })
    assert.deepEqual(await months(), { '02': 7, '03': 7 })
    await planning.setNow('2026-06-09 00:00+00')
    assert.deepEqual(await pruneHistory(db, 100 * DAY_MS), { rows: 0, months: 2 })
    assert.deepEqual(await months(), { '03': 7 })
    assert.deepEqual(await partitions(), ['ranking_202603'])
  })

  test('is not owed again once it went: no slot of it is closed or bought', async () => {
    await live({ a: ['yoga'] })
    await planning.setNow('2026-06-09 00:00+00')
    await pruneHistory(db, 100 * DAY_MS)
    const { missed } = await planning.closeSlots()
    assert.equal(missed, 93)
    assert.equal((await months())['02'], undefined)
    assert.equal((await planning.plan()).planned, 1)
    const rows = await db.sql`select distinct outcome from rank_history where slot < '2026-03-01'`
    assert.equal(rows.length, 0)
  })

  test('is kept as long as its project says, and what two asked for as long as either does', async () => {
    await live({ a: ['alone', 'shared'], b: ['shared', 'theirs'], c: ['brief'] })
    await db.sql`update project set keep_history = '1000 years' where name = 'b'`
    await db.sql`update project set keep_history = '92 days' where name = 'c'`
    await planning.setNow('2026-06-01 00:00+00')
    assert.deepEqual(await pruneHistory(db, 100 * DAY_MS), { rows: 7, months: 0 })
    assert.deepEqual(await subjects(), ['alone', 'shared', 'theirs'])
    await planning.setNow('2026-06-09 00:00+00')
    assert.deepEqual(await pruneHistory(db, 100 * DAY_MS), { rows: 7, months: 0 })
    assert.deepEqual(await subjects(), ['shared', 'theirs'])
    await planning.setNow('2026-07-01 23:59:59+00')
    assert.deepEqual(await pruneHistory(db, null), { rows: 0, months: 0 })
    await planning.setNow('2026-07-02 00:00+00')
    assert.deepEqual(await pruneHistory(db, null), { rows: 7, months: 0 })
  })

  test('of a watch that is deleted is kept like that of the others', async () => {
    await live({ a: ['yoga'] })
    await db.sql`delete from keyword_watch`
    await planning.setNow('2026-06-08 23:59:59+00')
    await pruneHistory(db, 100 * DAY_MS)
    assert.deepEqual(await months(), { '02': 7, '03': 7 })
  })

  test('stays while its task is there, which the ledger and the views look up by it', async () => {
    await live({ a: ['yoga', 'calm'], b: ['else'] })
    await db.sql`update project set keep_history = '1000 years' where name = 'b'`
    await db.sql`
      insert into task (target_id, payers, slot, slot_ends_at, priority, estimate_micros, state, ended_at)
      select t.id, '{1}', '2026-02-25', '2026-02-26', 1, 1, 'collected', clock_timestamp() from target t
        where t.subject = 'yoga'`
    await planning.setNow('2027-01-01')
    assert.deepEqual(await pruneHistory(db, 100 * DAY_MS), { rows: 27, months: 0 })
    assert.deepEqual(await subjects(), ['else', 'yoga'])
    await db.sql`update project set keep_history = null`
    assert.deepEqual(await pruneHistory(db, 100 * DAY_MS), { rows: 7, months: 2 })
    assert.deepEqual(await partitions(), ['ranking_202602'])
    await db.sql`delete from task`
    assert.deepEqual(await pruneHistory(db, 100 * DAY_MS), { rows: 0, months: 2 })
  })

  test('of more rows than a piece has goes all', async () => {
    await live({ a: ['yoga', 'calm', 'zen'], b: ['else'] })
    await db.sql`update project set keep_history = '1000 years' where name = 'b'`
    await db.sql`
      insert into ranking (target_id, slot, gap)
      select t.id, s, 'missed' from target t, generate_series(timestamptz '2026-02-01', '2026-02-10',
        '2 minutes') s
      where t.subject <> 'zen'`
    await planning.setNow('2026-06-09 00:00+00')
    const { rows } = await pruneHistory(db, 100 * DAY_MS)
    assert.equal(rows, 2 * 6481 + 3 * 7)
    assert.deepEqual(await subjects(), ['else'])
  })

  test('of app pages is kept like that of lists, as long as its project says', async () => {
    await planning.setNow('2026-02-22 00:00+00')
    await db.sql`
      insert into app_watch (project, store, app_id, info, location_code, language_code)
      select w.project, 'ios_store', w.app_id, true, 2840, 'en'
      from (values ('a', '10001'), ('a', '10002'), ('b', '10002'), ('b', '10003'), ('c', '10004')) w (project,
        app_id)`
    await planning.setNow('2026-03-08 00:00+00')
    await planning.closeSlots()
    const left = async () =>
      (
        await db.sql<{ app: string; rows: number }[]>`
          select t.subject as app, count(*)::int as rows from app_snapshot s
            join target t on t.id = s.target_id
          where s.slot < '2026-03-01' group by 1 order by 1`
      ).map(({ app, rows }) => [app, rows])
    assert.deepEqual(
      await left(),
      ['10001', '10002', '10003', '10004'].map((app) => [app, 7]),
    )
    await db.sql`update project set keep_history = '1000 years' where name = 'b'`
    await db.sql`update project set keep_history = '92 days' where name = 'c'`
    await planning.setNow('2026-05-31 23:59:59+00')
    assert.deepEqual(await pruneHistory(db, 100 * DAY_MS), { rows: 0, months: 0 })
    await planning.setNow('2026-06-01 00:00+00')
    assert.deepEqual(await pruneHistory(db, 100 * DAY_MS), { rows: 7, months: 0 })
    await planning.setNow('2026-06-09 00:00+00')
    assert.deepEqual(await pruneHistory(db, 100 * DAY_MS), { rows: 7, months: 0 })
    assert.deepEqual(
      await left(),
      ['10002', '10003'].map((app) => [app, 7]),
    )
    await db.sql`
      insert into task (target_id, payers, slot, slot_ends_at, priority, estimate_micros, state, ended_at)
      select t.id, '{1}', '2026-02-25', '2026-02-26', 1, 1, 'collected', clock_timestamp() from target t
        where t.subject = '10003'`
    await db.sql`update project set keep_history = null`
    assert.deepEqual(await pruneHistory(db, 100 * DAY_MS), { rows: 13, months: 0 })
    assert.deepEqual(await left(), [['10003', 1]])
    await db.sql`delete from task`
    assert.deepEqual(await pruneHistory(db, 100 * DAY_MS), { rows: 0, months: 2 })
    assert.deepEqual(await months('app_snapshot'), { '03': 28 })
  })

  test('is shortened by the owner alone, because that deletes what was paid for', async () => {
    const rows = await db.sql<{ name: string }[]>`
      select a.attname as name from pg_attribute a
      where a.attrelid = 'project'::regclass and a.attnum > 0
        and not has_column_privilege('storerank_editor', a.attrelid, a.attnum, 'update') order by 1`
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['id', 'keep_history', 'keep_pages'],
    )
  })

  test('cannot be kept for less than what is looked up in it', async () => {
    await live({ a: ['yoga'] })
    await assert.rejects(db.sql`update project set keep_history = '91 days'`, /may be 92 days to 1000 years/)
    await db.sql`update project set keep_history = '92 days', keep_pages = '0 days'`
  })
})

test('raw pages go by the day, and what was read from them does not', async () => {
  await live({ a: ['yoga'], b: ['calm'] })
  await db.sql`update project set keep_pages = '1000 years' where name = 'b'`
  await db.sql`
    insert into page (target_id, slot, number, html_gzip)
    select t.id, d, n, '\\x00' from target t, generate_series(timestamptz '2026-02-20', '2026-03-05',
      '1 day') d, generate_series(1, 30) n`
  await planning.setNow('2026-03-31 12:00+00')
  assert.deepEqual(await prunePages(db, 30 * DAY_MS), { rows: 9 * 30, months: 0 })
  assert.deepEqual(await months('page'), { '02': 270, '03': 300 })
  await db.sql`update project set keep_pages = null`
  assert.deepEqual(await prunePages(db, null), { rows: 0, months: 0 })
  assert.deepEqual(await prunePages(db, 30 * DAY_MS), { rows: 0, months: 1 })
  assert.deepEqual(await months('page'), { '03': 300 })
  assert.deepEqual(await months(), { '02': 14, '03': 14 })
})

describe('charges', () => {
  const bought = async () => {
    await live({ a: ['yoga'], b: ['calm'] })
    await db.sql`update project set timezone = 'America/New_York' where name = 'b'`
    for (const [project, kind, micros, at] of [
      ['a', 'charge', 1200, '2026-02-28 23:59:59+00'],
      ['b', 'charge', 700, '2026-02-28 20:00+00'],
      ['b', 'refund', -300, '2026-02-28 20:00+00'],
      ['a', 'charge', 500, '2026-03-01 00:00+00'],
      ['b', 'charge', 90, '2026-03-01 01:00+00'],
      ['b', 'duplicate', 40, '2026-03-02 12:00+00'],
    ] as const)
      await insertCharge(db.sql, { project, kind, micros, at })
  }
  const totals = async () => [
    [
      ...(await db.sql`select * from spend where change_id = 0 and begins_at > '-infinity'
        order by scope, begins_at`),
    ],
    [...(await db.sql`select * from spend_daily order by project, day`)],
    [...(await db.sql`select reserved_micros, taken_micros from ledger`)],
    [...(await db.sql`select * from overall_money('2026-03-02', 1000000, 2000000)`)],
  ]
  const left = async () =>
    (await db.sql<{ micros: number }[]>`select amount_micros as micros from charge order by at, 1`).map(
      ({ micros }) => micros,
    )

  test('are kept for ever unless a person says so', async () => {
    await bought()
    await planning.setNow('2126-03-01')
    assert.equal(await pruneMoney(db, null), 0)
    assert.equal((await left()).length, 6)
  })

  test('go by the day, and no total changes by it, nor by counting anew', async () => {
    await bought()
    const before = await totals()
    await planning.setNow('2026-06-08 23:59:59+00')
    assert.equal(await pruneMoney(db, 99 * DAY_MS), 3)
    assert.deepEqual(await left(), [500, 90, 40])
    assert.equal(await pruneMoney(db, 99 * DAY_MS), 0)
    assert.deepEqual(await totals(), before)
    assert.deepEqual(await readSpendDifferences(db.sql), [])
    await recount(db.sql)
    assert.deepEqual(await totals(), before)
    assert.deepEqual(await readSpendDifferences(db.sql), [])
    await planning.setNow('2026-12-01')
    assert.equal(await pruneMoney(db, 99 * DAY_MS), 3)
    await recount(db.sql)
    assert.deepEqual(await totals(), before)
    assert.deepEqual(await readSpendDifferences(db.sql), [])
  })

  test('that are gone do not make the database a new one, for which another could have bought', async () => {
    await bought()
    await planning.setNow('2026-12-01')
    await pruneMoney(db, 99 * DAY_MS)
    const { lastChargeAt } = await readRestoreState(db.sql)
    assert.ok(lastChargeAt)
    await db.sql`update ledger set recover_from = '2026-11-30'`
    assert.match((await readRestoreHold(db.sql)) ?? '', /restored from an older copy/)
  })

  test('that were changed by hand are found, also among those that are gone', async () => {
    await bought()
    await planning.setNow('2026-06-08 23:59:59+00')
    await pruneMoney(db, 99 * DAY_MS)
    await db.sql`update spend set refunded_micros = refunded_micros + 1
      where begins_at = '-infinity' and refunded_micros <> 0`
    assert.equal((await readSpendDifferences(db.sql)).length, 2)
  })
})
