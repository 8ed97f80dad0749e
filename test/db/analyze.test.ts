import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyzeAndVacuum, analyzeGrownTables, vacuumFilledTables } from '../../src/db/analyze.ts'
import { openTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const db = lasting(openTestDatabase)
async function rowsOf(table: string): Promise<number | undefined> {
  const [row] = await db.sql<
    { rows: number }[]
  >`select reltuples as rows from pg_class where oid = ${table}::regclass`
  return row?.rows
}

test('a table that got many rows is vacuumed, so that counting them by an index reads none', async () => {
  await db.sql`alter table app set (autovacuum_enabled = off)`
  const fill = (from: number, to: number) =>
    db.begin(async (tx) => {
      await tx`insert into app (store, app_id, title) select 'ios_store', n::text, 'x'
        from generate_series(${from}::int, ${to}::int) n`
      await tx`select pg_stat_force_next_flush()`
    })
  const seen = async () => {
    const [row] = await db.sql<{ share: number }[]>`
      select relallvisible / (pg_relation_size('app') / current_setting('block_size')::float8) as share
        from pg_class where oid = 'app'::regclass`
    return row?.share
  }
  await fill(1, 40_000)
  assert.equal(await vacuumFilledTables(db), 0)
  assert.equal(await seen(), 0)
  // Rows stay unseen while a transaction of this database is older than they, and autovacuum has one now and
  // then.
  for (let rows = 40_000, tries = 0; tries < 4 && (await seen()) !== 1; rows += 60_000, tries++) {
    await fill(rows + 1, rows + 60_000)
    assert.equal(await vacuumFilledTables(db), 1)
  }
  assert.equal(await seen(), 1)
  assert.equal(await vacuumFilledTables(db), 0)
})

test('a table that was filled is analyzed, as is the history, and again when it has doubled', async () => {
  // As after a crash: the counters by which autovacuum goes are gone.
  await db.sql`alter table target set (autovacuum_enabled = off)`
  await analyzeGrownTables(db)
  assert.equal(await analyzeGrownTables(db), 0)
  const fill = (from: number, to: number) => db.sql`
    insert into target (store, function, subject, location_code, language_code)
    select 'ios_store', 'app_searches', n::text, 2840, 'en' from generate_series(${from}::int, ${to}::int) n`
  await fill(1, 20_000)
  await db.sql`select ensure_history_partitions(now(), now())`
  await db.sql`insert into ranking (target_id, slot, gap, reason)
    select id, date_trunc('day', now()), 'missed', 'x' from target`
  await analyzeGrownTables(db)
  assert.equal(await rowsOf('target'), 20_000)
  assert.equal(await rowsOf('ranking'), 20_000)
  await fill(20_001, 25_000)
  await analyzeGrownTables(db)
  assert.equal(await rowsOf('target'), 20_000)
  await fill(25_001, 60_000)
  await analyzeGrownTables(db)
  assert.equal(await rowsOf('target'), 60_000)
})

test('a table that was filled is analyzed and vacuumed at once, with its partial indexes', async () => {
  const { sql } = db
  await sql`alter table task set (autovacuum_enabled = off)`
  await sql`vacuum analyze task`
  await db.begin(async (tx) => {
    await tx`
      insert into task (target_id, slot, slot_ends_at, priority, estimate_micros, payers)
      select n, now(), now(), 1, 1200, '{1}' from generate_series(1, 60000) n`
    await tx`select pg_stat_force_next_flush()`
  })
  await analyzeAndVacuum(db)
  assert.equal(await rowsOf('task'), 60_000)
  assert.equal(await rowsOf('task_unpacked'), 60_000)
  const [planned] = await sql<{ share: number }[]>`
    select most_common_freqs[1] as share from pg_stats where tablename = 'task' and attname = 'state'`
  assert.equal(planned?.share, 1)
  assert.equal(await vacuumFilledTables(db), 0)
})
