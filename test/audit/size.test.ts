/**
 * An audit of a day reads what the service lists of that day, and not the ledger of all days that are kept.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { compareBooks, type ListedTask } from '../../src/audit/compare.ts'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'

const TASKS_A_DAY = 300
const DAYS = 60
const FIRST_DAY = '2026-01-01 06:00+00'
/**
 * Its charge; the charges of its hour, its day and the day after, with the pages beside them; and of those
 * that the list does not name, their task.
 */
const MOST_READ_A_TASK = 12
const DAY_MS = 86_400_000

const planning = lasting(createPlanning)
before(async () => {
  await planning.setNow(new Date(Date.parse(FIRST_DAY) + DAYS * DAY_MS))
  await planning.db.sql`
    with day as (
      select n, ${FIRST_DAY}::timestamptz + make_interval(days => n) as at
        from generate_series(0, ${DAYS - 1}::int) n
    ),
    sent as (
      insert into post (store, function, state, send_before, settled_at)
      select 'ios_store', 'app_searches', 'settled', at, at from day returning id, send_before
    ),
    bought as (
      insert into task (target_id, slot, slot_ends_at, state, depth, priority, estimate_micros, payers,
        post_id, service_id, posted_at, ended_at)
      select t, date_trunc('day', s.send_before, 'UTC'), s.send_before + interval '1 day', 'collected', 100,
        1, 1200, '{1}', s.id,
        gen_random_uuid()::text, s.send_before, s.send_before
      from sent s cross join generate_series(1, ${TASKS_A_DAY}::int) t
      returning *
    )
    insert into charge (kind, at, project_id, amount_micros, target_id, slot, service_id)
    select 'charge', posted_at, 1, 1200, target_id, slot, service_id from bought`
  await planning.db.sql`vacuum analyze`
})

/** Rows of tasks and charges that were read so far, by scans of a whole table and by keys. */
async function countRead(): Promise<number> {
  const { sql } = planning.db
  await sql`select pg_stat_force_next_flush()`
  const [row] = await sql<{ rows: number }[]>`
    select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows from pg_stat_user_tables
      where relname in ('task', 'charge')`
  return row?.rows ?? 0
}

/** What the service lists of the last day but one, each at another price where `isDearer`. */
async function listDay(isDearer: boolean): Promise<{ rows: ListedTask[]; from: Date; to: Date }> {
  const from = new Date(Math.floor(Date.parse(FIRST_DAY) / DAY_MS + DAYS - 2) * DAY_MS)
  const to = new Date(from.getTime() + DAY_MS)
  const booked = await planning.db.sql<{ id: string; at: Date; micros: number }[]>`
    select service_id as id, at, amount_micros as micros from charge where at >= ${from} and at < ${to}`
  const rows = booked.map(({ id, at, micros }) => ({
    id,
    datetimePosted: at,
    datetimeDone: at,
    costMicros: isDearer ? micros * 2 : micros,
    tag: null,
    url: null,
  }))
  return { rows, from, to }
}

test('whatever is kept of other days is not read', async () => {
  const { rows, from, to } = await listDay(false)
  assert.equal(rows.length, TASKS_A_DAY)
  const before = await countRead()
  assert.deepEqual(await compareBooks(planning.db, [rows], { from, to }, 0), {
    adjusted: 0,
    missing: 0,
    unknown: 0,
  })
  const read = ((await countRead()) - before) / TASKS_A_DAY
  assert.ok(read <= MOST_READ_A_TASK, `${read.toFixed(1)} rows a listed task, of ${2 * DAYS} that are kept`)
})

test('what differs is found among them', async () => {
  const { rows, from, to } = await listDay(true)
  const { adjusted, missing, unknown } = await compareBooks(planning.db, [rows.slice(10)], { from, to }, 0)
  assert.deepEqual({ adjusted, missing, unknown }, { adjusted: TASKS_A_DAY - 10, missing: 10, unknown: 0 })
})
