/**
 * What views say of money, ratings and events, against cases that were computed by hand; and their prices
 * against those of the client.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { FUNCTION_RULES, type FunctionRule } from '../../src/service/functions.ts'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const list = lasting(createWatchlist)
beforeEach(async () => {
  await list.clear()
  await list.setNow('2026-03-10 13:00+00')
})

interface Charge {
  readonly project?: string
  readonly subject?: string
  readonly kind?: string
  readonly micros: number
  readonly id: string
  readonly at: string
}

async function charge({ project = 'fitness', subject = 'yoga', kind = 'charge', micros, id, at }: Charge) {
  await list.sql`
    insert into charge (kind, project_id, amount_micros, target_id, slot, service_id, at)
    select ${kind}, p.id, ${micros}, t.id, ${at}, ${id}, ${at} from project p, target t
    where p.name = ${project} and t.subject = ${subject}`
}

describe('spend_daily', () => {
  const AT = '2026-03-10 12:00+00'

  test('adds up to the micro-dollar', async () => {
    await list.addKeyword()
    await charge({ micros: 1200, id: 'a', at: AT })
    await charge({ kind: 'refund', micros: -401, id: 'a', at: AT })
    await charge({ kind: 'duplicate', micros: 1200, id: 'b', at: AT })
    await charge({ micros: 1, id: 'c', at: AT })
    await charge({ kind: 'adjustment', micros: -600, id: 'b', at: AT })
    await charge({ kind: 'adjustment', micros: 3, id: 'c', at: AT })
    const [sending] = await list.sql`
      insert into post (store, function, state) values ('ios_store', 'app_searches', 'sending') returning id`
    for (const [day, state, micros, post] of [
      [8, 'planned', 1000, null],
      [9, 'posting', 1400, sending?.id],
      [10, 'dropped', 9999, null],
    ])
      await list.sql`
        insert into task (target_id, payers, slot, slot_ends_at, priority, state, estimate_micros, post_id)
        select t.id, array[p.id], s.slot, s.slot + interval '1 day', 1, ${state}, ${micros}, ${post}
        from target t, project p, make_timestamptz(2026, 3, ${day}, 0, 0, 0, 'UTC') s (slot)`
    await list.sql`select recount_spend()`
    const columns =
      'tasks_charged, charged_usd, refunded_usd, duplicate_usd, adjusted_usd, spent_usd, reserved_usd'
    assert.deepEqual(await list.ask(columns, 'spend_daily'), [
      '2 0.001201 0.000401 0.001200 -0.000597 0.001403 0.002400',
    ])
  })

  test('has the days of the time zone of the project', async () => {
    await list.sql`insert into project (name, timezone) values ('fitness', 'Pacific/Kiritimati'),
      ('wellness', 'UTC')`
    await list.addKeyword()
    await charge({ micros: 1, id: 'a', at: AT })
    await charge({ project: 'wellness', micros: 1, id: 'b', at: AT })
    await list.sql`select recount_spend()`
    const days = await list.ask("project, to_char(day, 'MM-DD')", 'spend_daily')
    assert.deepEqual(days, ['fitness 03-11', 'wellness 03-10'])
  })
})

describe('unit_price', () => {
  const readPrices = () => list.sql<{ key: string; results: number; micros: number }[]>`
    select concat_ws(' ', store, function, priority) as key, unit_results as results, unit_micros as micros
      from unit_price order by 1`

  test('has the billing units and prices of the client, at priority 2 twice as dear', async () => {
    const expected = Object.entries(FUNCTION_RULES).flatMap(([store, rules]) =>
      Object.entries(rules as Record<string, FunctionRule>).flatMap(([name, rule]) =>
        [1, 2].map((priority) => ({
          key: `${store} ${name} ${priority}`,
          results: rule.billingUnitResults,
          micros: rule.unitCostMicros * priority,
        })),
      ),
    )
    assert.deepEqual(
      [...(await readPrices())],
      expected.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    )
  })

  test('is the greatest of the specification, the account’s price list, and what was charged', async () => {
    const prices = [
      { function: 'app_searches', normalMicros: 1500, highMicros: 2000 },
      { function: 'app_info', normalMicros: 100, highMicros: 5000 },
    ]
    await list.sql`insert into account_usage (login, prices)
      values ('a@example.com', ${list.sql.json(prices)})`
    await list.sql`
      insert into charged_price (store, function, priority, unit_micros)
        values ('android_store', 'app_searches', 1, 1700)`
    const micros = new Map((await readPrices()).map((row) => [row.key, row.micros]))
    assert.equal(micros.get('ios_store app_searches 1'), 1500)
    assert.equal(micros.get('ios_store app_searches 2'), 3000)
    assert.equal(micros.get('android_store app_searches 1'), 1700)
    assert.equal(micros.get('ios_store app_info 1'), 600)
    assert.equal(micros.get('ios_store app_info 2'), 5000)
    assert.equal(micros.get('ios_store app_reviews 1'), 750)
  })
})

describe('watch_cost_at', () => {
  /** `subject monthly now`, in dollars. */
  const readCosts = (every: string | null, depth: number | null) =>
    list.ask(
      `coalesce(keyword, app_id), trim_scale(round(monthly_usd, 6)), trim_scale(round(monthly_usd_now, 6))`,
      `watch_cost_at('fitness', ${every && `'${every}'`}, ${depth})`,
    )

  test('counts 30 days of begun units of 100 results at $0.0012, of pages at $0.0006', async () => {
    await list.addKeyword()
    await list.addKeyword({ keyword: 'chess', depth: 250, priority: 2, every: '12 hours' })
    await list.addApp({ info: true, location_code: 2840, language_code: 'en' })
    // 30 × 1 × 0.0012; 60 × 3 × 0.0024; 30 × 0.0006.
    assert.deepEqual(await readCosts(null, null), [
      '1001 0.018 0.018',
      'chess 0.432 0.432',
      'yoga 0.036 0.036',
    ])
    assert.deepEqual(await readCosts('6 hours', null), [
      '1001 0.072 0.018',
      'chess 0.864 0.432',
      'yoga 0.144 0.036',
    ])
    // Two units each; a page has no depth.
    assert.deepEqual(await readCosts(null, 101), [
      '1001 0.018 0.018',
      'chess 0.288 0.432',
      'yoga 0.072 0.036',
    ])
  })
})

describe('money in a range of days of the project', () => {
  beforeEach(async () => {
    await list.sql`insert into project (name, timezone) values ('fitness', 'America/New_York'),
      ('learning', 'UTC')`
    await list.addKeyword({ tags: ['brand'] })
    await list.addKeyword({ keyword: 'chess' })
    await list.addKeyword({ project: 'learning' })
  })

  test('spend_by_target adds up what was charged, refunded and charged twice on each', async () => {
    await charge({ micros: 1200, id: 'a', at: '2026-03-02 05:00+00' })
    await charge({ micros: -200, kind: 'refund', id: 'a', at: '2026-03-02 06:00+00' })
    await charge({ micros: 600, kind: 'duplicate', id: 'b', at: '2026-03-03 12:00+00' })
    await charge({ micros: -50, kind: 'adjustment', id: 'a', at: '2026-03-04 12:00+00' })
    // March 4 ends in New York at 05:00 in UTC, and March 1 likewise.
    await charge({ micros: 1300, id: 'c', at: '2026-03-05 04:59+00' })
    await charge({ micros: 9000, id: 'd', at: '2026-03-05 05:00+00' })
    await charge({ micros: 9000, id: 'e', at: '2026-03-02 04:59+00' })
    await charge({ micros: 2400, subject: 'chess', id: 'f', at: '2026-03-03 12:00+00' })
    await charge({ micros: 700, project: 'learning', id: 'g', at: '2026-03-03 12:00+00' })
    const columns = 'keyword, tags, tasks, spent_usd, charged_usd, refunded_usd, duplicate_usd, adjusted_usd'
    assert.deepEqual(await list.ask(columns, "spend_by_target('fitness', '2026-03-02', '2026-03-04')"), [
      'chess {} 1 0.002400 0.002400 0.000000 0.000000 0.000000',
      'yoga {brand} 2 0.002850 0.002500 0.000200 0.000600 -0.000050',
    ])
  })

  test('sharing_savings are the shares of the others, of tasks that were shared', async () => {
    // One task of 1200 that two projects paid, with a refund of 200; and one that was paid by one alone.
    await charge({ micros: 600, id: 'a', at: '2026-03-03 12:00+00' })
    await charge({ micros: 600, project: 'learning', id: 'a', at: '2026-03-03 12:00+00' })
    await charge({ micros: -100, kind: 'refund', id: 'a', at: '2026-03-03 12:01+00' })
    await charge({ micros: -100, kind: 'refund', project: 'learning', id: 'a', at: '2026-03-03 12:01+00' })
    await charge({ micros: 1200, id: 'b', at: '2026-03-04 12:00+00' })
    await charge({ micros: 400, id: 'c', at: '2026-03-08 12:00+00' })
    await charge({ micros: 800, project: 'learning', id: 'c', at: '2026-03-08 12:00+00' })
    const texts = (project: string, to: string) =>
      list.ask(
        'keyword, shared_tasks, spent_usd, full_usd, saved_usd',
        `sharing_savings('${project}', '2026-03-02', '${to}')`,
      )
    assert.deepEqual(await texts('fitness', '2026-03-04'), ['yoga 1 0.000500 0.001000 0.000500'])
    assert.deepEqual(await texts('fitness', '2026-03-09'), ['yoga 2 0.000900 0.002200 0.001300'])
    assert.deepEqual(await texts('learning', '2026-03-09'), ['yoga 2 0.001300 0.002200 0.000900'])
  })
})

describe('of the page of an app', () => {
  beforeEach(async () => {
    await list.addApp({
      label: 'Mine',
      info: true,
      every: '12 hours',
      location_code: 2840,
      language_code: 'en',
    })
    await list.setNow('2026-03-14 13:00+00')
  })

  test('ratings_daily has each day’s last measurement, and the change since the one before', async () => {
    for (const [slot, rating, votes_count, reviews_count] of [
      ['10 12', 4.5, 100, 10],
      ['11 00', 4.25, 101, 11],
      ['11 12', 4.75, 110, 14],
      ['13 00', 4.5, 108, 14],
    ] as const)
      await list.describeApp('1001', `2026-03-${slot}:00+00`, { rating, votes_count, reviews_count })
    await list.describeApp('1001', '2026-03-12 00:00+00', { gap: 'failed' })
    const columns = `to_char(day, 'DD'), label, rating, coalesce(rating_change::text, '-'), votes_count,
      coalesce(votes_change::text, '-'), reviews_count, coalesce(reviews_change::text, '-')`
    assert.deepEqual(await list.ask(columns, "ratings_daily('fitness', '2026-03-10', '2026-03-14')"), [
      '10 Mine 4.5 - 100 - 10 -',
      '11 Mine 4.75 0.25 110 10 14 4',
      '13 Mine 4.5 -0.25 108 -2 14 0',
    ])
  })

  test('project_event has a release once, whichever pages show it, beside the notes', async () => {
    await list.describeApp('1001', '2026-03-10 12:00+00', { version: '1.0' })
    await list.describeApp('1001', '2026-03-11 00:00+00', { version: '1.0' })
    await list.describeApp('1001', '2026-03-12 00:00+00', { version: '2.0' })
    await list.setNow('2026-03-10 12:00+00')
    await list.addApp({
      label: 'Mine',
      info: true,
      every: '12 hours',
      location_code: 2276,
      language_code: 'de',
    })
    await list.setNow('2026-03-14 13:00+00')
    const { count } = await list.sql`
      insert into app_snapshot (target_id, slot, captured_at, found, version)
      select t.id, s.slot, s.captured_at, s.found, s.version from app_snapshot s, target t
        where t.location_code = 2276`
    assert.equal(count, 3)
    await list.sql`insert into annotation (project, day, app_id, text)
      values ('fitness', '2026-03-11', '1001', 'Campaign'),
      ('fitness', '2026-03-13', null, 'Outage')`
    assert.deepEqual(
      await list.ask(
        "to_char(day, 'DD'), kind, coalesce(label, 'all'), text",
        "project_event where project = 'fitness'",
      ),
      ['11 annotation Mine Campaign', '12 release Mine 1.0 → 2.0', '13 annotation all Outage'],
    )
    const [differences] = await list.sql<{ count: number }[]>`
      with by_view as (
        select day, kind, store, app_id, title, label, role, text, tags, app from project_event
        where project = 'fitness' and day between '2026-03-11' and '2026-03-12'
      ), by_function as (select * from project_events('fitness', '2026-03-11', '2026-03-12'))
      select count(*)::int from (
        (table by_view except all table by_function) union all (table by_function except all table by_view)
      ) d`
    assert.equal(differences?.count, 0)
    assert.equal(
      (await list.sql`select from project_events('fitness', '2026-03-11', '2026-03-12') where tags = '{}'`)
        .count,
      2,
    )
  })
})
