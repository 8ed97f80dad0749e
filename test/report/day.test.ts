/**
 * The summary of the day: all that became of its slots and what it cost, told once, after they are closed.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { pino } from 'pino'
import { summary } from '../../jobs/summary.ts'
import { track } from '../../jobs/track.ts'
import { UnavailableError } from '../../src/errors.ts'
import { executeJob, type Job } from '../../src/queue/job.ts'
import { logDayBefore } from '../../src/report/day.ts'
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
    insert into ranking (target_id, slot, gap) select id, ${DAY}, subject from target
      where subject in ('failed', 'budget', 'html_only')`
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

test('the day before is told with all that became of it, once its slots are closed', async () => {
  await live()
  await planning.setNow('2026-03-05 06:11+00')
  await planning.closeSlots()
  assert.equal(await logDayBefore(db, log, 'summary'), DAY)
  assert.deepEqual(told, [SUMMARY])
})

test('a day is told once, over runners, and by the next run where one fails', async () => {
  const world = await createWorld({ now: `${DAY} 00:00+00` })
  try {
    await watchKeywords(world, ['yoga'])
    await world.setNow('2026-03-05 06:11+00')
    const contexts = [(await world.openRunner()).context, (await world.openRunner()).context].map(
      (context) => ({ ...context, log }),
    )
    const days = () => told.flatMap(({ msg, day, missed }) => (msg === SUMMARY.msg ? [{ day, missed }] : []))
    for (const context of [...contexts, ...contexts]) {
      await executeJob(context, track)
      await executeJob(context, summary)
    }
    assert.deepEqual(days(), [{ day: DAY, missed: 1 }])
    await world.setNow('2026-03-06 00:30+00')
    const context = { ...(await world.openRunner()).context, log }
    await executeJob(context, track)
    const failing: Job = {
      ...summary,
      run: () => Promise.reject(new UnavailableError('Reading took too long.')),
    }
    await assert.rejects(executeJob(context, failing), /Reading took too long/)
    await executeJob(context, summary)
    await executeJob(context, summary)
    assert.deepEqual(days(), [
      { day: DAY, missed: 1 },
      { day: '2026-03-05', missed: 1 },
    ])
  } finally {
    await world.close()
  }
})
