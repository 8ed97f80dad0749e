/**
 * Whatever one statement does to many watches at once, the periods are those that its rows ask for, and no
 * slot is owed twice.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import fc from 'fast-check'
import type postgres from 'postgres'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const START = '2026-03-10T13:00:00Z'
const COLUMNS =
  'project, store, keyword, location_code, location_name, language_code, every, priority, enabled'
const UNIQUE =
  `project, store, subject_key(keyword), coalesce(location_code, 0), lower(coalesce(location_name, '') ` +
  'collate "C"), language_code'

/** The same place by its code and by its name: two rows of a project that ask for one target. */
const row = fc
  .tuple(
    fc.constantFrom('fitness', 'wellness'),
    fc.constantFrom('yoga', 'calm', 'zen'),
    fc.constantFrom('2840, null::text', "null::integer, 'United States'", '2276, null::text'),
    fc.constantFrom('1 hour', '6 hours', '1 day'),
    fc.constantFrom(1, 2),
    fc.boolean(),
  )
  .map(
    ([project, keyword, place, every, priority, enabled]) =>
      `('${project}', 'ios_store', '${keyword}', ${place}, 'en', interval '${every}', ${priority}, ` +
      `${enabled})`,
  )
const rows = fc.array(row, { minLength: 1, maxLength: 6 })
/** Some of the rows, however many there are. */
const some = fc.integer({ min: 1, max: 3 }).map((nth) => `id % 3 < ${nth}`)

const statement = fc.oneof(
  {
    weight: 4,
    arbitrary: rows.map(
      (all) => `insert into keyword_watch (${COLUMNS}) values ${all} on conflict do nothing`,
    ),
  },
  {
    weight: 3,
    arbitrary: rows.map(
      (all) => `insert into keyword_watch (${COLUMNS}) select distinct on (${UNIQUE}) *
        from (values ${all}) v (${COLUMNS})
        on conflict (${UNIQUE}) do update set (every, priority, enabled)
          = (excluded.every, excluded.priority, excluded.enabled)`,
    ),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(
        fc.constantFrom(
          "every = '6 hours', priority = 2",
          "every = '1 day', enabled = true",
          'enabled = not enabled',
          'depth = 200',
          "note = 'why'",
          "keyword = case keyword when 'yoga' then 'calm' when 'calm' then 'yoga' else keyword end",
          "keyword = 'zen'",
          'location_code = 2276, location_name = null',
          'id = id + 1000',
        ),
        some,
      )
      .map(([change, which]) => `update keyword_watch set ${change} where ${which}`),
  },
  { weight: 2, arbitrary: some.map((which) => `delete from keyword_watch where ${which}`) },
  {
    weight: 1,
    arbitrary: rows.map(
      (all) => `merge into keyword_watch w using (
          select distinct on (project, keyword) * from (values ${all}) v (${COLUMNS})
            where location_code = 2840
        ) v on w.project = v.project and w.keyword = v.keyword and w.location_code = v.location_code
        when matched and v.enabled then update set every = v.every
        when matched then delete
        when not matched then insert (${COLUMNS})
          values (v.project, v.store, v.keyword, v.location_code, null, v.language_code, v.every, v.priority,
            v.enabled)`,
    ),
  },
  fc.constantFrom(
    'truncate keyword_watch',
    "update project set enabled = not enabled where name = 'wellness'",
    "with gone as (delete from keyword_watch where id % 2 = 0) update keyword_watch set every = '1 " +
      "hour' where id % 2 = 1",
  ),
)
const step = fc.record({
  minutes: fc.oneof(fc.constant(10), fc.integer({ min: 0, max: 2_000 })),
  statement,
  plans: fc.boolean(),
})

describe('a statement on many watches', () => {
  const list = lasting(createWatchlist)
  before(async () => {
    await list.sql`insert into location (store, code, name)
      values ('ios_store', 2840, 'United States'), ('ios_store', 2276, 'Germany')`
  })

  test('leaves the periods that the rows ask for, whatever it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        await list.sql`delete from keyword_watch`
        await list.sql`delete from watch_period`
        await list.sql`update project set enabled = true where not enabled`
        let nowMs = Date.parse(START)
        for (const { minutes, statement: text, plans } of steps) {
          nowMs += minutes * 60_000
          await list.setNow(new Date(nowMs).toISOString())
          const earlier = await readOpen(list.sql)
          // The same row twice is refused by the index, and then nothing has changed.
          await list.sql
            .unsafe(text)
            .catch((error) => assert.equal(error.code, '23505', `${error.message}: ${text}`))
          await assertRight(list.sql, earlier)
          await assertAskedOnce(list.sql)
          if (!plans) continue
          await list.sql`select start_missing_watch_periods()`
          assert.deepEqual(await unmeasured(list.sql), [])
          await assertRight(list.sql, earlier)
        }
      }),
      { numRuns: 30 },
    )
  })

  test('does the same to thousands at once', async () => {
    const { sql } = list
    await sql`truncate keyword_watch, watch_period`
    await list.setNow(START)
    const insert = (from: number) => sql`
      insert into keyword_watch (project, store, keyword, location_code, location_name, language_code)
      select 'fitness', 'ios_store', 'word ' || n / 2, case n % 2 when 0 then 2840 end, case n % 2 when 1
        then 'united states' end, 'en'
      from generate_series(${from}::int, ${from}::int + 1399) n`
    await insert(0)
    const open = await readOpen(sql)
    assert.equal(open.size, 700)
    await sql`update keyword_watch set priority = 2, every = case when id % 4 = 0 then interval '6 hours'
      else every end`
    await assertRight(sql, open)
    await sql`update keyword_watch set keyword = 'other ' || keyword where id % 2 = 0`
    await insert(1_400)
    await assertRight(sql, new Map())
    await sql`select start_missing_watch_periods()`
    assert.deepEqual(await unmeasured(sql), [])
    await sql`delete from keyword_watch where id % 3 = 0`
    await assertRight(sql, new Map())
    await assertAskedOnce(sql)
    await sql`delete from keyword_watch`
    assert.equal((await readOpen(sql)).size, 0)
  })

  test('reads a few rows for each of its watches, and not those of all others', async () => {
    const { sql } = list
    await sql`truncate keyword_watch, watch_period`
    // Nothing is analyzed, and the session has made its plans while the tables were small.
    const insert = (from: number, to: number) => sql`
      insert into keyword_watch (project, store, keyword, location_code, language_code)
      select 'fitness', 'ios_store', 'word ' || n, 2840, 'en'
        from generate_series(${from}::int, ${to}::int) n`
    await insert(1, 1)
    await insert(2, 3_000)
    const before = await readRows(sql)
    await insert(3_001, 3_010)
    await sql`update keyword_watch set every = '6 hours' where id % 300 = 0`
    await sql`update keyword_watch set priority = 2 where id % 300 = 0`
    await sql`delete from keyword_watch where id % 300 = 0`
    for (const [table, rows] of await readRows(sql)) {
      const read = rows - (before.get(table) ?? 0)
      assert.ok(read <= 40 * 30, `${read} rows of ${table} were read`)
    }
  })
})

/** How many rows of the tables that the triggers use were read so far. */
async function readRows(sql: postgres.Sql): Promise<Map<string, number>> {
  await sql`select pg_stat_force_next_flush()`
  const found = await sql<{ table: string; rows: number }[]>`
    select relname as table, (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as rows
    from pg_stat_user_tables where relname in ('watch_period', 'target')`
  return new Map(found.map(({ table, rows }) => [table, rows]))
}

interface Open {
  readonly period: number
  /** What may not change while a period goes on. */
  readonly asks: string
}

/** The open periods by their watch. */
async function readOpen(sql: postgres.Sql): Promise<Map<number, Open>> {
  const found = await sql<{ watch: number; period: number; asks: string }[]>`
    select watch_id as watch, id as period, concat_ws(' ', project, target_id, every) as asks
      from watch_period where ended_at is null`
  return new Map(found.map(({ watch, period, asks }) => [watch, { period, asks }]))
}

/** What enabled rows ask for, and nothing of their project measures. */
async function unmeasured(sql: postgres.Sql): Promise<unknown[]> {
  return [
    ...(await sql`
      select w.id from keyword_watch w
      join project pr on pr.name = w.project
      join location l on l.store = w.store and (l.code = w.location_code
        or lower(l.name) = lower(w.location_name))
      where w.enabled and pr.enabled and not exists (
        select from watch_period p join target t on t.id = p.target_id
        where p.ended_at is null and p.project = w.project and t.subject = w.keyword
          and t.location_code = l.code
      )`),
  ]
}

async function assertRight(sql: postgres.Sql, earlier: ReadonlyMap<number, Open>): Promise<void> {
  // An open period is one of an enabled row, and says what the row says.
  const wrong = await sql`
    select p.id, p.watch_id from watch_period p
    join target t on t.id = p.target_id
    left join keyword_watch w on w.id = p.watch_id and w.enabled
      and (w.project, w.every, w.depth, w.priority, w.html, w.keyword)
        = (p.project, p.every, p.depth, p.priority, p.html, t.subject)
    left join location l on l.code = t.location_code and (l.code = w.location_code
      or lower(l.name) = lower(w.location_name))
    where p.ended_at is null and (l.code is null or not exists (select from project pr
      where pr.name = p.project and pr.enabled))`
  assert.deepEqual([...wrong], [])
  const twice = await sql`
    select project, target_id from watch_period where ended_at is null group by 1, 2 having count(*) > 1`
  assert.deepEqual([...twice], [])
  // A row that asks for the same as before goes on in its period.
  const now = await readOpen(sql)
  for (const [watch, { period, asks }] of earlier) {
    const later = now.get(watch)
    if (later?.asks === asks) assert.equal(later.period, period, `the period of watch ${watch} goes on`)
  }
}

/** Slots that two periods of a project ask of one target. */
async function assertAskedOnce(sql: postgres.Sql): Promise<void> {
  const askedTwice = await sql`
    select p.project, p.target_id, s.slot
    from watch_period p
    cross join generate_series(${START}::timestamptz - interval '1 day', storerank_now() + interval '2 days',
      '1 hour') s (slot)
    where is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, s.slot, null)
    group by 1, 2, 3 having count(*) > 1`.then((found) => [...found])
  assert.deepEqual(askedTwice, [])
}
