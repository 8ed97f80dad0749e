/** What people read of ranks: never made up, never twice, and nothing left out. */
import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

describe('the views of ranks', () => {
  const list = lasting(createWatchlist)
  before(async () => {
    await list.sql`select ensure_history_partitions('2026-01-01 00:00+00', '2026-12-31 00:00+00')`
  })
  beforeEach(async () => {
    await list.clear()
    await list.setNow('2026-03-10 13:00+00')
  })

  /** Closes everything before now, as the job does that writes gaps. */
  const close = () => list.sql`update ledger set opened_to = storerank_now()`

  /** The rows of rank_history as `day hour app rank outcome`, in that order. */
  async function history(where = list.sql`true`): Promise<string[]> {
    const rows = await list.sql<{ text: string }[]>`
      select concat_ws(' ', to_char(slot, 'MM-DD HH24'), app_id, rank, outcome) as text
      from rank_history where ${where} order by slot, app_id, project`
    return rows.map(({ text }) => text)
  }

  test('an app that was never seen is not in the top, and the row says how deep we looked', async () => {
    await list.addKeyword()
    await list.addApp()
    await list.capture('yoga', '2026-03-10 00:00+00', ['7', '8'], { depth: 200, results_count: 2 })
    const columns = 'app_id, title, rank, absolute_rank, depth, results_count, outcome, role'
    assert.deepEqual(await list.ask(columns, 'rank_history'), ['1001 200 2 not_in_top own'])
  })

  test('the best rank is the organic one, with the absolute one beside it', async () => {
    await list.addKeyword()
    await list.addApp()
    await list.addApp({ app_id: '1002' })
    await list.capture('yoga', '2026-03-10 00:00+00', ['1002', '7', '1001'], { absolute: [1, 3, 5] })
    const ranks = () => list.ask('rank, absolute_rank, app_id', 'rank_history')
    assert.deepEqual(await ranks(), ['1 1 1002', '3 5 1001'])
    await list.sql`update ranking set absolute = null`
    assert.deepEqual(await ranks(), ['1 1 1002', '3 3 1001'])
  })

  test('a gap is neither a drop nor an older rank, and gives its reason', async () => {
    await list.addKeyword()
    await list.addApp()
    await list.setNow('2026-03-14 13:00+00')
    await list.capture('yoga', '2026-03-10 00:00+00', ['1001'])
    await list.leaveGap('yoga', '2026-03-11 00:00+00', 'missed')
    await list.leaveGap('yoga', '2026-03-12 00:00+00', 'budget')
    await list.leaveGap('yoga', '2026-03-13 00:00+00', 'html_only')
    await list.leaveGap('yoga', '2026-03-14 00:00+00', 'failed', '40501 Invalid Field.')
    assert.deepEqual(await history(), [
      '03-10 00 1001 1 ranked',
      '03-11 00 1001 missed',
      '03-12 00 1001 budget',
      '03-13 00 1001 html_only',
      '03-14 00 1001 failed',
    ])
    const latest = await list.ask('rank, outcome, reason, rank_1d, change_1d', 'rank_change')
    assert.deepEqual(latest, ['failed 40501 Invalid Field.'])
  })

  test('a slot is pending until it is closed', async () => {
    await list.addKeyword()
    await list.addApp()
    assert.deepEqual(await history(), ['03-10 00 1001 pending'])
    await list.setNow('2026-03-11 13:00+00')
    assert.deepEqual(await history(), ['03-10 00 1001 pending', '03-11 00 1001 pending'])
    await list.leaveGap('yoga', '2026-03-10 00:00+00', 'missed')
    await close()
    assert.deepEqual(await history(), ['03-10 00 1001 missed', '03-11 00 1001 pending'])
    assert.equal((await list.sql`select from rank_latest where outcome = 'missed'`).count, 1)
  })

  test('what is posted stays pending after its slot, however late it comes', async () => {
    await list.addKeyword()
    await list.addApp()
    await list.sql`insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers)
      select id, '2026-03-10 00:00+00', '2026-03-11 00:00+00', 'posted', 1, 1200,
        array(select id from project) from target`
    await list.setNow('2026-03-12 13:00+00')
    await close()
    await list.leaveGap('yoga', '2026-03-11 00:00+00', 'missed')
    const expected = ['03-10 00 1001 pending', '03-11 00 1001 missed', '03-12 00 1001 pending']
    assert.deepEqual(await history(), expected)
  })

  test('a competitor that is added today has its history at once', async () => {
    await list.addKeyword()
    await list.addApp()
    await list.capture('yoga', '2026-03-10 00:00+00', ['1002', '1001'])
    await list.setNow('2026-04-02 13:00+00')
    await list.addApp({ app_id: '1002', role: 'competitor', label: 'Them' })
    const from = "rank_history where app_id = '1002' and outcome = 'ranked'"
    assert.deepEqual(await list.ask('rank, role, label', from), ['1 competitor Them'])
  })

  test('an app that left is shown up to then, and is not among the latest', async () => {
    await list.addKeyword()
    await list.addApp()
    await list.addApp({ app_id: '1002' })
    await list.capture('yoga', '2026-03-10 00:00+00', ['1002', '1001'])
    await list.sql`delete from app_watch where app_id = '1002'`
    await list.setNow('2026-03-11 13:00+00')
    await list.capture('yoga', '2026-03-11 00:00+00', ['1002', '1001'])
    assert.deepEqual(await history(list.sql`app_id = '1002'`), ['03-10 00 1002 1 ranked'])
    assert.deepEqual(await list.ask('app_id', 'rank_latest'), ['1001'])
  })

  test('an app is ranked on the keywords of its own store and project alone', async () => {
    await list.addKeyword()
    await list.addKeyword({ project: 'wellness', keyword: 'zen' })
    await list.addApp()
    await list.addApp({ store: 'android_store', app_id: 'com.acme.yoga' })
    assert.deepEqual(await history(), ['03-10 00 1001 pending'])
  })

  test('an app that is watched in two places is one app', async () => {
    await list.addKeyword()
    await list.addApp({ info: true, location_code: 2840, language_code: 'en', label: 'US' })
    await list.addApp({ info: true, location_code: 2276, language_code: 'de', label: 'DE' })
    assert.equal((await list.sql`select from rank_history`).count, 1)
  })

  test('a watch that is deleted after a month keeps its history, and owes nothing more', async () => {
    const id = await list.addKeyword()
    await list.addApp()
    for (let day = 10; day < 31; day += 1) await list.capture('yoga', `2026-03-${day} 00:00+00`, ['1001'])
    await list.setNow('2026-03-31 13:00+00')
    await list.sql`delete from keyword_watch where id = ${id}`
    await list.setNow('2026-05-01 13:00+00')
    assert.equal((await history()).length, 21)
    assert.equal((await list.sql`select from rank_history where outcome <> 'ranked'`).count, 0)
    assert.equal((await list.sql`select from rank_latest`).count, 0)
  })

  test('projects that share a target see each what they asked for, and the same rank', async () => {
    await list.addKeyword()
    await list.addApp()
    await list.addKeyword({ project: 'wellness', every: '7 days' })
    await list.addApp({ project: 'wellness' })
    await list.setNow('2026-03-16 13:00+00')
    await list.capture('yoga', '2026-03-15 00:00+00', ['1001'])
    await list.capture('yoga', '2026-03-16 00:00+00', ['7', '1001'])
    await close()
    assert.deepEqual(await history(list.sql`project = 'fitness'`), [
      '03-15 00 1001 1 ranked',
      '03-16 00 1001 2 ranked',
    ])
    assert.deepEqual(await history(list.sql`project = 'wellness'`), ['03-16 00 1001 2 ranked'])
  })

  test('a slot that another project missed is not missed by one that had stopped asking', async () => {
    await list.addKeyword()
    await list.addApp()
    await list.addKeyword({ project: 'wellness' })
    await list.addApp({ project: 'wellness' })
    await list.sql`delete from keyword_watch where project = 'wellness'`
    await list.setNow('2026-03-11 13:00+00')
    await list.leaveGap('yoga', '2026-03-10 00:00+00', 'missed')
    assert.deepEqual(await history(list.sql`project = 'wellness'`), [])
    assert.equal((await history(list.sql`project = 'fitness' and outcome = 'missed'`)).length, 1)
  })

  test('a location has its name once the references are loaded, and its code until then', async () => {
    await list.addKeyword()
    await list.addApp()
    const locations = () => list.ask('location, location_code, language', 'rank_history')
    assert.deepEqual(await locations(), ['2840 2840 en'])
    await list.sql`insert into location (store, code, name) values ('ios_store', 2840, 'United States')`
    assert.deepEqual(await locations(), ['United States 2840 en'])
  })

  test('change compares with exactly 1, 7 and 30 days before, climbing is positive', async () => {
    await list.setNow('2026-03-01 13:00+00')
    await list.addKeyword()
    await list.addApp()
    await list.capture('yoga', '2026-03-01 00:00+00', ['7', '8', '9', '1001'])
    await list.capture('yoga', '2026-03-24 00:00+00', ['1001'])
    await list.capture('yoga', '2026-03-29 00:00+00', ['7', '1001'])
    await list.capture('yoga', '2026-03-30 00:00+00', ['7', '8'])
    await list.setNow('2026-03-31 13:00+00')
    await list.capture('yoga', '2026-03-31 00:00+00', ['7', '8', '1001'])
    const columns = 'rank, rank_7d, change_7d, rank_30d, change_30d'
    assert.deepEqual(await list.ask(columns, 'rank_change'), ['3 1 -2 4 1'])
  })

  test('what left the top or came into it has a change, and what was not measured has none', async () => {
    await list.setNow('2026-03-01 13:00+00')
    await list.addKeyword({ depth: 100 })
    await list.addApp()
    await list.capture('yoga', '2026-03-01 00:00+00', ['7', '8', '1001'])
    await list.setNow('2026-03-02 13:00+00')
    await list.capture('yoga', '2026-03-02 00:00+00', ['7', '8'])
    const columns = 'rank, outcome, rank_1d, outcome_1d, change_1d, outcome_7d, change_7d'
    const ends = () => list.ask(columns, 'rank_change')
    assert.deepEqual(await ends(), ['not_in_top 3 ranked -98'])
    await list.setNow('2026-03-03 13:00+00')
    await list.capture('yoga', '2026-03-03 00:00+00', ['1001'])
    assert.deepEqual(await ends(), ['1 ranked not_in_top 100'])
    await list.setNow('2026-03-04 13:00+00')
    await list.leaveGap('yoga', '2026-03-04 00:00+00', 'budget')
    assert.deepEqual(await ends(), ['budget 1 ranked'])
  })

  test('the latest slot may be one of a period before `every` was changed', async () => {
    await list.addKeyword({ every: '6 hours' })
    await list.addApp()
    await list.capture('yoga', '2026-03-10 12:00+00', ['1001'])
    await list.sql`update keyword_watch set every = '7 days'`
    assert.deepEqual(await list.ask("to_char(slot, 'DD HH24'), rank", 'rank_latest'), ['10 12 1'])
  })

  test('ranked_apps has every app of a measurement and no hole', async () => {
    await list.addKeyword()
    await list.capture('yoga', '2026-03-10 00:00+00', ['7', '8', '9'])
    await list.sql`update app set title = 'Seven' where app_id = '7'`
    await list.sql`update ranking set app_ids[2] = 0`
    const ranks = await list.ask('app_id, title, rank, absolute_rank', 'ranked_apps')
    assert.deepEqual(ranks, ['7 Seven 1 1', '9 3 3'])
  })

  test('coverage counts what became of each slot of a day', async () => {
    await list.addKeyword({ every: '6 hours' })
    await list.addApp({ info: true, location_code: 2840, language_code: 'en' })
    await list.setNow('2026-03-11 13:00+00')
    await list.capture('yoga', '2026-03-10 12:00+00', [])
    await list.leaveGap('yoga', '2026-03-10 18:00+00', 'failed')
    await list.capture('yoga', '2026-03-11 00:00+00', [])
    await list.leaveGap('yoga', '2026-03-11 06:00+00', 'budget')
    await list.describeApp('1001', '2026-03-10 00:00+00', {})
    const columns = `to_char(day, 'MM-DD'), function, owed, captured, failed, budget, missed, html_only,
      pending, captured_share::float8`
    assert.deepEqual(await list.ask(columns, "coverage('fitness', '2026-03-10', '2026-03-11')"), [
      '03-10 app_info 1 1 0 0 0 0 0 1',
      '03-10 app_searches 2 1 1 0 0 0 0 0.5',
      '03-11 app_info 1 0 0 0 0 0 1',
      '03-11 app_searches 3 1 0 1 0 0 1 0.5',
    ])
  })

  test('the details of an app are measured, not found, or a gap with its reason', async () => {
    await list.addApp({ info: true, location_code: 2840, language_code: 'en' })
    await list.setNow('2026-03-13 13:00+00')
    await list.describeApp('1001', '2026-03-10 00:00+00', {
      rating: 4.5,
      price_micros: 500_000_000,
      currency: 'JPY',
    })
    await list.describeApp('1001', '2026-03-11 00:00+00', { found: false })
    await list.describeApp('1001', '2026-03-12 00:00+00', { gap: 'failed', reason: 'why' })
    const columns = "to_char(slot, 'DD'), outcome, rating, price, currency, reason"
    assert.deepEqual(await list.ask(columns, 'app_history'), [
      '10 measured 4.5 500 JPY',
      '11 not_found',
      '12 failed why',
      '13 pending',
    ])
  })

  describe('a filter on slot', () => {
    /** The partitions of ranking that a query reads. */
    async function partitionsRead(query: string): Promise<string[]> {
      const rows = await list.sql.unsafe(`explain (analyze, costs off, timing off, summary off) ${query}`)
      const text = rows.map((row) => row['QUERY PLAN']).join('\n')
      return [
        ...new Set(
          [...text.matchAll(/ on (ranking_\d+)(?!.*never executed)/g)].map((match) => match[1] ?? ''),
        ),
      ].sort()
    }

    beforeEach(async () => {
      await list.addKeyword()
      await list.addApp()
    })

    test('opens only its partitions, through every view of ranks', async () => {
      for (const view of ['rank_history', 'ranked_apps']) {
        const query = `select * from ${view} where slot >= '2026-03-02 00:00+00'
          and slot < '2026-03-20 00:00+00'`
        assert.deepEqual(await partitionsRead(query), ['ranking_202603'], view)
      }
      assert.equal((await partitionsRead('select * from rank_history')).length, 12)
    })

    test('opens only its partitions with the present in it, and under a generic plan', async () => {
      // The partitions of this year, whichever it is when this runs.
      await list.sql`select ensure_history_partitions(now() - interval '6 months',
        now() + interval '1 month')`
      const open = 'select * from rank_history where slot >= now()'
      assert.ok((await partitionsRead(`${open} - interval '24 hours'`)).length <= 3)
      await list.sql.unsafe(`set plan_cache_mode = force_generic_plan`)
      await list.sql.unsafe(`prepare since (interval) as ${open} - $1`)
      assert.ok((await partitionsRead(`execute since ('24 hours')`)).length <= 3)
      assert.ok((await partitionsRead(`execute since ('100 days')`)).length >= 4)
    })
  })
})
