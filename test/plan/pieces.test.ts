/** A plan in pieces reads the due slots of a piece for it, and not all that are left. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import postgres from 'postgres'
import { openTwins, queueDueSlots } from '../../src/plan/due.ts'
import { planDueTasks } from '../../src/plan/plan.ts'
import { createPlanning, type Planning } from '../support/planning.ts'

const KEYWORDS = 6_000
const PIECES = 40

let planning: Planning
before(async () => {
  planning = await createPlanning()
  await planning.setNow('2026-11-21 12:00+00')
  await planning.watch(
    'fitness',
    Array.from({ length: KEYWORDS }, (_, index) => `keyword ${index}`),
  )
  await queueDueSlots(planning.db, { firstSlots: KEYWORDS, pieceSlots: KEYWORDS })
  await planning.db.sql`analyze`
})
after(() => planning.drop())

/** Rows of `due_batch`, of a hundred slots each, that were read in this session, by any index or none. */
async function countBatchesRead(): Promise<number> {
  const { sql } = planning.db
  await sql`select pg_stat_force_next_flush()`
  const [row] = await sql<{ rows: number }[]>`
    select (select seq_tup_read from pg_stat_user_tables where relname = 'due_batch')
      + (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'due_batch')::bigint as rows`
  return row?.rows ?? 0
}

test('a plan in many pieces reads each due slot a few times, however many are left, also beside a held snapshot', async (t) => {
  const before = await countBatchesRead()
  // As an ANALYZE of the server holds one: what pieces deleted stays in the index.
  const holder = postgres(planning.db.url, { max: 1 })
  t.after(() => holder.end())
  await holder`begin isolation level repeatable read`
  await holder`select from project`
  const { planned } = await planning.plan({}, KEYWORDS / PIECES)
  assert.equal(planned, KEYWORDS)
  const read = await countBatchesRead()
  // For each piece ten rows, the next one, what the piece before deleted, and what it deletes: 21, and 30 would be half of all.
  assert.ok(read - before <= 24 * PIECES, `${read - before} rows were read`)
})

test('the tasks of a piece have ids of their own, in the order in which they were planned', async () => {
  const [ids] = await planning.db.sql`
    select count(*)::int as tasks, count(distinct id)::int as ids, count(distinct substr(id::text, 1, 31))::int as pieces,
      bool_and(substr(id::text, 15, 1) = '7') as are_of_version_7, bool_and(is_next) as are_in_order
    from (select id, post_id, planned_at >= lag(planned_at, 1, '-infinity') over (partition by post_id order by id) as is_next from task) k`
  assert.deepEqual(
    { ...ids },
    { tasks: KEYWORDS, ids: KEYWORDS, pieces: PIECES, are_of_version_7: true, are_in_order: true },
  )
})

test('where very much is due, its most urgent piece is posted before all else is even queued', async () => {
  const { db } = planning
  const pieceSlots = KEYWORDS / PIECES
  await planning.setNow('2026-11-22 12:00+00')
  await db.sql`update target set captured_at = '2026-11-21 12:00+00'::timestamptz + (id * 7919) % 3001 * interval '1 second'`
  await db.sql`update watch_period set priority = 2 where target_id % 100 = 0`
  const queued: number[] = []
  const budget = { maxDayMicros: 1_000_000_000, maxMonthMicros: null, maxRunMicros: null }
  await planDueTasks(
    db,
    budget,
    async (tx, postIds) => {
      if (postIds.length === 0) return
      const [due] = await tx<{ slots: number }[]>`
        select coalesce(sum(cardinality(target_ids)), 0)::int as slots from due_batch`
      queued.push(due?.slots ?? Number.NaN)
    },
    pieceSlots,
  )
  assert.deepEqual(queued.slice(0, 2), [0, KEYWORDS - 2 * pieceSlots])
  const [order] = await db.sql`
    select count(*)::int as tasks, count(*) filter (where (-priority, captured_at) < (before_priority, before_captured_at))::int as too_late
    from (
      select k.priority, t.captured_at, -lag(k.priority) over o as before_priority, lag(t.captured_at) over o as before_captured_at
      from task k join target t on t.id = k.target_id where k.slot = '2026-11-22' window o as (order by k.id)
    ) k`
  assert.deepEqual({ ...order }, { tasks: KEYWORDS, too_late: 0 })
})

test('rows of due slots that overlap are taken in the order of urgency, and what a piece leaves of them is planned by the next', async (t) => {
  const planning = await createPlanning()
  t.after(() => planning.drop())
  const { sql } = planning.db
  await planning.setNow('2026-11-20 12:00+00')
  for (const every of ['1 day', '6 hours', '1 hour'])
    await planning.watch(
      'fitness',
      Array.from({ length: 330 }, (_, index) => `${every} ${index}`),
      { every },
    )
  await planning.plan()
  await planning.measure()
  await sql`update target set captured_at = '2026-11-20 12:00+00'::timestamptz + (id * 7919) % 1009 * interval '1 second'`
  await planning.setNow('2026-11-21 13:30+00')
  const { due, planned } = await planning.plan({}, 270)
  assert.deepEqual([due, planned], [990, 990])
  const [order] = await sql<{ targets: number; slots: number; pieces: number; late: number }[]>`
    select count(distinct target_id)::int as targets, count(distinct slot)::int as slots,
      count(distinct substr(id::text, 1, 31))::int as pieces, count(*) filter (where captured_at < before)::int as late
    from (
      select k.*, t.captured_at, lag(t.captured_at) over (order by k.id) as before
      from task k join target t on t.id = k.target_id where k.state = 'planned'
    ) k`
  const { pieces = 0, ...rest } = order ?? {}
  assert.deepEqual(rest, { targets: 990, slots: 3, late: 0 })
  assert.ok(pieces <= 7, `${pieces} pieces were planned, and 4 would be full`)
  assert.equal((await sql`select from due_batch`).count, 0)
})

test('small pieces are full where the rows of seven intervals overlap', async (t) => {
  const planning = await createPlanning()
  t.after(() => planning.drop())
  const { sql } = planning.db
  await planning.setNow('2026-11-20 12:00+00')
  for (const every of ['1 day', '12 hours', '8 hours', '6 hours', '4 hours', '2 hours', '1 hour'])
    await planning.watch(
      'fitness',
      Array.from({ length: 250 }, (_, index) => `${every} ${index}`),
      { every },
    )
  await planning.plan()
  await planning.measure()
  await sql`update target set captured_at = '2026-11-20 12:00+00'::timestamptz + (id * 7919) % 1009 * interval '1 second'`
  await planning.setNow('2026-11-21 13:30+00')
  assert.equal((await planning.plan({}, 100)).planned, 1750)
  const [{ pieces } = { pieces: 0 }] = await sql<{ pieces: number }[]>`
    select count(distinct substr(id::text, 1, 31))::int as pieces from task where state = 'planned'`
  assert.ok(pieces <= 20, `${pieces} pieces were planned, and 18 would be full`)
})

test('slots that are measured already take as many pieces as those that are not', async (t) => {
  const planning = await createPlanning()
  t.after(() => planning.drop())
  const { db } = planning
  await planning.setNow('2026-11-21 12:00+00')
  await planning.watch(
    'fitness',
    Array.from({ length: 3_000 }, (_, index) => `keyword ${index}`),
  )
  await planning.plan()
  await db.sql`delete from interval_progress`
  const budget = { maxDayMicros: 1_000_000_000, maxMonthMicros: null, maxRunMicros: null }
  let pieces = 0
  const { due } = await planDueTasks(db, budget, async () => void pieces++)
  assert.equal(due, 0)
  // The first has 1,000.
  assert.equal(pieces, 2)
})

test('what a broken-off plan has left is planned at its places of now, in rows that are queued again a few at a time', async (t) => {
  const planning = await createPlanning()
  t.after(() => planning.drop())
  const { db } = planning
  const { sql } = db
  await planning.setNow('2026-11-21 12:00+00')
  await planning.watch(
    'fitness',
    Array.from({ length: 300 }, (_, index) => `keyword ${index}`),
  )
  await queueDueSlots(db, { firstSlots: 300, pieceSlots: 300 })
  // A row for each slot, so that they are many.
  await sql`
    with gone as (delete from due_batch returning *)
    insert into due_batch
    select priority_order, captured_at, slot, id, array[captured_at], array[id], array[1]
    from gone cross join lateral unnest(target_ids) id`
  await sql`update target set captured_at = '2026-11-20'::timestamptz - id * interval '1 minute'`
  await queueDueSlots(db, { firstSlots: 300, pieceSlots: 300 })
  const [queued] = await sql`
    select count(*)::int as rows, sum(cardinality(target_ids))::int as slots, min(captured_at) > '-infinity' as "areOfNow" from due_batch`
  assert.deepEqual({ ...queued }, { rows: 3, slots: 300, areOfNow: true })
  const holder = postgres(db.url, { max: 1 })
  t.after(() => holder.end())
  // As a piece of another plan does that is not committed: nobody waits for it.
  await holder`begin`
  await holder`select from due_batch limit 1 for update`
  await queueDueSlots(db, { firstSlots: 300, pieceSlots: 300 })
  await holder`rollback`
  assert.equal((await planning.plan()).planned, 300)
})

test('a session that planned while the tables were small reads none of them as a whole when they have grown', async (t) => {
  const planning = await createPlanning()
  t.after(() => planning.drop())
  const { sql } = planning.db
  const tables = ['task', 'watch_period', 'target']
  for (const table of tables) await sql`alter table ${sql(table)} set (autovacuum_enabled = off)`
  const planDay = async (day: number, pieceSlots?: number) => {
    await planning.setNow(`2026-11-${day} 12:00+00`)
    return planning.plan({}, pieceSlots)
  }
  const watch = (name: string, keywords: number) =>
    planning.watch(
      'fitness',
      Array.from({ length: keywords }, (_, index) => `${name} ${index}`),
    )
  const countRead = async () => {
    await sql`select pg_stat_force_next_flush()`
    const [row] = await sql<{ rows: number }[]>`
      select sum(seq_tup_read)::bigint as rows from pg_stat_user_tables where relname = any(${tables}::text[])`
    return row?.rows ?? 0
  }
  await planning.setNow('2026-11-09 12:00+00')
  await watch('early', 10)
  // By then Postgres has chosen the plans that it keeps.
  for (let day = 10; day < 18; day += 1) await planDay(day)
  await watch('late', KEYWORDS)
  const before = await countRead()
  const { planned } = await planDay(18, KEYWORDS / PIECES)
  assert.equal(planned, KEYWORDS + 10)
  const read = (await countRead()) - before
  // Queueing them may; each piece that did would read all that was planned before it.
  assert.ok(read <= 3 * KEYWORDS, `${read} rows were read by scans of whole tables`)
})

test('the first plan of a day looks at all watches, and at no target whose keyword is written as it is folded', async () => {
  const { sql } = planning.db
  await sql`delete from interval_progress`
  const countRead = async () => {
    await sql`select pg_stat_force_next_flush()`
    const [row] = await sql<{ rows: number }[]>`
      select seq_tup_read as rows from pg_stat_user_tables where relname = 'target'`
    return row?.rows ?? 0
  }
  const before = await countRead()
  await openTwins(planning.db)
  assert.equal((await countRead()) - before, 0)
})
