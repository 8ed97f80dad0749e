/**
 * The time zone of a project is changed beside runners: each reservation ends on the day on which it began.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { planDueTasks } from '../../src/plan/plan.ts'
import { lasting } from '../support/lasting.ts'
import { readSpendDifferences } from '../support/ledger.ts'
import { createPlanning } from '../support/planning.ts'

const planning = lasting(createPlanning)
beforeEach(async () => {
  await planning.clear()
  await planning.setNow('2026-03-10 13:00+00')
  await planning.setBudget('a', { dailyMicros: 6000 })
  await planning.watch('a', ['yoga', 'pilates', 'running', 'rowing', 'boxing'])
})

const ZONES = ['Pacific/Kiritimati', 'America/Los_Angeles'] as const

/** What is reserved of the project, by its days. */
const readReserved = () => planning.db.sql`
  select begins_at, sum(reserved_micros)::float8 as micros from spend
  where scope <> 0 group by 1 having sum(reserved_micros) <> 0 order by 1`

describe('a time zone that is changed', () => {
  for (const zone of ZONES) {
    test(`to ${zone} while planned tasks are dropped leaves no reservation`, async () => {
      await planning.plan()
      await planning.openAnother().begin(async (person) => {
        await person`update project set timezone = ${zone}`
        await planning.setNow('2026-03-11 00:30+00')
        await planning.closeSlots()
        return []
      })
      assert.deepEqual([...(await readReserved())], [])
      assert.deepEqual(await readSpendDifferences(planning.db.sql), [])
      assert.equal((await planning.plan()).planned, 5)
      assert.deepEqual(await readSpendDifferences(planning.db.sql), [])
    })

    test(`to ${zone} while a plan is not committed leaves its reservation on its last day`, async () => {
      const person = planning.openAnother()
      await planDueTasks(
        planning.db,
        { maxDayMicros: 1e9, maxMonthMicros: null, maxRunMicros: null },
        async () => {
          await person.sql`update project set timezone = ${zone}`
        },
      )
      await planning.plan()
      await planning.setNow('2026-03-11 00:30+00')
      await planning.closeSlots()
      assert.deepEqual([...(await readReserved())], [])
      assert.deepEqual(await readSpendDifferences(planning.db.sql), [])
    })
  }

  test('counts from the hour after the next on, and counts nothing less than before', async () => {
    await planning.spend('a', 4800, '2026-03-10 09:00+00')
    await planning.db.sql`update project set timezone = 'Pacific/Kiritimati'`
    assert.equal((await planning.plan()).planned, 1)
    const daysOf = async (at: string) => {
      const rows = await planning.db.sql<{ day: string }[]>`
        select to_char(d.begins_at at time zone 'UTC', 'DD HH24')
          || to_char(d.ends_at at time zone 'UTC', '-DD HH24') as day
        from project p cross join money_days(p.id, ${at}::timestamptz) d where d.scope <> 0`
      return rows.map(({ day }) => day)
    }
    assert.deepEqual(await daysOf('2026-03-10 14:59+00'), ['10 00-11 00'])
    assert.deepEqual(await daysOf('2026-03-10 15:00+00'), ['10 10-11 10'])
    // The day of 9:00 has not ended when the one of 10:00 begins.
    await planning.setNow('2026-03-10 15:00+00')
    assert.equal((await planning.plan()).planned, 0)
    const [used] = await planning.db.sql`select spent_usd::float8 as spent, reserved_usd::float8 as reserved
      from budget_use where project = 'a' and period = 'day'`
    assert.deepEqual(used, { spent: 0.0048, reserved: 0.0012 })
    assert.deepEqual(await readSpendDifferences(planning.db.sql), [])
  })

  test('and changed back before it counts, counts for an hour at most', async () => {
    await planning.db.sql`update project set timezone = 'Asia/Tokyo'`
    await planning.plan()
    await planning.db.sql`update project set timezone = 'UTC'`
    await planning.plan()
    const rows = await planning.db.sql`select timezone from money_zone order by since`
    assert.deepEqual(
      rows.map((row) => row.timezone),
      ['UTC', 'UTC'],
    )
  })
})

test('the books are compared by scope and day: a lack of one is no surplus of another', async () => {
  await planning.spend('a', 1200, '2026-03-09 12:00+00')
  await planning.spend('a', 1200, '2026-03-10 12:00+00')
  await planning.db.sql`
    update spend set charged_micros = charged_micros + case begins_at when '2026-03-09 00:00+00' then 5
      else -5 end
    where scope = 0`
  assert.deepEqual(await readSpendDifferences(planning.db.sql), [
    {
      scope: 0,
      begins_at: new Date('2026-03-09'),
      kind: 'charge',
      counted_micros: '1205',
      booked_micros: '1200',
    },
    {
      scope: 0,
      begins_at: new Date('2026-03-10'),
      kind: 'charge',
      counted_micros: '1195',
      booked_micros: '1200',
    },
  ])
})

test('a project copied without triggers has the days of its time zone from the next plan on', async () => {
  await planning.db.sql`delete from money_zone`
  await planning.db.sql`update project set timezone = 'Pacific/Kiritimati'`
  assert.equal((await planning.plan()).planned, 5)
  await planning.watch('a', ['swimming'])
  assert.equal((await planning.plan()).planned, 0)
  assert.deepEqual(await readSpendDifferences(planning.db.sql), [])
})
