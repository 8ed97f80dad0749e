import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { readBudgets, readSpentByFunction, readSpentSince } from '../../src/report/money.ts'
import {
  listBacklog,
  readLastRuns,
  readLatestRanks,
  readNextDue,
  readOpenWork,
  readProblems,
} from '../../src/report/status.ts'
import { recount } from '../support/ledger.ts'
import { createWatchlist, type Watchlist } from '../support/watchlist.ts'

const NOW = '2026-11-03 06:00+00'

let watchlist: Watchlist
let db: Database
before(async () => {
  watchlist = await createWatchlist()
  await watchlist.setNow('2026-11-01 06:00+00')
  await watchlist.addKeyword()
  await watchlist.addKeyword({ keyword: 'chess' })
  await watchlist.addApp({ label: 'Mine' })
  await watchlist.addApp({ app_id: '1002', role: 'competitor' })
  await watchlist.setNow(NOW)
  await watchlist.capture('yoga', '2026-11-02 00:00+00', ['1002', '1003', '1001'], { results_count: 250 })
  await watchlist.capture('yoga', '2026-11-03 00:00+00', ['1001', '1003'], { results_count: 251 })
  await watchlist.leaveGap('chess', '2026-11-03 00:00+00', 'failed', '40403: Results Expired.')
  await watchlist.setNowForAll(NOW)
  db = openDatabase(watchlist.url)
})
after(async () => {
  await db.close()
  await watchlist.drop()
})

describe('the latest ranks', () => {
  test('say rank, change, depth and outcome of every app on every keyword, own apps first', async () => {
    const { lines, total } = await readLatestRanks(db, 10)
    assert.equal(total, 4)
    assert.deepEqual(
      lines.map(({ app, keyword, rank, change, movement, depth, results, outcome }) =>
        [app, keyword, outcome, rank, change, movement, depth, results].join(' '),
      ),
      [
        'Mine yoga ranked 1 2 up 100 251',
        'Mine chess failed     ',
        '1002 chess failed     ',
        '1002 yoga not_in_top  -100 left 100 251',
      ],
    )
  })

  test('are cut after the limit, and tell how many there are', async () => {
    const { lines, total } = await readLatestRanks(db, 1)
    assert.deepEqual([lines.length, total], [1, 4])
    assert.deepEqual(await readLatestRanks(db, 0), { lines: [], total: 0 })
  })

  test('have charts among the keywords, with collection and category', async () => {
    await watchlist.addChart({ category: 'game' })
    await watchlist.addApp({ store: 'android_store', app_id: 'com.acme.yoga' })
    await watchlist.capture('topselling_free', '2026-11-03 00:00+00', ['com.acme.yoga'])
    const { lines } = await readLatestRanks(db, 10)
    const charts = lines.filter(({ store }) => store === 'android_store')
    assert.deepEqual(
      charts.map(({ keyword, rank }) => [keyword, rank]),
      [['chart topselling_free game', 1]],
    )
    await watchlist.sql`delete from chart_watch`
    await watchlist.sql`delete from app_watch where store = 'android_store'`
  })

  test('are followed by the next slot of any watch', async () => {
    assert.deepEqual(await readNextDue(db), new Date('2026-11-04T00:00:00Z'))
  })
})

describe('the money', () => {
  before(async () => {
    await watchlist.sql`update project set daily_usd = 0.01 where name = 'fitness'`
    await watchlist.sql`
      insert into charge (kind, project_id, amount_micros, target_id, slot, service_id, at)
      select kind, (select id from project where name = 'fitness'), micros, 1, '2026-11-03', service_id,
        at::timestamptz
      from (values ('charge', 2400, 'a', '2026-11-03 05:00+00'),
        ('refund', -1200, 'a', '2026-11-03 05:00+00'),
        ('duplicate', 600, 'b', '2026-11-03 05:00+00'), ('adjustment', -200, 'b', '2026-11-03 05:00+00'),
        ('charge', 1200, 'c', '2026-11-02 05:00+00'))
        as v (kind, micros, service_id, at)`
    await watchlist.sql`
      with sending as (
        insert into post (store, function, state) values ('ios_store', 'app_searches', 'sending') returning id
      )
      insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers, reserved_at,
        post_id)
      select 1, slot, slot + interval '1 day', state, 1, micros,
        array(select id from project where name = 'fitness'),
        '2026-11-03 05:00+00', (select id from sending)
      from (values (timestamptz '2026-11-03', 'posting', 1200), ('2026-11-02', 'dropped', 2400)) as v (slot,
        state, micros)`
    await recount(db.sql)
  })
  after(async () => {
    await watchlist.sql`with gone as (delete from task) delete from post`
    await recount(db.sql)
  })

  test('spent since a moment is told apart by kind, and what is reserved is not spent', async () => {
    assert.deepEqual(
      { ...(await readSpentSince(db, new Date('2026-11-03T00:00:00Z'))) },
      { tasks: 1, chargedMicros: 2400, refundedMicros: 1200, duplicateMicros: 600, adjustedMicros: -200 },
    )
    const since = await readSpentSince(db, new Date('2026-11-01T00:00:00Z'))
    assert.deepEqual([since.tasks, since.chargedMicros], [2, 3600])
    const functions = await readSpentByFunction(db, new Date('2026-11-01T00:00:00Z'))
    const net = since.chargedMicros + since.duplicateMicros + since.adjustedMicros - since.refundedMicros
    assert.deepEqual([...functions], [{ function: 'app_searches', tasks: 2, netMicros: net }])
  })

  test('left in each budget that is set counts what is reserved', async () => {
    const lines = await readBudgets(db, {
      maxDayMicros: 5_000_000,
      maxMonthMicros: 50_000_000,
      maxRunMicros: null,
    })
    const told = lines.map(({ budget, setBy, project, period, limitMicros, usedMicros, warning }) =>
      [budget, setBy, project, period, limitMicros, usedMicros, warning].join(' '),
    )
    assert.deepEqual(told, [
      'MAX_USD_PER_DAY settings  day 5000000 2800 ',
      'MAX_USD_PER_MONTH settings  month 50000000 4000 ',
      'project fitness, day project fitness day 10000 2800 ',
    ])
  })
})

describe('the status', () => {
  test('names the last run of each job', async () => {
    await db.sql`
      insert into job_run (job, slot, state, started_at, ended_at, error)
      values ('track', '2026-11-02', 'failed', '2026-11-02', '2026-11-02', 'No network.'),
        ('track', '2026-11-03', 'done', '2026-11-03 00:00:00+00', '2026-11-03 00:00:02.5+00', null)`
    const runs = await readLastRuns(db)
    assert.deepEqual(
      runs.map(({ job, state, seconds, error }) => ({ job, state, seconds, error })),
      [{ job: 'track', state: 'done', seconds: 2.5, error: null }],
    )
  })

  test('counts what has not ended, and what waits for money', async () => {
    assert.deepEqual(listBacklog(await readOpenWork(db)), [])
    await db.sql`
      insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers)
      select id, '2026-11-03', '2026-11-04', case subject when 'yoga' then 'planned'
        else 'collected' end, 1, 1200,
        array(select id from project where name = 'fitness')
      from target`
    await db.sql`
      insert into due_slot (target_id, slot, ends_at, cut, price_micros, priority, captured_at, askers)
      select id, '2026-11-03', '2026-11-04', 'project_budget', 1200, 1, '-infinity', 1 from target limit 1`
    const lines = listBacklog(await readOpenWork(db))
    assert.deepEqual(
      lines.map(({ state, tasks, oldest }) => [state, tasks, oldest.toISOString()]),
      [
        ['planned', 1, '2026-11-03T00:00:00.000Z'],
        ['budget_cut', 1, '2026-11-03T00:00:00.000Z'],
      ],
    )
  })

  test('lists problems up to a limit, and tells how many there are', async () => {
    const { lines, total } = await readProblems(db, 1)
    assert.equal(lines.length, 1)
    assert.ok(total >= 1)
    assert.match(lines[0]?.message ?? '', /\.$/)
  })
})
