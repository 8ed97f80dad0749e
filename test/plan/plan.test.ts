/** Planning: what is due becomes a task once, whoever plans and however many at the same moment. */
import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import type { Database } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { planDueTasks } from '../../src/plan/plan.ts'
import { lasting } from '../support/lasting.ts'
import { readReservations } from '../support/ledger.ts'
import { createPlanning } from '../support/planning.ts'
import { until } from '../support/world.ts'

const BUDGET = { maxDayMicros: 10_000, maxMonthMicros: null, maxRunMicros: null }
const TWENTY = Array.from({ length: 20 }, (_, i) => `keyword ${i}`)

const planning = lasting(createPlanning)
let others: Database[]
before(async () => {
  others = [planning.openAnother(), planning.openAnother(), planning.openAnother()]
})
beforeEach(() => planning.clear())

/** Sessions that wait for a lock of this database. */
const waiting = async () =>
  (
    await planning.db.sql`
    select from pg_locks l join pg_stat_activity a using (pid)
    where not l.granted and a.datname = current_database()`
  ).count

/** Runs the two while `hold` holds what they wait for, and lets go when both stand still. */
async function crowd<T>(hold: string, work: (db: Database) => Promise<T>): Promise<[T, T]> {
  const [first, second, holder] = others as [Database, Database, Database]
  let both = Promise.resolve<[T, T] | undefined>(undefined)
  await holder.begin(async (tx) => {
    await tx.unsafe(hold)
    both = Promise.all([work(first), work(second)])
    both.catch(() => {})
    await until('both wait', async () => (await waiting()) === 2, 10_000)
  })
  return (await both) as [T, T]
}

const LEDGER_LOCK = 'select from ledger for update'

describe('two planners at the same moment', () => {
  test('plan each target once, and together spend no more than there is', async () => {
    await planning.watch('a', TWENTY)
    const plans = await crowd(LEDGER_LOCK, (db) => planDueTasks(db, BUDGET, async () => {}))
    assert.deepEqual(plans.map(({ planned }) => planned).sort(), [0, 8])
    const [sum] = await planning.db.sql`
      select count(*) as tasks, count(distinct target_id) as targets, sum(estimate_micros)::bigint as micros
        from task`
    assert.deepEqual(sum, { tasks: 8, targets: 8, micros: 9600 })
    const reserved = await readReservations(planning.db.sql)
    assert.equal(
      reserved.reduce((sum, { micros }) => sum + micros, 0),
      9600,
    )
  })

  test('open a watch whose location has just become known once', async () => {
    const { sql } = planning.db
    await planning.watch('a', ['yoga'], { location_code: null, location_name: 'United States' })
    await sql`insert into location (store, code, name) values ('ios_store', 2840, 'United States')`
    const plans = await crowd(LEDGER_LOCK, async (db) => {
      await db.sql`select start_missing_watch_periods()`
      return planDueTasks(db, BUDGET, async () => {})
    })
    assert.deepEqual(plans.map(({ planned }) => planned).sort(), [0, 1])
  })

  test('are not disturbed by the references, which open watches without the lock of the ledger', async () => {
    const { sql } = planning.db
    await planning.watch('a', ['yoga'], { location_code: null, location_name: 'United States' })
    await sql`insert into location (store, code, name) values ('ios_store', 2840, 'United States')`
    await sql`insert into target (store, function, subject, location_code, language_code)
      values ('ios_store', 'app_searches', 'yoga', 2840, 'en')`
    await crowd(
      'lock table watch_period in exclusive mode',
      (db) => db.sql`select start_missing_watch_periods()`,
    )
    assert.equal((await sql`select from watch_period`).count, 1)
  })
})

describe('a plan', () => {
  test('that is repeated in one slot plans nothing more, and in the next slot all again', async () => {
    await planning.setNow('2026-03-10 13:00+00')
    await planning.watch('a', ['yoga'])
    await planning.watch('a', ['zen'], { every: '12 hours' })
    assert.equal((await planning.plan()).planned, 2)
    assert.equal((await planning.plan()).due, 0)
    await planning.measure()
    await planning.setNow('2026-03-10 23:59:59.999+00')
    assert.equal((await planning.plan()).due, 0)
    await planning.setNow('2026-03-11 00:00+00')
    assert.equal((await planning.plan()).planned, 2)
  })

  test('does not buy a slot again whose task was pruned: the history says that it is done', async () => {
    await planning.setNow('2026-03-10 13:00+00')
    await planning.watch('a', ['yoga'], { every: '31 days' })
    await planning.plan()
    await planning.measure()
    await planning.db.sql`delete from task`
    assert.equal((await planning.plan()).due, 0)
  })

  test('hands its posts over in its own transaction: without jobs there are no tasks', async () => {
    await planning.watch('a', TWENTY)
    await assert.rejects(
      planDueTasks(planning.db, BUDGET, () => Promise.reject(new Error('no queue'))),
      /no queue/,
    )
    for (const table of ['task', 'post', 'charge'])
      assert.equal((await planning.db.sql`select from ${sql.identifier(table)}`).count, 0, table)
  })

  test('packs a hundred tasks in a post, the most urgent ones together and first', async () => {
    const keywords = Array.from({ length: 120 }, (_, n) => `keyword ${n}`)
    await planning.watch('a', keywords)
    await planning.watch('a', ['urgent'], { priority: 2 })
    await planDueTasks(planning.db, { ...BUDGET, maxDayMicros: 1_000_000 }, async (tx, [first = '']) => {
      const posts = await tx`
        select post_id = ${first} as is_first, count(*) as tasks, max(priority) as priority from task
          group by 1 order by 1 desc`
      assert.deepEqual(
        [...posts],
        [
          { is_first: true, tasks: 100, priority: 2 },
          { is_first: false, tasks: 21, priority: 1 },
        ],
      )
    })
  })

  test('leaves out what is disabled, and the app of which only the rank is asked for', async () => {
    const { sql: db } = planning.db
    await planning.watch('a', ['yoga'], { enabled: false })
    await planning.watch('b', ['zen'])
    await db`update project set enabled = false where name = 'b'`
    await db`insert into app_watch (project, store, app_id) values ('a', 'ios_store', '1001')`
    await db`insert into app_watch (project, store, app_id, info, location_code, language_code)
      values ('a', 'ios_store', '1002', true, 2840, 'en')`
    const { lines } = await planning.preview()
    assert.deepEqual(
      [...lines],
      [{ project: 'a', store: 'ios_store', function: 'app_info', cut: null, tasks: 1, costMicros: 600 }],
    )
    await planning.plan()
    assert.deepEqual(await planning.plannedKeywords(), ['1002'])
  })

  test('buys charts and reviews by their own billing units, each category for itself', async () => {
    const { sql: db } = planning.db
    const place = { project: 'a', location_code: 2840, language_code: 'en' }
    const charts = [
      { category: null, depth: 101 },
      { category: 'game', depth: 100 },
      { category: 'sports', depth: 200, priority: 2 },
    ]
    for (const chart of charts)
      await db`insert into chart_watch ${sql.row({ ...place, collection: 'topselling_free', ...chart })}`
    const app = { ...place, store: 'ios_store', app_id: '1480010017' }
    await db`insert into app_watch ${sql.row({ ...app, reviews: true, reviews_depth: 51 })}`
    const plan = await planning.plan()
    assert.deepEqual([plan.planned, plan.posts], [4, 2])
    const tasks = await db`
      select t.function, t.subject, t.category, k.depth, k.estimate_micros as micros
      from task k join target t on t.id = k.target_id order by 1, 3 nulls first`
    const chart = { function: 'app_list', subject: 'topselling_free' }
    assert.deepEqual(
      [...tasks],
      [
        { ...chart, category: null, depth: 101, micros: 2400 },
        { ...chart, category: 'game', depth: 100, micros: 1200 },
        { ...chart, category: 'sports', depth: 200, micros: 4800 },
        { function: 'app_reviews', subject: '1480010017', category: null, depth: 51, micros: 1500 },
      ],
    )
  })

  test('brings raw pages when a project asks for them, at the same price, from the next slot', async () => {
    const android = { store: 'android_store', depth: 30 }
    const wants = async () => {
      const rows = await planning.db.sql`
        select t.subject, k.html, k.estimate_micros as micros from task k join target t on t.id = k.target_id
        where k.state = 'planned' order by 1`
      return rows.map(({ subject, html, micros }) => [subject, html, micros])
    }
    await planning.setNow('2026-03-10 13:00+00')
    await planning.watch('a', ['yoga', 'zen'], android)
    await planning.watch('b', ['yoga'], { ...android, html: true })
    await planning.plan()
    const first = [
      ['yoga', true, 1200],
      ['zen', false, 1200],
    ]
    assert.deepEqual(await wants(), first)

    await planning.db.sql`update keyword_watch set html = not html`
    await planning.plan()
    assert.deepEqual(await wants(), first)
    await planning.measure()
    await planning.setNow('2026-03-11 13:00+00')
    await planning.plan()
    assert.deepEqual(await wants(), [
      ['yoga', true, 1200],
      ['zen', true, 1200],
    ])
    await planning.measure()
    await planning.db.sql`update keyword_watch set html = false where keyword = 'yoga'`
    await planning.setNow('2026-03-12 13:00+00')
    await planning.plan()
    assert.deepEqual(await wants(), [
      ['yoga', false, 1200],
      ['zen', true, 1200],
    ])
  })

  test('that is only looked at leaves nothing behind', async () => {
    await planning.watch('a', TWENTY)
    assert.equal((await planning.preview(BUDGET)).cut, 12)
    for (const table of ['task', 'post', 'charge', 'due_slot'])
      assert.equal((await planning.db.sql`select from ${sql.identifier(table)}`).count, 0, table)
  })
})
