/** Rules on the pages of apps, their reviews, money, jobs and the service. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { createAlertList } from '../support/alerts.ts'
import { lasting } from '../support/lasting.ts'

const list = lasting(createAlertList)
beforeEach(async () => {
  await list.clear()
  await list.sql`delete from service_status`
  await list.setNow('2026-03-01 06:00+00')
})

const slotOf = (day: number) => `2026-03-0${day} 00:00+00`
const PLACE = { location_code: 2840, language_code: 'en' }

const rate = async (ratings: readonly (number | null)[]) => {
  for (const [n, rating] of ratings.entries()) {
    await list.setNow(`2026-03-0${n + 1} 06:00+00`)
    await list.describeApp('1001', slotOf(n + 1), rating === null ? { gap: 'failed' } : { rating })
  }
}

describe('a rating', () => {
  test('below X is told once until it was not below, also where it was so from the beginning', async () => {
    await list.addApp({ info: true, ...PLACE })
    await list.addRule({ kind: 'rating_below', threshold: 4 })
    await rate([3.9, 3.8, 4.1, null, 3.7, 3.6, 4])
    assert.deepEqual(await list.look(), ['rating_below 03-01 1001 -→3.9', 'rating_below 03-05 1001 4.1→3.7'])
  })

  test('that dropped by X against N days before, measured on both', async () => {
    await list.addApp({ info: true, ...PLACE })
    await list.addRule({ kind: 'rating_dropped', threshold: 0.2 })
    await rate([4.5, 4.3, null, 4, 3.9])
    assert.deepEqual(await list.look(), ['rating_dropped 03-02 1001 4.5→4.3'])
  })
})

test('a new review of few stars is told once; those of the first measurement are not new', async () => {
  await list.addApp({ reviews: true, ...PLACE })
  await list.addRule({ kind: 'review_low', threshold: 2 })
  const review = async (id: string, rating: number, seen: number, written: string) => {
    await list.sql`
      insert into review (app, review_id, location_code, language_code, rating, title, text, written_at,
        first_seen_at, last_seen_at)
      select id, ${id}, 2840, 'en', ${rating}, 'It crashes', 'Since the update', ${written}, ${slotOf(seen)},
        ${slotOf(seen)}
      from app where app_id = '1001'`
  }
  await review('old', 1, 1, '2026-02-28')
  await list.describeApp('1001', slotOf(1), { rating: 4 }, 'app_reviews')
  await list.setNow('2026-03-02 06:00+00')
  await review('bad', 2, 2, '2026-03-01')
  await review('good', 5, 2, '2026-03-01')
  await review('dug up', 1, 2, '2025-01-01')
  await list.describeApp('1001', slotOf(2), { rating: 4 }, 'app_reviews')
  await list.setNow('2026-03-03 06:00+00')
  await list.describeApp('1001', slotOf(3), { rating: 4 }, 'app_reviews')
  assert.deepEqual(await list.look(), ['review_low 03-02 1001 -→2'])
  const [event] = await list.sql`select detail from alert_event`
  assert.deepEqual(event?.detail, {
    title: 'It crashes',
    text: 'Since the update',
    author: null,
    version: null,
  })
})

test('a page that changed is one event with all of its fields, of own apps or of competitors', async () => {
  await list.addApp({ info: true, ...PLACE })
  await list.addApp({ app_id: '1002', role: 'competitor', info: true, ...PLACE })
  await list.addRule({ kind: 'listing_changed', role: 'any' })
  await list.addRule({ kind: 'listing_changed', name: 'competitors', role: 'competitor' })
  for (const [day, version] of [
    [1, '1.0'],
    [3, '1.1'],
  ] as const) {
    await list.setNow(`2026-03-0${day} 06:00+00`)
    await list.describeApp('1001', slotOf(day), { version, size: `${day} MB` })
    await list.describeApp('1002', slotOf(day), { version: day === 1 ? '7' : '8' })
  }
  assert.deepEqual(await list.look(), [
    'competitors 03-03 1002 -→-',
    'listing_changed 03-03 1001 -→-',
    'listing_changed 03-03 1002 -→-',
  ])
  const [event] = await list.sql`
    select e.detail from alert_event e join app a on a.id = e.app where a.app_id = '1001'`
  assert.deepEqual(event?.detail.fields, [
    { field: 'size', before: '1 MB', after: '3 MB' },
    { field: 'version', before: '1.0', after: '1.1' },
  ])
})

test('a page whose app left the store is told of, and its return', async () => {
  await list.addApp({ info: true, ...PLACE })
  await list.addRule({ kind: 'listing_changed' })
  await list.addRule({ kind: 'rating_below', threshold: 5 })
  for (const [day, found] of [
    [1, true],
    [2, false],
    [3, true],
  ] as const) {
    await list.setNow(`2026-03-0${day} 06:00+00`)
    await list.describeApp('1001', slotOf(day), { found })
  }
  assert.deepEqual(await list.look(), ['listing_changed 03-02 1001 -→-', 'listing_changed 03-03 1001 -→-'])
})

/** What days took, of all projects or of one. */
const spend = (micros: number, { from = '2026-02-28', to = '', reserved = 0, scope = 0 } = {}) => list.sql`
  insert into spend (scope, begins_at, ends_at, reserved_micros, charged_micros, refunded_micros,
    duplicate_micros, adjusted_micros, tasks_charged)
  select ${scope}, d, d + interval '1 day', ${reserved}, ${micros}, 0, 0, 0, 1
  from generate_series(${from}::timestamptz, ${to || from}, '1 day') d`

const balance = (micros: number, at: string) =>
  list.sql`insert into account_usage (fetched_at, login, balance_micros, prices)
    values (${at}, 'me', ${micros}, '[]')`

describe('what goes by the clock', () => {
  test('a budget at P percent is told once in its period', async () => {
    await list.addKeyword()
    await list.sql`update project set daily_usd = 1, monthly_usd = 10`
    await list.addRule({ kind: 'budget_used', threshold: 80 })
    const [project] = await list.sql<{ id: number }[]>`select id from project`
    const charge = (micros: number, day = 1) =>
      spend(micros, { scope: project?.id ?? 0, from: `2026-03-0${day} 00:00+00` })
    await charge(700_000)
    assert.deepEqual(await list.look(), [])
    await charge(100_000)
    assert.deepEqual(await list.look(), ['budget_used 03-01 -→80'])
    await charge(100_000)
    assert.deepEqual(await list.look(), [])
    await list.setNow('2026-03-02 06:00+00')
    await charge(900_000, 2)
    assert.deepEqual(await list.look(), ['budget_used 03-02 -→90'])
  })

  test('a balance for fewer than D days is told once until it was enough', async () => {
    await list.addKeyword()
    await list.addRule({ kind: 'balance_low', threshold: 5 })
    await spend(1_000_000, { from: '2026-02-20', to: '2026-03-04' })
    await balance(9_000_000, '2026-03-01 05:00+00')
    assert.deepEqual(await list.look(), [])
    await balance(4_000_000, '2026-03-01 05:30+00')
    assert.deepEqual(await list.look(), ['balance_low 03-01 -→4'])
    await list.setNow('2026-03-02 06:00+00')
    await balance(3_000_000, '2026-03-02 05:30+00')
    assert.deepEqual(await list.look(), [])
    await balance(30_000_000, '2026-03-02 05:40+00')
    await list.setNow('2026-03-03 06:00+00')
    await balance(2_000_000, '2026-03-03 05:50+00')
    assert.deepEqual(await list.look(), ['balance_low 03-03 -→2'])
  })

  test('a balance that is low by dearer days or by what is reserved is told once', async () => {
    await list.addKeyword()
    await list.addRule({ kind: 'balance_low', threshold: 5 })
    await spend(2_000_000)
    await balance(7_000_000, '2026-03-01 02:00+00')
    await balance(6_500_000, '2026-03-01 03:00+00')
    await balance(6_000_000, '2026-03-01 04:00+00')
    assert.deepEqual(await list.look(), [])
    await spend(0, { reserved: 2_000_000 })
    assert.equal((await list.look()).length, 1)
    for (const at of ['2026-03-01 05:00+00', '2026-03-01 05:30+00']) {
      await balance(6_000_000, at)
      assert.deepEqual(await list.look(), [])
    }
    for (const dearer of [400_000, 400_000, 2_000_000]) {
      await spend(dearer)
      assert.deepEqual(await list.look(), [])
    }
  })

  test('a job that did not succeed for H hours, counted from the first run that it owed', async () => {
    await list.addKeyword()
    await list.addRule({ kind: 'job_late', threshold: 6 })
    const run = (job: string, hoursAgo: number, state: string) =>
      list.sql`
        insert into job_run (job, slot, state, error)
        values (${job}, date_trunc('hour', clock_timestamp()) - make_interval(hours => ${hoursAgo}), ${state},
          'no')`
    await run('audit', 200, 'done')
    await run('track', 9, 'done')
    await run('track', 8, 'failed')
    await run('track', 1, 'failed')
    await run('collect', 9, 'failed')
    await run('collect', 1, 'done')
    await run('report', 2, 'failed')
    await list.look()
    const events = await list.sql`
      select subject, slot = date_trunc('hour', clock_timestamp()) - interval '8 hours' as is_since,
        detail ->> 'error' as error from alert_event`
    assert.deepEqual([...events], [{ subject: 'track', is_since: true, error: 'no' }])
    assert.deepEqual(await list.look(), [])
  })

  test('an outage that the service reports is told once, and then that it is over', async () => {
    await list.addKeyword()
    await list.addRule({ kind: 'outage', severity: 'critical' })
    const say = (status: string, since: string) =>
      list.sql`
        insert into service_status (api, endpoint, status, since)
          values ('app_data', 'task_post', ${status}, ${since})
        on conflict (api, endpoint) do update set status = excluded.status, since = excluded.since`
    await say('ok', '2026-03-01 01:00+00')
    assert.deepEqual(await list.look(), [])
    await say('major_outage', '2026-03-01 02:00+00')
    assert.deepEqual(await list.look(), ['outage 03-01 -→-'])
    await list.setNow('2026-03-02 06:00+00')
    // From one endpoint to another it is the same outage.
    await say('major_outage', '2026-03-02 02:00+00')
    assert.deepEqual(await list.look(), [])
    await list.sql`update service_status set checked_at = clock_timestamp() - interval '11 minutes',
      status = 'ok'`
    assert.deepEqual(await list.look(), [], 'nobody has asked the service lately')
    await say('send_delay', '2026-03-02 03:00+00')
    await list.sql`update service_status set checked_at = clock_timestamp()`
    assert.deepEqual(await list.look(), ['outage 03-02 -→-'])
    assert.deepEqual(await list.look(), [])
    await say('major_outage', '2026-03-02 05:00+00')
    assert.deepEqual(await list.look(), ['outage 03-02 -→-'])
    // The service lists the endpoint no more.
    await list.sql`update service_status set endpoint = 'other', status = 'ok', since = '2026-01-01'`
    assert.deepEqual(await list.look(), ['outage 03-02 -→-'])
    const events = await list.sql`
      select to_char(slot, 'DD HH24:MI') as at, to_char(compared_slot, 'DD HH24:MI') as began, severity,
        detail from alert_event order by id`
    const endpoints = ['task_post']
    assert.deepEqual(
      [...events],
      [
        { at: '01 02:00', began: null, severity: 'critical', detail: { endpoints } },
        {
          at: '02 03:00',
          began: '01 02:00',
          severity: 'info',
          detail: { over: true, remaining: ['send_delay'] },
        },
        { at: '02 05:00', began: null, severity: 'critical', detail: { endpoints } },
        { at: '02 06:00', began: '02 05:00', severity: 'info', detail: { over: true, remaining: [] } },
      ],
    )
  })
})
