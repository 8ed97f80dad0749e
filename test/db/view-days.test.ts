/** Ranks by the days of a project, and what they add up to: nothing that was not measured counts for or against an app. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { createWatchlist, type Watchlist } from '../support/watchlist.ts'

let list: Watchlist
before(async () => {
  list = await createWatchlist()
})
after(() => list.drop())
beforeEach(clear)

async function clear(): Promise<void> {
  await list.clear()
  await list.setNow('2026-03-10 13:00+00')
}

/** A measurement in which the app 1001 stands at this rank, or not at all. */
const captureAt = (keyword: string, slot: string, rank: number | null) =>
  list.capture(keyword, slot, [
    ...Array.from({ length: (rank ?? 3) - 1 }, (_, n) => `${n + 1}00`),
    rank === null ? '99' : '1001',
  ])

describe('rank_daily', () => {
  const days = () => list.sql`
    select to_char(day, 'MM-DD') as day, best_rank, last_rank, measured, owed, visibility::float8
    from rank_daily order by day`

  test('has the best and the last rank of a day, and how much of it was measured', async () => {
    await list.addApp()
    await list.addKeyword({ every: '6 hours' })
    await list.setNow('2026-03-11 02:00+00')
    await captureAt('yoga', '2026-03-10 12:00+00', 2)
    await captureAt('yoga', '2026-03-10 18:00+00', 4)
    await list.leaveGap('yoga', '2026-03-11 00:00+00', 'failed')
    assert.deepEqual(
      [...(await days())],
      [
        { day: '03-10', best_rank: 2, last_rank: 4, measured: 2, owed: 2, visibility: 0.375 },
        { day: '03-11', best_rank: null, last_rank: null, measured: 0, owed: 1, visibility: null },
      ],
    )
  })

  test('tells an app that was not within depth from one that was not measured', async () => {
    await list.addApp()
    await list.addKeyword({ every: '6 hours' })
    await list.setNow('2026-03-11 02:00+00')
    await captureAt('yoga', '2026-03-10 12:00+00', 1)
    await captureAt('yoga', '2026-03-10 18:00+00', null)
    const [day] = await days()
    assert.deepEqual(day, {
      day: '03-10',
      best_rank: 1,
      last_rank: null,
      measured: 2,
      owed: 2,
      visibility: 0.5,
    })
  })

  test('has the days of the time zone of the project', async () => {
    await list.sql`insert into project (name, timezone) values ('fitness', 'America/New_York')`
    await list.addApp()
    await list.addKeyword({ every: '6 hours' })
    await list.setNow('2026-03-11 07:00+00')
    for (const slot of ['10 12', '10 18', '11 00']) await captureAt('yoga', `2026-03-${slot}:00+00`, 1)
    const rows = await days()
    assert.deepEqual(
      rows.map(({ day, measured, owed }) => ({ day, measured, owed })),
      [
        { day: '03-10', measured: 3, owed: 3 },
        { day: '03-11', measured: 0, owed: 1 },
      ],
    )
  })

  test('says how deep was looked where the depth changed', async () => {
    await list.addApp()
    await list.addKeyword({ every: '6 hours' })
    await list.setNow('2026-03-10 19:00+00')
    await list.capture('yoga', '2026-03-10 12:00+00', [], { depth: 100 })
    await list.capture('yoga', '2026-03-10 18:00+00', [], { depth: 50 })
    assert.deepEqual(
      [...(await list.sql`select depth, best_rank from rank_daily`)],
      [{ depth: 50, best_rank: null }],
    )
  })
})

describe('visibility_daily', () => {
  const visibility = () => list.sql`
    select list, visibility::float8, ranked, measured, owed, measured_share::float8 from visibility_daily order by list`

  test('averages 1/rank over the measurements of each keyword, then over the keywords', async () => {
    await list.addApp()
    await list.addKeyword({ every: '6 hours' })
    await list.addKeyword({ keyword: 'zen' })
    await list.setNow('2026-03-10 23:00+00')
    await captureAt('yoga', '2026-03-10 12:00+00', 1)
    await captureAt('yoga', '2026-03-10 18:00+00', null)
    await captureAt('zen', '2026-03-10 00:00+00', 4)
    assert.deepEqual(
      [...(await visibility())],
      [{ list: 'keyword', visibility: 0.375, ranked: 2, measured: 2, owed: 2, measured_share: 1 }],
    )
  })

  test('keeps charts and keywords apart', async () => {
    await list.addApp({ store: 'android_store', app_id: 'com.acme.yoga' })
    await list.addKeyword({ store: 'android_store' })
    await list.addChart()
    await list.capture('yoga', '2026-03-10 00:00+00', ['com.other', 'com.acme.yoga'])
    await list.capture('topselling_free', '2026-03-10 00:00+00', ['com.acme.yoga'])
    const whole = { ranked: 1, measured: 1, owed: 1, measured_share: 1 }
    assert.deepEqual(
      [...(await visibility())],
      [
        { list: 'chart', visibility: 1, ...whole },
        { list: 'keyword', visibility: 0.5, ...whole },
      ],
    )
  })

  test('is what the measured keywords alone make of it, however many gaps stand beside them', async () => {
    const rank = fc.option(fc.integer({ min: 1, max: 5 }))
    const gap = fc.constantFrom('failed', 'budget', 'missed', 'html_only', 'pending')
    await fc.assert(
      fc.asyncProperty(
        fc.array(rank, { maxLength: 6 }),
        fc.array(gap, { maxLength: 4 }),
        async (ranks, gaps) => {
          fc.pre(ranks.length + gaps.length > 0)
          await clear()
          await list.addApp()
          for (const [n, place] of ranks.entries()) {
            await list.addKeyword({ keyword: `measured ${n}` })
            await captureAt(`measured ${n}`, '2026-03-10 00:00+00', place)
          }
          for (const [n, reason] of gaps.entries()) {
            await list.addKeyword({ keyword: `gap ${n}` })
            if (reason !== 'pending') await list.leaveGap(`gap ${n}`, '2026-03-10 00:00+00', reason)
          }
          // A gap `missed` belongs to a slot that is over.
          await list.setNow('2026-03-11 00:00+00')
          await list.sql`update watch_period set ended_at = storerank_now(), last_slot = '2026-03-10 00:00+00'`
          await list.sql`update watch_period set ended_at = null, last_slot = null where kind = 'app'`
          const [row] = await list.sql`
          select visibility::float8, measured, owed from visibility_daily where day = '2026-03-10'`
          const sum = ranks.reduce((total: number, place) => total + (place === null ? 0 : 1 / place), 0)
          assert.equal(row?.measured, ranks.length)
          assert.equal(row?.owed, ranks.length + gaps.length)
          if (ranks.length === 0) assert.equal(row?.visibility, null)
          else assert.ok(Math.abs(row?.visibility - sum / ranks.length) < 0.00001)
        },
      ),
      { numRuns: 25 },
    )
  })
})
