/** The summary of the day: all that became of its slots and what it cost, told once, after they are closed. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { pino } from 'pino'
import { track } from '../../jobs/track.ts'
import { UnavailableError } from '../../src/errors.ts'
import { executeJob, type Job } from '../../src/queue/job.ts'
import { tellDayBefore } from '../../src/report/day.ts'
import { insertCharge } from '../support/ledger.ts'
import { createPlanning } from '../support/planning.ts'
import { watchKeywords } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const DAY = '2026-03-04'
const planning = await createPlanning()
const { db } = planning
after(() => planning.drop())

let told: Record<string, unknown>[] = []
const log = pino(
  { level: 'info', base: null, timestamp: false },
  { write: (line: string) => void told.push(JSON.parse(line)) },
)

beforeEach(async () => {
  told = []
  await planning.clear()
  await planning.setNow(`${DAY} 00:00+00`)
})

/** Slots of the day, written as results and gaps are. */
async function live(): Promise<void> {
  const watched = ['measured', 'failed', 'budget', 'html_only', 'nothing ran']
  await planning.watch('a', watched, { every: '1 day' })
  await db.sql`
    insert into app_watch (project, store, app_id, info, location_code, language_code)
    values ('a', 'ios_store', '1480010017', true, 2840, 'en')`
  await db.sql`select ensure_history_partitions(${DAY}, ${DAY})`
  await db.sql`
    insert into ranking (target_id, slot, captured_at, depth, app_ids)
    select id, ${DAY}, ${DAY}, 10, '{}' from target where subject = 'measured'`
  await db.sql`
    insert into ranking (target_id, slot, gap) select id, ${DAY}, subject from target where subject in ('failed', 'budget', 'html_only')`
  await insertCharge(db.sql, { project: 'a', micros: 1200, at: `${DAY} 10:00+00` })
  await insertCharge(db.sql, { project: 'a', kind: 'duplicate', micros: 700, at: `${DAY} 11:00+00` })
  await insertCharge(db.sql, { project: 'a', micros: 90, at: '2026-03-05 00:00+00' })
}

const SUMMARY = {
  level: 30,
  msg: 'summary of the day',
  day: DAY,
  measured: 1,
  failed: 1,
  budget: 1,
  missed: 2,
  htmlOnly: 1,
  paidTasks: 1,
  spentMicros: 1900,
  duplicateMicros: 700,
}

test('the day before is told with all that became of it, after its slots are closed', async () => {
  await live()
  await planning.setNow('2026-03-05 00:07+00')
  await planning.closeSlots()
  assert.equal(await tellDayBefore(db, log), true)
  assert.deepEqual(told, [SUMMARY])
  assert.equal(await tellDayBefore(db, log), false)
  await planning.setNow('2026-03-06 00:07+00')
  await planning.closeSlots()
  await tellDayBefore(db, log)
  assert.deepEqual(
    told.map(({ day }) => day),
    [DAY, '2026-03-05'],
  )
})

test('a day of which a task is open is told when that has ended, and six hours after its end in any case', async () => {
  await live()
  await db.sql`
    insert into task (target_id, payers, slot, slot_ends_at, priority, estimate_micros, state, posted_at)
    select id, '{1}', ${DAY}, '2026-03-05', 1, 1, 'posted', clock_timestamp() from target where subject = 'nothing ran'`
  const tellAt = async (at: string) => {
    await planning.setNow(at)
    await planning.closeSlots()
    return tellDayBefore(db, log)
  }
  assert.equal(await tellAt('2026-03-05 05:59:59+00'), false)
  const [{ missed: stillOpen } = { missed: 0 }] =
    await db.sql`select count(*)::int as missed from ranking where gap = 'missed'`
  assert.equal(stillOpen, 0)
  assert.equal(await tellAt('2026-03-05 06:00+00'), true)
  await db.sql`delete from job_run`
  await db.sql`
    insert into ranking (target_id, slot, captured_at, depth, app_ids)
    select target_id, slot, '2026-03-05 00:20+00', 10, '{}' from task`
  await db.sql`update task set state = 'collected', ended_at = clock_timestamp()`
  assert.equal(await tellAt('2026-03-05 00:30+00'), true)
  assert.deepEqual(
    told.map(({ measured, missed }) => ({ measured, missed })),
    [
      { measured: 1, missed: 1 },
      { measured: 2, missed: 1 },
    ],
  )
})

test('a day is told once, by several runners at once and by a job that fails after it', async () => {
  const world = await createWorld({ now: `${DAY} 00:00+00` })
  try {
    await watchKeywords(world, ['yoga'])
    await world.setNow('2026-03-05 00:07+00')
    const contexts = [(await world.openRunner()).context, (await world.openRunner()).context]
    const failing: Job = {
      ...track,
      run: async (context) => {
        await track.run(context)
        throw new UnavailableError('What comes later failed.')
      },
    }
    for (const context of [...contexts, ...contexts])
      await assert.rejects(executeJob({ ...context, log }, failing), /What comes later failed/)
    assert.deepEqual(
      told.flatMap(({ msg, day, missed }) => (msg === SUMMARY.msg ? [{ day, missed }] : [])),
      [{ day: DAY, missed: 1 }],
    )
    await world.db.sql`delete from job_run`
    await Promise.all(contexts.map((context) => tellDayBefore(context.db, log)))
    assert.equal(told.filter(({ msg }) => msg === SUMMARY.msg).length, 2)
  } finally {
    await world.close()
  }
})
