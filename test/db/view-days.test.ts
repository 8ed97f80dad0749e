/**
 * Ranks by the days of a project, and what they add up to: nothing that was not measured counts for or
 * against an app.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const list = lasting(createWatchlist)
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
  /** As `day slot rank outcome`. */
  const days = (from = '2026-03-01', to = '2026-03-31') =>
    list.ask(
      "to_char(day, 'MM-DD'), to_char(slot, 'DD HH24'), rank, outcome",
      `rank_daily('fitness', '${from}', '${to}')`,
    )

  test('has the last measurement of each day, whatever gap came after it', async () => {
    await list.addApp()
    await list.addKeyword({ every: '6 hours' })
    await list.setNow('2026-03-12 13:00+00')
    await captureAt('yoga', '2026-03-10 12:00+00', 2)
    await captureAt('yoga', '2026-03-10 18:00+00', 4)
    await captureAt('yoga', '2026-03-11 00:00+00', 3)
    await captureAt('yoga', '2026-03-11 06:00+00', null)
    await list.leaveGap('yoga', '2026-03-11 12:00+00', 'failed')
    await list.leaveGap('yoga', '2026-03-11 18:00+00', 'budget')
    assert.deepEqual(await days('2026-03-10', '2026-03-11'), [
      '03-10 10 18 4 ranked',
      '03-11 11 06 not_in_top',
    ])
  })

  test('has the last gap of a day without a measurement, pending only where none is over', async () => {
    await list.addApp()
    await list.addKeyword({ every: '6 hours' })
    await list.setNow('2026-03-12 07:00+00')
    await list.leaveGap('yoga', '2026-03-10 12:00+00', 'failed')
    await list.leaveGap('yoga', '2026-03-10 18:00+00', 'budget')
    await list.leaveGap('yoga', '2026-03-11 00:00+00', 'failed')
    assert.deepEqual(await days(), ['03-10 10 18 budget', '03-11 11 00 failed', '03-12 12 06 pending'])
    await captureAt('yoga', '2026-03-12 00:00+00', 5)
    assert.equal((await days()).at(-1), '03-12 12 00 5 ranked')
  })

  test('has the days of the project’s time zone, also one of 25 hours with two daily slots', async () => {
    await list.sql`insert into project (name, timezone) values ('fitness', 'Atlantic/Azores')`
    await list.addApp()
    await list.setNow('2026-10-20 13:00+00')
    await list.addKeyword()
    for (const [day, rank] of [24, 25, 26].entries())
      await captureAt('yoga', `2026-10-${rank} 00:00+00`, day + 1)
    await list.setNow('2026-10-26 13:00+00')
    assert.deepEqual(await days('2026-10-24', '2026-10-26'), ['10-24 24 00 1 ranked', '10-25 26 00 3 ranked'])
  })

  test('has one rank of a day in which `every` was changed', async () => {
    await list.addApp()
    await list.addKeyword()
    await captureAt('yoga', '2026-03-10 00:00+00', 1)
    await list.sql`update keyword_watch set every = '6 hours'`
    await list.setNow('2026-03-10 19:00+00')
    await captureAt('yoga', '2026-03-10 12:00+00', 2)
    await captureAt('yoga', '2026-03-10 18:00+00', 3)
    assert.deepEqual(await days(), ['03-10 10 18 3 ranked'])
  })

  test('has one row of a day on which a period ended and the next began', async () => {
    await list.addApp()
    await list.addKeyword({ every: '12 hours' })
    await captureAt('yoga', '2026-03-10 12:00+00', 3)
    await list.sql`update keyword_watch set every = '4 hours'`
    await list.leaveGap('yoga', '2026-03-10 16:00+00', 'failed')
    await list.leaveGap('yoga', '2026-03-10 20:00+00', 'failed')
    await list.setNow('2026-03-11 00:10+00')
    assert.deepEqual(await days(), ['03-10 10 12 3 ranked', '03-11 11 00 pending'])
  })

  test('ends, however far the range goes', async () => {
    await list.addApp()
    await list.addKeyword()
    await captureAt('yoga', '2026-03-10 00:00+00', 1)
    assert.deepEqual(await days('-infinity', 'infinity'), ['03-10 10 00 1 ranked'])
    assert.deepEqual(await days('0001-01-01', '9999-12-31'), ['03-10 10 00 1 ranked'])
  })

  test('is of the range alone, and of apps for as long as they were watched', async () => {
    await list.addApp()
    await list.addApp({ app_id: '1002' })
    await list.addKeyword()
    for (const day of [10, 11, 12]) await captureAt('yoga', `2026-03-${day} 00:00+00`, 1)
    await list.setNow('2026-03-11 13:00+00')
    await list.sql`delete from app_watch where app_id = '1002'`
    await list.setNow('2026-03-12 13:00+00')
    assert.deepEqual(
      await list.ask("to_char(day, 'DD'), app_id", "rank_daily('fitness', '2026-03-11', '2026-03-12')"),
      ['11 1001', '11 1002', '12 1001'],
    )
  })
})

describe('visibility', () => {
  const visibility = (more = list.sql``) => list.sql`
    select list, round(visibility, 4)::float8 as visibility, ranked, measured, due, measured_share::float8
    from visibility('fitness', '2026-03-10', '2026-03-10' ${more}) order by list`

  test('is what keywords weigh at their ranks, of what they would at rank 1, by the curve', async () => {
    await list.addApp()
    await list.addKeyword({ weight: 3 })
    await list.addKeyword({ keyword: 'zen' })
    await list.addKeyword({ keyword: 'calm', weight: 0 })
    await captureAt('yoga', '2026-03-10 00:00+00', 2)
    await captureAt('zen', '2026-03-10 00:00+00', null)
    await captureAt('calm', '2026-03-10 00:00+00', 1)
    const counts = { list: 'keyword', ranked: 2, measured: 3, due: 3, measured_share: 1 }
    assert.deepEqual([...(await visibility())], [{ ...counts, visibility: 37.5 }])
    // 3 × 0.157 of 4 × 0.285.
    assert.deepEqual([...(await visibility(list.sql`, 'clicks'`))], [{ ...counts, visibility: 41.3158 }])
    await list.sql`insert into rank_weight values ('podium', 1, 10), ('podium', 3, 5)`
    assert.equal((await visibility(list.sql`, 'podium'`))[0]?.visibility, 0)
    assert.equal((await visibility(list.sql`, 'none'`))[0]?.visibility, null)
    await list.sql`delete from rank_weight where curve = 'podium'`
  })

  test('of a tag is over the keywords that have it', async () => {
    await list.addApp()
    await list.addKeyword({ tags: ['brand', 'core'] })
    await list.addKeyword({ keyword: 'zen', tags: ['core'] })
    await captureAt('yoga', '2026-03-10 00:00+00', 1)
    await captureAt('zen', '2026-03-10 00:00+00', 2)
    const of = async (tag: string) => (await visibility(list.sql`, in_tag => ${tag}`))[0]?.visibility
    assert.deepEqual([await of('brand'), await of('core'), await of('none')], [100, 75, undefined])
  })

  test('keeps charts and keywords apart', async () => {
    await list.addApp({ store: 'android_store', app_id: 'com.acme.yoga' })
    await list.addKeyword({ store: 'android_store' })
    await list.addChart()
    await list.capture('yoga', '2026-03-10 00:00+00', ['com.other', 'com.acme.yoga'])
    await list.capture('topselling_free', '2026-03-10 00:00+00', ['com.acme.yoga'])
    const whole = { ranked: 1, measured: 1, due: 1, measured_share: 1 }
    assert.deepEqual(
      [...(await visibility())],
      [
        { list: 'chart', visibility: 100, ...whole },
        { list: 'keyword', visibility: 50, ...whole },
      ],
    )
  })

  test('adds up the ranks of the days: of both stores, of apps that left, of lists in part', async () => {
    for (const app_id of ['1001', '1002', '1003']) await list.addApp({ app_id })
    await list.addApp({ store: 'android_store', app_id: 'com.acme.yoga' })
    await list.addKeyword({ weight: 3, every: '12 hours' })
    for (const keyword of ['zen', 'calm']) await list.addKeyword({ keyword })
    await list.addKeyword({ store: 'android_store', keyword: 'chess' })
    const slot = (day: number, hour = '00') => `2026-03-${day} ${hour}:00+00`
    await list.capture('yoga', slot(10, '12'), ['1002', '1001'])
    await list.capture('yoga', slot(11), ['1002', '7', '1003'], { reason: 'One item could not be read.' })
    await list.capture('yoga', slot(11, '12'), ['7', '1001'], { reason: 'One item could not be read.' })
    await list.capture('zen', slot(10), ['7', '8', '1002'])
    await list.capture('zen', slot(11), ['1001', '1003'])
    await list.leaveGap('calm', slot(10), 'failed')
    await list.capture('calm', slot(11), ['1002'], { reason: 'One item could not be read.' })
    await list.capture('chess', slot(11), ['com.other', 'com.acme.yoga'])
    await list.setNow('2026-03-11 06:00+00')
    await list.sql`delete from app_watch where app_id = '1002'`
    await list.setNow('2026-03-11 13:00+00')
    const summed = await list.sql`
      select day, store, app_id,
        (100 * coalesce(sum(weight / rank), 0) / nullif(sum(weight)
          filter (where is_measured), 0))::numeric::float8 as visibility,
        count(*)::integer as due, count(*) filter (where is_measured)::integer as measured,
          count(rank)::integer as ranked,
        count(*) filter (where rank = 1)::integer as top_1, count(*)
          filter (where rank <= 3)::integer as top_3,
        count(*) filter (where is_measured and rank is null)::integer as beyond, min(rank) as best_rank,
        avg(rank)::float8 as average_rank
      from (select *, outcome in ('ranked', 'not_in_top') as is_measured
        from rank_daily('fitness', '2026-03-10', '2026-03-11')) r
      group by 1, 2, 3 order by 1, 2, 3`
    const rows = await list.sql`
      select day, store, app_id, visibility::float8, due, measured, ranked, top_1, top_3, beyond, best_rank,
        average_rank::float8
      from visibility('fitness', '2026-03-10', '2026-03-11', in_enough => 0) order by 1, 2, 3`
    assert.deepEqual([...rows], [...summed])
    assert.deepEqual(
      rows.map(({ app_id, due, measured, ranked }) => [app_id, due, measured, ranked].join(' ')),
      [
        'com.acme.yoga 1 0 0',
        '1001 3 2 1',
        '1002 3 2 2',
        '1003 3 2 0',
        'com.acme.yoga 1 1 1',
        '1001 3 2 2',
        '1002 2 2 1',
        '1003 3 1 1',
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
          await list.sql`update watch_period set ended_at = storerank_now(),
            last_slot = '2026-03-10 00:00+00'`
          await list.sql`update watch_period set ended_at = null, last_slot = null where kind = 'app'`
          const [row] = await visibility(list.sql`, in_enough => 0`)
          const sum = ranks.reduce((total: number, place) => total + (place === null ? 0 : 100 / place), 0)
          assert.equal(row?.measured, ranks.length)
          assert.equal(row?.due, ranks.length + gaps.length)
          if (ranks.length === 0) assert.equal(row?.visibility, null)
          else assert.ok(Math.abs(row?.visibility - sum / ranks.length) < 0.001)
        },
      ),
      { numRuns: 25 },
    )
  })
})

test('the rank distribution of a day adds up to what was due', async () => {
  await list.addApp()
  const ranks = [1, 3, 10, 11, 30, 31, 100, 101, null]
  for (const [n, rank] of ranks.entries()) {
    await list.addKeyword({ keyword: `k${n}`, depth: 200 })
    await captureAt(`k${n}`, '2026-03-10 00:00+00', rank)
  }
  await list.addKeyword({ keyword: 'failed' })
  await list.leaveGap('failed', '2026-03-10 00:00+00', 'failed')
  await list.addKeyword({ keyword: 'pending' })
  assert.deepEqual(
    await list.ask(
      'top_1, top_2_3, top_4_10, top_11_30, top_31_100, beyond, not_measured',
      "rank_distribution('fitness', '2026-03-10', '2026-03-10')",
    ),
    ['1 1 1 2 2 2 2'],
  )
})

describe('share of voice', () => {
  const shares = (more = '') =>
    list.ask(
      'app_id, role, round(share, 2)::float8',
      `share_of_voice('fitness', '2026-03-10', '2026-03-10' ${more})`,
    )

  test('is of all apps in the same measurements: own, competitors and the rest make 100', async () => {
    await list.addApp()
    await list.addApp({ app_id: '1002', role: 'competitor' })
    await list.addApp({ app_id: '1003', role: 'competitor' })
    await list.addKeyword()
    await list.addKeyword({ keyword: 'zen', weight: 2 })
    await list.addKeyword({ keyword: 'failed' })
    await list.capture('yoga', '2026-03-10 00:00+00', ['7', '1001', '1002', '8'])
    await list.capture('zen', '2026-03-10 00:00+00', ['1001', '9'])
    await list.leaveGap('failed', '2026-03-10 00:00+00', 'failed')
    // Of 1 + 1/2 + 1/3 + 1/4 and twice 1 + 1/2, which is 5.0833: 1/2 + 2, and 1/3.
    assert.deepEqual(await shares(', in_enough => 0.6'), [
      '1001 own 49.18',
      '1002 competitor 6.56',
      '1003 competitor 0',
      'rest 44.26',
    ])
    const [row] = await list.sql`
      select share, measured_share::float8 from share_of_voice('fitness', '2026-03-10', '2026-03-10')
      where role = 'rest'`
    assert.equal(row?.share, null)
    assert.equal(Math.round(row?.measured_share * 1000), 667)
  })

  test('gives nobody the weight of a hole, and none to what is beyond the curve', async () => {
    await list.addApp()
    await list.addKeyword({ depth: 200 })
    await captureAt('yoga', '2026-03-10 00:00+00', 2)
    await list.sql`update ranking set app_ids = array_append(array[0], app_ids[2])
      || array_fill(0, array[120])`
    assert.deepEqual(await shares(), ['1001 own 100', 'rest 0'])
  })
})
