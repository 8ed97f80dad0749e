import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { requireCurrentSchema } from '../../src/db/migrate.ts'
import { ConfigurationError } from '../../src/errors.ts'
import { renderPage } from '../../src/report/page/page.ts'
import { formatPoint, notInTop } from '../../src/report/points.js'
import type { Report } from '../../src/report/read.ts'
import { readProjects, readReport } from '../../src/report/read.ts'
import { MOST_ANNOTATIONS } from '../../src/report/read-store.ts'
import { summarise } from '../../src/report/summary.ts'
import { recount } from '../support/ledger.ts'
import { addPerson } from '../support/people.ts'
import { createWatchlist, type Watchlist } from '../support/watchlist.ts'

const NOW = '2026-11-04 06:00+00'

let list: Watchlist
let db: Database
let report: Report
before(async () => {
  list = await createWatchlist()
  await list.setNow('2026-11-01 00:00+00')
  await list.sql`insert into project (name, timezone, daily_usd) values ('fitness', 'America/New_York', 0.01)`
  await list.addKeyword({ tags: ['core', 'brand'], every: '12 hours' })
  await list.addKeyword({ keyword: 'chess', tags: ['core'] })
  await list.addChart({ category: 'game' })
  await list.addApp({ label: 'Mine', location_code: 2840, language_code: 'en', info: true, reviews: true })
  await list.addApp({ app_id: '1002', role: 'competitor' })
  await list.addApp({ store: 'android_store', app_id: 'com.mine' })
  await list.setNow(NOW)
  await fillHistory()
  await list.setNowForAll(NOW)
  db = openDatabase(list.url)
  report = await readReport(db, { project: 'fitness' })
})
after(async () => {
  await db.close()
  await list.drop()
})

/** Days of New York: the slot at midnight UTC belongs to the day before. */
async function fillHistory(): Promise<void> {
  await list.capture('yoga', '2026-11-01 12:00+00', ['1002', '1003', '1001'])
  await list.capture('yoga', '2026-11-02 00:00+00', ['1001', '1002', '1003', '1004'])
  await list.capture('yoga', '2026-11-02 12:00+00', ['1003', '1002'])
  await list.leaveGap('yoga', '2026-11-03 00:00+00', 'failed', '40102: No Search Results.')
  await list.leaveGap('yoga', '2026-11-03 12:00+00', 'budget', 'project_budget')
  await list.leaveGap('yoga', '2026-11-04 00:00+00', 'failed', '40102: No Search Results.')
  await list.capture('chess', '2026-11-02 00:00+00', ['1001'], { depth: 50 })
  await list.capture('chess', '2026-11-03 00:00+00', ['1002'], { depth: 50 })
  await list.capture('chess', '2026-11-04 00:00+00', ['1005', '1001'])
  await list.capture('topselling_free', '2026-11-04 00:00+00', ['com.mine'])
  await list.describeApp('1001', '2026-11-02 00:00+00', { rating: 4.5, votes_count: 10, version: '1.0' })
  await list.describeApp('1001', '2026-11-03 00:00+00', { rating: 4.25, votes_count: 12, version: '1.1' })
  await list.sql`
    insert into review (app, review_id, location_code, language_code, rating, title, text, written_at,
      first_seen_at, last_seen_at)
    select a.id, n::text, 2840, 'en', stars, r.title, 'Text', at::timestamptz, at::timestamptz,
      at::timestamptz
    from app a, (values (1, 1, 'Crashes', '2026-11-02 05:00+00'), (2, 2, 'Slow', '2026-11-03 05:00+00'),
      (3, 5, 'Fine', '2026-11-03 06:00+00'), (4, 1, 'Old', '2026-09-03 06:00+00'),
      (5, 1, 'Crashes', '2026-11-02 06:00+00')) r (n, stars, title, at)
    where a.app_id = '1001'`
  await list.sql`
    insert into charge (kind, project_id, amount_micros, target_id, slot, service_id, at)
    select kind, p.id, micros, t.id, '2026-11-03', service_id, at::timestamptz
    from project p, target t, (values ('yoga', 'charge', 2400, 'a', '2026-11-03 12:30+00'),
      ('yoga', 'refund', -1200, 'a', '2026-11-03 12:31+00'),
        ('chess', 'charge', 1200, 'b', '2026-11-03 03:00+00'))
      as c (subject, kind, micros, service_id, at)
    where t.subject = c.subject`
  await list.sql`
    insert into task (target_id, slot, slot_ends_at, state, priority, estimate_micros, payers, reserved_at)
    select t.id, '2026-11-03', '2026-11-04', 'planned', 1, 1200, array[p.id], '2026-11-03 13:00+00'
    from target t, project p where t.subject = 'chess'`
  await recount(list.sql)
}

/** What the report of the project says, each as lines. */
const SAYS: Readonly<Record<string, readonly [of: (report: Report) => unknown, says: unknown]>> = {
  'the days from the first to the last of its history, in the time zone of the project': [
    ({ timezone, writtenAt, days }) => [timezone, writtenAt, ...days].join(' '),
    'America/New_York 2026-11-04T06:00:00.000Z 2026-11-01 2026-11-02 2026-11-03',
  ],
  'own apps first': [
    ({ apps }) => apps.map(({ name, store, role }) => `${name} ${store} ${role}`),
    ['Mine ios_store own', 'com.mine android_store own', '1002 ios_store competitor'],
  ],
  'keywords before charts, with place and tags': [
    ({ lists }) => lists.map(({ kind, name, place, tags }) => [kind, name, place, ...tags].join(' ')),
    ['keyword chess 2840 core', 'keyword yoga 2840 brand core', 'chart topselling_free, game 2840'],
  ],
  'the rank of the last measurement of each day, and a gap only where there is none': [
    ({ series, lists, apps }) =>
      series.map(({ list, app, points }) =>
        [lists[list]?.name, apps[app]?.name, ...points.map(formatPoint)].join(' | '),
      ),
    [
      'chess | Mine | 1 | > 50 | 2',
      'chess | 1002 | > 50 | 1 | > 100',
      'yoga | Mine | 1 | > 100 | failed',
      'yoga | 1002 | 2 | 2 | failed',
      'topselling_free, game | com.mine | pending | pending | 1',
    ],
  ],
  'standings over what was measured, and none of a day of which too little was': [
    ({ standings: [own] }) => [own?.visibility, own?.measuredPercent, own?.measured, own?.inTop].join(' | '),
    '100,0, | 100,100,50 | 2,2,1 | 2,0,1',
  ],
  'what changed on the page of an app, its ratings by day, and its reviews of these days': [
    ({ changes, ratings, reviewCounts, lowReviews }) => [
      ...changes.map(({ day, app, field, before, after }) => [day, app, field, before, after].join(' ')),
      ...ratings.map(({ app, rating, votes }) => [app, rating, votes].join(' ')),
      ...reviewCounts.map(({ app, stars }) => `${app} ${stars}`),
      ...lowReviews.map(({ title, times }) => `${title} ${times}`),
    ],
    ['2026-11-02 0 version 1.0 1.1', '0 4.5,4.25, 10,12,', '0 2,1,0,0,1', 'Slow 1', 'Crashes 2'],
  ],
  // The days before it end on the 1st, those from it on are the 2nd and the 3rd. Yoga goes from 1 to 101,
  // chess from 1 to 2, which is the middle of none and 2; the competitor stays second.
  'what a release changed, like for like, against competitors and everybody': [
    ({ impacts }) => impacts,
    [
      {
        ...{ day: '2026-11-02', app: 0, event: 'version 1.0 → 1.1', lists: 'all', words: [] },
        ...{ compared: 2, before: 1, after: 51.5, change: -50.5, competitors: 0, moved: 50.5, everybody: 1 },
      },
    ],
  ],
  'what was measured and what was not, by reason, those of the last day first, with examples': [
    ({ coverage: { measured, gaps, reasons } }) => [
      `${measured} failed ${gaps.failed} budget ${gaps.budget}`,
      ...reasons
        .filter(({ gap }) => gap !== 'pending')
        .map(({ day, gap, slots, examples }) => [day, gap, slots, ...examples].join(' ')),
    ],
    [
      '4,3,2 failed 0,1,1 budget 0,0,1',
      ...['2026-11-03 budget 1 yoga', '2026-11-03 failed 1 yoga', '2026-11-02 failed 1 yoga'],
    ],
  ],
  'the money by its own days, and its budgets on the last one': [
    ({ money: { spentMicros, refundedMicros, reservedMicros, functions, budgets } }) => [
      ...[spentMicros.join(' '), refundedMicros, reservedMicros],
      ...functions.map(({ tasks, spentMicros, ...each }) => `${each.function} ${tasks} ${spentMicros}`),
      ...budgets.map((each) => Object.values(each).join(' ')),
    ],
    ['0 1200 1200', 1200, 1200, 'app_searches 2 2400', 'day 10000 2400'],
  ],
  // Yoga has a gap on the last day; the chart was not measured before it; 1005 and Mine were not on chess.
  'who holds the first places on the last day, with their ranks of the day before': [
    ({ holders }) => holders.map((list) => list.map((each) => Object.values(each).join(' '))),
    [['1 1005 0  ', '2 1001 0  0'], [], ['1 com.mine   1']],
  ],
  'the apps that nobody follows, by the keywords whose top they are in': [
    ({ unwatched }) =>
      unwatched.map(({ name, keywords, measured, before, examples }) =>
        [name, keywords, measured, before, ...examples].join(' '),
      ),
    ['1003 1 2 1 yoga', '1005 1 2 0 chess'],
  ],
  'own apps by tag, blank where less than four fifths were measured': [
    ({ segments }) =>
      segments.map(({ kind, name, app, visibility, measured, due }) =>
        [kind, name, app, visibility, measured, due].join(' '),
      ),
    ['tag core 0  1 2', 'tag brand 0  0 1'],
  ],
}

describe('a report', () => {
  for (const [name, [of, says]] of Object.entries(SAYS)) {
    test(`has ${name}`, () => assert.deepEqual(of(report), says))
  }

  test('makes a page', () => {
    const page = renderPage(report)
    assert.match(page, /<h1>fitness<\/h1>/)
    assert.match(page, /1\.0 → 1\.1<small>Mine<\/small><\/td>[^/]*>all: 2 keywords/)
  })

  test('has its days in every plan, however many reports a connection reads', async () => {
    const one = openDatabase(list.url, { maxConnections: 1 })
    for (let n = 0; n < 6; n += 1) await readReport(one, { project: 'fitness' })
    const [row] = await one.sql`select coalesce(sum(generic_plans), 0)::int as generic
      from pg_prepared_statements where statement like ${'%crossing%'}`
    await one.close()
    assert.deepEqual(row, { generic: 0 })
  })

  test('looks back further than its range for what the last day is compared with', async () => {
    const { days, series, comparisons } = await readReport(db, {
      project: 'fitness',
      from: '2026-11-03',
      to: '2026-11-03',
    })
    assert.deepEqual(days, ['2026-11-03'])
    assert.deepEqual(series[0]?.points, [2])
    const [first] = comparisons.find(({ span }) => span === 1)?.moves ?? []
    assert.deepEqual(first, {
      ...{ list: 0, app: 0, before: notInTop(50), after: 2 },
      ...{ movement: 'entered', change: 49, crossed: 'entered', instead: ['1002'] },
    })
  })

  test('compares like for like, by the keywords that made the change', async () => {
    const { comparisons, lists } = await readReport(db, { project: 'fitness', to: '2026-11-02', spans: [1] })
    const [comparison] = comparisons
    const own = comparison?.changes.find(({ app }) => app === 0)
    assert.deepEqual([own?.compared, own?.due], [2, 2])
    assert.deepEqual(own?.visibility, {
      ...{ before: 100, after: 0, change: -100 },
      parts: [
        { list: 0, points: -50 },
        { list: 1, points: -50 },
      ],
    })
    assert.deepEqual(own?.top, { before: 2, after: 0, change: -2, parts: [] })
    assert.deepEqual(
      comparison?.left.map(({ list }) => lists[list]?.name),
      ['yoga', 'chess'],
    )
    assert.deepEqual(comparison?.entered, [])
    assert.match(
      summarise(await readReport(db, { project: 'fitness', spans: [1] }), 1).find(
        ({ about }) => about === 'Visibility',
      )?.text ?? '',
      /^Mine: only 50\.0 % measured\.$/,
    )
  })

  test('is the same for a person who may only read', async (t) => {
    const reader = await addPerson(list.sql, 'storerank_reader')
    t.after(() => reader.remove())
    const theirs = openDatabase(reader.url)
    t.after(() => theirs.close())
    await requireCurrentSchema(theirs)
    assert.deepEqual(await readProjects(theirs), ['fitness'])
    assert.deepEqual(await readReport(theirs, { project: 'fitness' }), report)
  })

  test('counts each keyword by what it is worth, as the functions of the database do', async () => {
    await list.sql`update keyword_watch set weight = 3 where keyword = 'yoga'`
    const { standings, lists, apps, days } = await readReport(db, { project: 'fitness' })
    const told = await list.sql`
      select to_char(day, 'YYYY-MM-DD') as day, app_id as "appId", v.visibility::float8 as visibility,
        s.share::float8 as share
      from share_of_voice('fitness', ${days[0] ?? ''}, ${days.at(-1) ?? ''}) s
      left join visibility('fitness', ${days[0] ?? ''}, ${days.at(-1) ?? ''}) v
        using (day, store, list, app_id)
      where list = 'keyword' order by app_id, day`
    const shown = standings.flatMap(({ app, visibility, share }) =>
      days.map((day, n) => ({
        ...{ day, appId: apps[app ?? -1]?.appId ?? null },
        ...{ visibility: visibility[n], share: share[n] },
      })),
    )
    assert.ok(told.length >= 9)
    assert.deepEqual(shown, [...told])
    await list.sql`update keyword_watch set weight = 1`
    assert.equal(lists.find(({ name }) => name === 'yoga')?.weight, 3)
    // First on both, of 1 + 1/2 + 1/3 + 1/4 on yoga and of 1 on chess.
    assert.equal(Math.round(standings[0]?.share[0] ?? 0), Math.round(400 / (3 * (25 / 12) + 1)))
  })

  test('has the notes of its days, each with the app that it is about', async () => {
    await list.sql`
      insert into annotation (project, day, app_id, text)
        values ('fitness', '2026-11-02', '1001', 'Campaign'),
        ('fitness', '2026-11-03', null, 'Outage'), ('fitness', '2026-10-01', null, 'Long ago')`
    const { annotations } = await readReport(db, { project: 'fitness', from: '2026-11-01' })
    await list.sql`delete from annotation`
    assert.deepEqual(annotations, [
      { day: '2026-11-02', text: 'Campaign', app: 0 },
      { day: '2026-11-03', text: 'Outage', app: null },
    ])
  })

  test('has the latest notes of its days where there are very many', async () => {
    await list.sql`
      insert into annotation (project, day, text)
      select 'fitness', date '2026-11-01' + n % 3, 'Note ' || n from generate_series(1, 2000) n`
    const { annotations } = await readReport(db, { project: 'fitness', from: '2026-11-01' })
    await list.sql`delete from annotation`
    assert.equal(annotations.length, MOST_ANNOTATIONS)
    assert.deepEqual([...new Set(annotations.map(({ day }) => day))], ['2026-11-03'])
    assert.equal(annotations.at(-1)?.text, 'Note 2000')
  })

  test('is of one tag alone, when that is asked for', async () => {
    const { lists, money, coverage } = await readReport(db, { project: 'fitness', tag: 'brand' })
    assert.deepEqual(
      lists.map(({ name }) => name),
      ['yoga'],
    )
    assert.deepEqual(money.spentMicros, [0, 0, 1200])
    assert.deepEqual(coverage.measured, [2, 1, 0])
  })

  test('is of one location alone, when that is asked for', async () => {
    const { lists, location, coverage } = await readReport(db, { project: 'fitness', location: '2840' })
    assert.deepEqual([lists, location], [report.lists, '2840'])
    // Without the page and the reviews of an app, which are of no location there.
    assert.deepEqual(coverage.measured.length, report.days.length)
  })

  test('of what there is not is refused with what there is', async () => {
    const refused = (query: Parameters<typeof readReport>[1], message: RegExp) =>
      assert.rejects(
        readReport(db, query),
        (error) => error instanceof ConfigurationError && message.test(error.message),
      )
    await refused({ project: 'fitnes' }, /no project "fitnes"\. Did you mean fitness\? Projects: fitness\./)
    await refused(
      { project: 'fitness', tag: 'brands' },
      /has the tag "brands"\. Did you mean brand\? Tags: brand, core\./,
    )
    await refused({ project: 'fitness', location: 'US' }, /is of the location "US"\. Locations: 2840\./)
    await refused(
      { project: 'fitness', from: '2026-11-05' },
      /ends? before it begins: from 2026-11-05 to 2026-11-03/,
    )
  })
})

test('a project without a measurement has a report of today', async () => {
  await list.sql`insert into project (name) values ('empty')`
  const empty = await readReport(db, { project: 'empty' })
  assert.deepEqual([empty.days.at(-1), empty.series, empty.lists], ['2026-11-04', [], []])
  assert.match(renderPage(empty), /There is nothing to rank/)
})
