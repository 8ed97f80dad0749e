/** What planning and closing look at: all that is due or over and nothing else, as reading every watch would find it. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { dueNow, lookAtAllPeriods, queueDueSlots } from '../../src/plan/due.ts'
import { until } from '../support/embedded.ts'
import { createPlanning, type Planning } from '../support/planning.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 2, 10, 13)
const EVERY = ['1 hour', '6 hours', '1 day', '3 days']
const KEYWORDS = ['yoga', 'zen', 'run']
const CENT = 10_000
/** Watched since the day before: with pieces of two slots, they are so many that the most urgent are planned before all are queued. */
const MANY = Array.from({ length: 12 }, (_, number) => `old ${number}`)
const PIECE_SLOTS = 2

let planning: Planning
before(async () => {
  planning = await createPlanning()
})
after(() => planning.drop())

const project = fc.constantFrom('a', 'b')
const keyword = fc.constantFrom(...KEYWORDS)
const maxDayMicros = fc.constantFrom(0, 1200, 3000, CENT, 100 * CENT)
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('watch' as const),
      project,
      keyword,
      every: fc.constantFrom(...EVERY),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('unwatch' as const), project, keyword }) },
  fc.record({
    do: fc.constant('change' as const),
    project,
    keyword,
    every: fc.constantFrom(...EVERY),
    priority: fc.constantFrom(1, 2),
  }),
  fc.record({ do: fc.constant('enable' as const), project, on: fc.boolean() }),
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 60 * 30 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('plan' as const),
      maxDayMicros,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('budget' as const),
      project,
      dailyMicros: fc.constantFrom(null, 0, 1200, 3000, CENT),
    }),
  },
  fc.record({ do: fc.constant('drop' as const) }),
  fc.record({ do: fc.constant('measure' as const) }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('close' as const) }) },
  fc.record({ do: fc.constantFrom('crash' as const, 'housekeeping' as const) }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** The unlogged tables are empty after it. */
const crash = () => planning.db.sql`truncate interval_progress, period_due, due_batch, waiting_slot`

async function take(each: Step, clock: { ms: number }): Promise<void> {
  const { sql } = planning.db
  if (each.do === 'watch')
    await planning.watch(each.project, [each.keyword], { every: each.every }).catch(() => {})
  if (each.do === 'unwatch')
    await sql`delete from keyword_watch where project = ${each.project} and keyword = ${each.keyword}`
  if (each.do === 'change')
    await sql`update keyword_watch set every = ${each.every}::interval, priority = ${each.priority}
      where project = ${each.project} and keyword = ${each.keyword}`
  if (each.do === 'enable') await sql`update project set enabled = ${each.on} where name = ${each.project}`
  if (each.do === 'wait') {
    clock.ms += each.minutes * MINUTE_MS
    await planning.setNow(new Date(clock.ms))
  }
  if (each.do === 'plan') await planning.plan({ maxDayMicros: each.maxDayMicros }, PIECE_SLOTS)
  if (each.do === 'budget') await planning.setBudget(each.project, { dailyMicros: each.dailyMicros })
  // As a claim does with what no watch asks for any more.
  if (each.do === 'drop')
    await sql`update task k set state = 'dropped', post_id = null where state = 'planned' and not exists (
      select from watch_period p where p.target_id = k.target_id and p.ended_at is null and slot_of(p.every, k.slot) = k.slot)`
  if (each.do === 'measure') await planning.measure()
  if (each.do === 'close') await planning.closeSlots()
  if (each.do === 'crash') await crash()
  if (each.do === 'housekeeping') await lookAtAllPeriods(planning.db)
}

test('a plan goes on while housekeeping has all periods looked at, also when it deletes the row that the plan waits for', {
  timeout: 120_000,
}, async () => {
  const { db } = planning
  await planning.clear()
  await planning.setNow(new Date(START_MS))
  await planning.watch('a', ['yoga'])
  await planning.plan()
  const plan = await planning.openAnother().begin(async (housekeeping) => {
    await housekeeping`select from interval_progress for update`
    const planned = queueDueSlots(planning.openAnother(), { firstSlots: 10, pieceSlots: 10 })
    await until('the plan waits', async () => {
      const waiting = await db.sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%queue_passing_slots%'`
      return waiting.count === 1
    })
    await housekeeping`delete from interval_progress`
    return { planned }
  })
  await plan.planned
  assert.ok((await db.sql`select from interval_progress where work = 'plan' and slot is not null`).count > 0)
})

describe('whatever people and runners did', () => {
  test('a plan buys what reading every watch finds due and affordable, and the rest is told as cut and waits', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), maxDayMicros, async (steps, maxMicros) => {
        const { db } = planning
        const clock = { ms: START_MS }
        await planning.clear()
        await planning.setNow(new Date(clock.ms - DAY_MS))
        await planning.watch('c', MANY)
        await planning.plan()
        await planning.setNow(new Date(clock.ms))
        for (const each of steps) await take(each, clock)
        const budget = { maxDayMicros: maxMicros }
        const { planned, plannedMicros, cut } = await planning.preview(budget)
        const plan = await planning.plan(budget, PIECE_SLOTS)
        assert.deepEqual([plan.planned, plan.plannedMicros], [planned, plannedMicros])
        const [left] = await db.sql`
          with ${dueNow(db.sql)}
          select count(*) as due, count(*) filter (where not exists (
              select from budget_cut c where (c.target_id, c.slot) = (d.target_id, d.slot))) as untold,
            count(*) filter (where not exists (
              select from waiting_slot w where (w.target_id, w.slot) = (d.target_id, d.slot)
                and (w.priority_order, w.captured_at) <= (-d.priority, coalesce(d.captured_at, '-infinity')))) as forgotten
          from due d`
        assert.deepEqual({ ...left }, { due: cut, untold: 0, forgotten: 0 })
        assert.equal((await db.sql`select from due_batch`).count, 0)
        for (const name of ['a', 'b']) await planning.setBudget(name, {})
        assert.equal((await planning.plan()).planned, cut)
        assert.equal((await planning.preview()).due, 0)
      }),
      {
        numRuns: 40,
        // The first piece takes the hour's slot, which is less urgent than what is queued after it.
        examples: [
          [
            [
              { do: 'plan', maxDayMicros: 0 },
              { do: 'watch', project: 'a', keyword: 'yoga', every: '1 hour' },
              { do: 'measure' },
              { do: 'housekeeping' },
            ],
            3000,
          ],
        ],
      },
    )
  })

  test('closing leaves nothing that reading every period would close', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 14 }),
        fc.integer({ min: 0, max: 60 * 80 }),
        async (steps, minutes) => {
          const clock = { ms: START_MS }
          await planning.clear()
          await planning.setNow(new Date(clock.ms))
          for (const each of steps) await take(each, clock)
          await take({ do: 'wait', minutes }, clock)
          await planning.closeSlots()
          await crash()
          assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
        },
      ),
      { numRuns: 25 },
    )
  })
})
