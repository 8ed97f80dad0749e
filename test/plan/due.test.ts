/**
 * What planning and closing look at: all that is due or over and nothing else, as reading every watch would
 * find it.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { askedNow, openDueSlots } from '../../src/plan/due.ts'
import { lasting } from '../support/lasting.ts'
import { createPlanning } from '../support/planning.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 2, 10, 13)
const EVERY = ['1 hour', '6 hours', '1 day', '3 days']
const KEYWORDS = ['yoga', 'zen', 'run']
const CENT = 10_000
/** Watched since the day before. */
const MANY = Array.from({ length: 5 }, (_, number) => `old ${number}`)
const PIECE_SLOTS = 2

const planning = lasting(createPlanning)

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
  { weight: 3, arbitrary: fc.record({ do: fc.constant('plan' as const), maxDayMicros }) },
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
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

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
  if (each.do === 'drop') await planning.dropStale()
  if (each.do === 'measure') await planning.measure()
  if (each.do === 'close') await planning.closeSlots()
}

describe('whatever people and runners did', () => {
  test('a plan buys what reading every watch finds due and affordable; the rest waits as cut', async () => {
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
          with ${askedNow()}
          select count(*) as due, count(*) filter (where not exists (
              select from due_slot c where (c.target_id, c.slot) = (d.target_id, d.slot)
                and c.cut is not null)) as untold
          from due d`
        assert.deepEqual({ ...left }, { due: cut, untold: 0 })
        assert.equal((await db.sql`select from open_work where kind = 'unplanned' and count > 0`).count, 0)
        for (const name of ['a', 'b']) await planning.setBudget(name, {})
        assert.equal((await planning.plan()).planned, cut)
        assert.equal((await planning.preview()).due, 0)
      }),
      { numRuns: 8 },
    )
  })

  test('closing leaves nothing that is over and owed without a task or a row in the history', async () => {
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
          const silent = await planning.db.sql`
            select p.id, s.slot from watch_period p cross
              join lateral generate_series(p.first_slot, storerank_now(), p.every) s (slot)
            where p.target_id is not null and s.slot <= coalesce(p.last_slot, 'infinity')
              and s.slot + p.every <= least(storerank_now(), p.ended_at)
              and not exists (select from ranking r where r.target_id = p.target_id and r.slot = s.slot)
              and not exists (select from task k where k.target_id = p.target_id and k.slot = s.slot
                and k.state <> 'dropped')
              and not exists (
                select from due_slot d where d.target_id = p.target_id and d.slot = s.slot
                  and d.ends_at > storerank_now())`
          assert.deepEqual([...silent], [])
          assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: 0 })
        },
      ),
      { numRuns: 6 },
    )
  })

  test('the very first opening, ended before it notes how far it is, leaves no slot out', async () => {
    const { db } = planning
    await planning.clear()
    await planning.setNow(new Date(START_MS))
    const ids = await planning.watch('a', KEYWORDS, { every: '1 hour' })
    await db.sql.unsafe(`
      create function end_first_opening() returns trigger language plpgsql as $$ begin
        if not exists (select from period_change) then raise exception 'ended'; end if;
        return new;
      end $$;
      create trigger end_first_opening before update of opened_to on ledger
        for each row execute function end_first_opening()`)
    await openDueSlots(db).catch((error) => assert.match(error.message, /ended/))
    assert.equal((await db.sql`select from period_change`).count, 0)
    await db.sql.unsafe('drop function end_first_opening cascade')
    await planning.setNow(new Date(START_MS + 5 * HOUR_MS))
    assert.deepEqual(await planning.closeSlots(), { budget: 0, missed: ids.length * 5 })
  })
})
