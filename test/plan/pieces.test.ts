/**
 * A plan in pieces reads the due slots of a piece for it, and not all that are left; what it decides takes
 * time that grows with what is due, however many projects have budgets.
 */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import postgres from 'postgres'
import type { Transaction } from '../../src/db/database.ts'
import { disableNestedLoops, readByIndexes } from '../../src/db/joins.ts'
import { type Statement, sql } from '../../src/db/sql.ts'
import { admission, readBudgets } from '../../src/plan/admission.ts'
import { askedNow, askedPiece, FIRST_PLACE, openDueSlots, takePiece } from '../../src/plan/due.ts'
import { planDueTasks } from '../../src/plan/plan.ts'
import { TIMINGS } from '../../src/timings.ts'
import { createPlanning, type Planning } from '../support/planning.ts'

const BUDGET = { maxDayMicros: 1_000_000_000, maxMonthMicros: null, maxRunMicros: null }
const KEYWORDS = 2_000
const PIECES = 20

const keywords = (count: number, name = 'keyword') => Array.from({ length: count }, (_, n) => `${name} ${n}`)

async function open(t: TestContext, now: string): Promise<Planning> {
  const planning = await createPlanning()
  t.after(() => planning.drop())
  await planning.setNow(now)
  return planning
}

let planning: Planning
before(async () => {
  planning = await createPlanning()
  await planning.setNow('2026-11-21 12:00+00')
  await planning.watch('fitness', keywords(KEYWORDS))
  await openDueSlots(planning.db)
  await planning.db.sql`analyze`
})
after(() => planning.drop())

/** Rows of `due_slot` that were read in this session, by any index or none. */
async function countRowsRead(): Promise<number> {
  const { sql: db } = planning.db
  await db`select pg_stat_force_next_flush()`
  const [row] = await db<{ rows: number }[]>`
    select (select seq_tup_read from pg_stat_user_tables where relname = 'due_slot')
      + (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'due_slot')::bigint as rows`
  return row?.rows ?? 0
}

test('a plan in many pieces reads each due slot a few times, also beside a held snapshot', async (t) => {
  const before = await countRowsRead()
  // As an ANALYZE of the server holds one: what pieces deleted stays in the index.
  const holder = postgres(planning.db.url, { max: 1 })
  t.after(() => holder.end())
  await holder`begin isolation level repeatable read`
  await holder`select from project`
  const { planned } = await planning.plan({}, KEYWORDS / PIECES)
  assert.equal(planned, KEYWORDS)
  const read = (await countRowsRead()) - before
  assert.ok(read <= 6 * KEYWORDS, `${read} rows were read`)
})

test('the tasks of a piece follow one another in the order of urgency', async () => {
  const { sql } = planning.db
  await planning.setNow('2026-11-22 12:00+00')
  await sql`update target set captured_at = '2026-11-21 12:00+00'::timestamptz + (id * 7919) % 3001
    * interval '1 second'`
  await sql`update watch_period set priority = 2 where target_id % 100 = 0`
  const { posts } = await planDueTasks(planning.db, BUDGET, async () => {}, KEYWORDS / PIECES)
  assert.ok(posts >= PIECES)
  const [order] = await sql`
    select count(*)::int as tasks, count(*) filter (where (-priority, captured_at)
      < (before_priority, before_captured_at))::int as too_late
    from (
      select k.priority, t.captured_at, -lag(k.priority) over o as before_priority, lag(t.captured_at)
        over o as before_captured_at
      from task k join target t on t.id = k.target_id where k.slot
        = '2026-11-22' window o as (order by k.planned_at)
    ) k`
  assert.deepEqual({ ...order }, { tasks: KEYWORDS, too_late: 0 })
})

test('what a broken-off plan has left is planned by the next', async (t) => {
  const planning = await open(t, '2026-11-21 12:00+00')
  await planning.watch('fitness', keywords(300))
  let pieces = 0
  const breakOff = async () => {
    pieces += 1
    if (pieces === 2) throw new Error('broken off')
  }
  await assert.rejects(planDueTasks(planning.db, BUDGET, breakOff, 100), /broken off/)
  assert.equal((await planning.plan()).planned, 200)
})

test('a slot that begins soon is opened before, and planned when it has begun', async (t) => {
  const planning = await open(t, '2026-11-20 12:00+00')
  const { sql: db } = planning.db
  await planning.watch('fitness', ['yoga'])
  await planning.plan()
  await planning.setNow('2026-11-20 23:50+00')
  assert.equal((await planning.plan()).due, 0)
  assert.equal((await db`select from due_slot`).count, 1)
  assert.equal((await db`select from pending_slot`).count, 1)
  assert.equal((await db`select from open_work where kind = 'unplanned' and count > 0`).count, 0)
  await planning.setNow('2026-11-21 00:00+00')
  assert.equal((await planning.plan()).planned, 1)
})

test('a session that planned on small tables reads none as a whole when they have grown', async (t) => {
  const planning = await open(t, '2026-11-09 12:00+00')
  const { sql: db } = planning.db
  const tables = ['task', 'watch_period', 'target', 'due_slot']
  for (const table of tables) await db`alter table ${sql.identifier(table)} set (autovacuum_enabled = off)`
  const planDay = async (day: number, pieceSlots?: number) => {
    await planning.setNow(`2026-11-${day} 12:00+00`)
    return planning.plan({}, pieceSlots)
  }
  const countRead = async () => {
    await db`select pg_stat_force_next_flush()`
    const [row] = await db<{ rows: number }[]>`
      select sum(seq_tup_read)::bigint as rows from pg_stat_user_tables
        where relname = any(${tables}::text[])`
    return row?.rows ?? 0
  }
  await planning.watch('fitness', keywords(10, 'early'))
  // By then Postgres has chosen the plans that it keeps.
  for (let day = 10; day < 18; day += 1) await planDay(day)
  await planning.watch('fitness', keywords(KEYWORDS, 'late'))
  const before = await countRead()
  const { planned } = await planDay(18, KEYWORDS / PIECES)
  assert.equal(planned, KEYWORDS + 10)
  const read = (await countRead()) - before
  assert.ok(read <= KEYWORDS, `${read} rows were read by scans of whole tables`)
})

const PROJECTS = 300
const KEYWORDS_EACH = 10
const SLOTS = PROJECTS * KEYWORDS_EACH

interface PlanNode {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** Rows that all nodes of a plan have looked at. */
function countRows(node: PlanNode): number {
  const rows =
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0)
  return rows * node['Actual Loops'] + (node.Plans ?? []).reduce((sum, child) => sum + countRows(child), 0)
}

test('a slot is compared with its own budgets and its own price alone', async (t) => {
  const planning = await open(t, '2026-11-21 12:00+00')
  await planning.db.sql`
    insert into project (name, daily_usd) select 'project ' || n, 1000
      from generate_series(1, ${PROJECTS}::int) n`
  await planning.db.sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    select 'project ' || p, 'ios_store', 'keyword ' || p || ' ' || k, 2840, 'en'
    from generate_series(1, ${PROJECTS}::int) p cross join generate_series(1, ${KEYWORDS_EACH}::int) k`
  const countRead = (due: Statement, prepare: (tx: Transaction) => Promise<unknown>) =>
    planning.db.begin(async (tx) => {
      await prepare(tx)
      const budgets = await readBudgets(tx, BUDGET, 0)
      const [row] = await tx<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }[]>`
        explain (analyze, timing off, format json) ${admission(due, budgets)}`
      const plan = row?.['QUERY PLAN'][0]?.Plan
      assert.ok(plan !== undefined)
      return countRows(plan)
    })
  const rows = await countRead(askedNow(), disableNestedLoops)
  assert.equal((await planning.preview()).planned, SLOTS)
  assert.ok(rows <= 60 * SLOTS, `${rows} rows for ${SLOTS} slots`)
  await openDueSlots(planning.db)
  const ofPiece = await countRead(askedPiece(), async (tx) => {
    await readByIndexes(tx)
    await takePiece(tx, FIRST_PLACE, SLOTS, new Set())
  })
  // Without the price of another function: each slot would meet those of all eight.
  assert.ok(ofPiece <= 40 * SLOTS, `${ofPiece} rows for ${SLOTS} slots of a piece`)
})

test('a slot that more watches ask for than a transaction decides is planned alone', async (t) => {
  const planning = await open(t, '2026-11-21 12:00+00')
  for (const project of ['a', 'b', 'c']) await planning.watch(project, ['yoga', 'run'])
  const { planAskers } = TIMINGS
  t.after(() => Object.assign(TIMINGS, { planAskers }))
  Object.assign(TIMINGS, { planAskers: 2 })
  assert.equal((await planning.plan()).planned, 2)
  const [pieces] = await planning.db.sql`select count(distinct xmin::text)::int as pieces from task`
  assert.equal(pieces?.pieces, 2)
})
