/** How the triggers keep watch_period: what was asked for, and from when to when. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

describe('a watch over time', () => {
  const list = lasting(createWatchlist)
  beforeEach(async () => {
    await list.sql`set timezone = 'UTC'`
    await list.clear()
    await list.setNow('2026-03-10 13:00+00')
  })

  /** All periods in the order they began, as `every from-to`, open ones without an end. */
  async function periods(): Promise<string[]> {
    const rows = await list.sql<{ text: string }[]>`
      select format('%s %s %s-%s', project, every, to_char(first_slot, 'MM-DD HH24'),
        to_char(last_slot, 'MM-DD HH24')) as text
      from watch_period order by id`
    return rows.map(({ text }) => text)
  }

  test('an inserted watch asks for the slot that is running', async () => {
    await list.addKeyword()
    await list.addKeyword({ keyword: 'pilates', every: '6 hours' })
    await list.addKeyword({ keyword: 'zen', every: '7 days' })
    assert.deepEqual(await periods(), [
      'fitness 1 day 03-10 00-',
      'fitness 06:00:00 03-10 12-',
      'fitness 7 days 03-09 00-',
    ])
  })

  test('a watched app is in the dictionary before any result names it', async () => {
    await list.addApp()
    await list.addApp({ store: 'android_store', app_id: 'com.acme.yoga' })
    const apps = await list.ask('store, app_id, title', 'app')
    assert.deepEqual(apps, ['android_store com.acme.yoga', 'ios_store 1001'])
  })

  test('a watch that is deleted asks for no slot after the running one', async () => {
    const id = await list.addKeyword()
    await list.setNow('2026-03-12 09:00+00')
    await list.sql`delete from keyword_watch where id = ${id}`
    assert.deepEqual(await periods(), ['fitness 1 day 03-10 00-03-12 00'])
  })

  test('disabling a watch ends its period and enabling it begins another', async () => {
    await list.addKeyword()
    await list.sql`update keyword_watch set enabled = false`
    await list.setNow('2026-03-15 09:00+00')
    await list.sql`update keyword_watch set enabled = true`
    assert.deepEqual(await periods(), ['fitness 1 day 03-10 00-03-10 00', 'fitness 1 day 03-15 00-'])
  })

  test('a change of role or label goes on in the same period', async () => {
    await list.addApp()
    await list.sql`update app_watch set role = 'competitor', label = 'Them'`
    assert.deepEqual(await list.ask('role, label, ended_at', 'watch_period'), ['competitor Them'])
  })

  test('a disabled project asks for nothing, and goes on where its watches are enabled', async () => {
    await list.addKeyword()
    await list.addApp()
    await list.addKeyword({ keyword: 'off', enabled: false })
    await list.sql`update project set enabled = false`
    assert.equal((await list.sql`select from watch_period where ended_at is null`).count, 0)
    await list.addKeyword({ keyword: 'late' })
    assert.equal((await list.sql`select from watch_period where ended_at is null`).count, 0)
    await list.setNow('2026-03-11 13:00+00')
    await list.sql`update project set enabled = true`
    assert.equal((await list.sql`select from watch_period where ended_at is null`).count, 3)
  })

  test('daily, 6-hourly, daily again: no slot is asked for twice, and none that nobody wanted', async () => {
    await list.addKeyword()
    await list.setNow('2026-03-11 13:00+00')
    await list.sql`update keyword_watch set every = '6 hours'`
    await list.setNow('2026-03-12 19:00+00')
    await list.sql`update keyword_watch set every = '1 day'`
    assert.deepEqual(await periods(), [
      'fitness 1 day 03-10 00-03-11 00',
      'fitness 06:00:00 03-11 12-03-12 18',
      'fitness 1 day 03-13 00-',
    ])
    const slots = await list.sql<{ slot: string; owners: number }[]>`
      select to_char(s, 'DD HH24') as slot, count(*) as owners
      from generate_series('2026-03-10'::timestamptz, '2026-03-14', '1 hour') s
      join watch_period p on is_shown(p.every, p.first_slot, p.last_slot, p.ended_at, s, null) group by s
        order by s`
    assert.deepEqual(
      slots.map(({ slot }) => slot),
      ['10 00', '11 00', '11 12', '11 18', '12 00', '12 06', '12 12', '12 18', '13 00', '14 00'],
    )
    assert.ok(slots.every(({ owners }) => owners === 1))
  })

  test('a change of `every` on the day the clocks change begins on the grid, in that zone', async () => {
    await list.sql`set timezone = 'America/New_York'`
    await list.setNow('2026-11-01 13:00+00')
    await list.addKeyword({ every: '6 hours' })
    await list.sql`update keyword_watch set every = '1 day'`
    const [period] = await list.sql`select first_slot from watch_period where ended_at is null`
    assert.equal(period?.first_slot.toISOString(), '2026-11-02T00:00:00.000Z')
  })

  test('a location that is only a name is followed once the references know it', async () => {
    await list.addKeyword({ location_code: null, location_name: 'united states' })
    await list.addApp({
      info: true,
      location_code: null,
      location_name: 'United States',
      language_code: 'en',
    })
    assert.deepEqual(await periods(), [])
    await list.sql`insert into location (store, code, name)
      values ('ios_store', 2840, 'United States'), ('android_store', 2840, 'United States')`
    await list.setNow('2026-03-11 13:00+00')
    await list.sql`select start_missing_watch_periods()`
    await list.sql`select start_missing_watch_periods()`
    assert.deepEqual(await periods(), ['fitness 1 day 03-11 00-', 'fitness 1 day 03-11 00-'])
    assert.deepEqual(await list.ask('location_code', 'target'), ['2840', '2840'])
  })
})
