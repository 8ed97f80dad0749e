/** `import history`: ranks that another tool measured. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { openDatabase } from '../../src/db/database.ts'
import { readReport } from '../../src/report/read.ts'
import { importWatches } from '../../src/watch/import.ts'
import { column } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const list = lasting(createWatchlist)

const FILE = `Date,Search Term,Country,Platform,App,Position
2026-02-01,yoga,US,iOS,1001,12
02.02.2026,Yoga,United States,App Store,Mine,#9
2026-02-03,yoga,US,iOS,1001,-
2026-02-04,yoga,US,iOS,1001,>100
2026-03-02,yoga,US,iOS,1001,55
2026-02-01,yoga,US,iOS,1002,3
2026-02-30,yoga,US,iOS,1001,3
2026-02-05,never watched,US,iOS,1001,7
`

before(async () => {
  await list.sql`insert into location (store, code, name, country_iso_code, type)
    values ('ios_store', 2840, 'United States', 'US', 'Country')`
  await list.setNow('2026-03-01 00:00+00')
  await list.addKeyword()
  await list.addApp({ label: 'Mine' })
  await list.capture('yoga', '2026-03-02 00:00+00', ['1001'])
  await list.setNowForAll('2026-03-03 06:00+00')
})

async function load(isTrial = false) {
  const db = openDatabase(list.url)
  try {
    return await importWatches(db, FILE, { history: 'old tool', lacking: { project: 'fitness' }, isTrial })
  } finally {
    await db.close()
  }
}

test('past ranks are shown beside what was measured, and count for nothing', async () => {
  const trial = await load(true)
  const done = await load()
  const again = await load()
  assert.deepEqual(
    [trial, done, again].map(({ added, changed, unchanged, unranked, refusedCount }) => [
      ...[added, changed, unchanged, unranked, refusedCount],
    ]),
    [
      [4, 0, 0, 2, 2],
      [4, 0, 0, 2, 2],
      [0, 0, 4, 2, 2],
    ],
  )
  assert.deepEqual(
    done.refused.map(({ line, reason }) => [line, reason]),
    [
      [7, 'the project fitness has no such app: add it by `storerank watch` or an import'],
      [8, 'day is "2026-02-30", and is written like 2026-03-01'],
    ],
  )
  const rows = await list.sql<{ row: string }[]>`
    select concat_ws(' ', day, keyword, rank, outcome, source) as row from rank_history
    where outcome <> 'pending' order by day, source nulls first`
  assert.deepEqual(column(rows, 'row'), [
    '2026-02-01 yoga 12 imported old tool',
    '2026-02-02 yoga 9 imported old tool',
    '2026-02-05 never watched 7 imported old tool',
    '2026-03-02 yoga 1 ranked',
    '2026-03-02 yoga 55 imported old tool',
  ])
  const daily = await list.sql<{ row: string }[]>`
    select concat_ws(' ', day, rank, outcome) as row
    from rank_daily('fitness', '2026-02-01', '2026-03-02') where keyword = 'yoga' and outcome <> 'pending'
    order by day`
  assert.deepEqual(column(daily, 'row'), [
    '2026-02-01 12 imported',
    '2026-02-02 9 imported',
    '2026-03-02 1 ranked',
  ])
  const [counted] = await list.sql`
    select (select count(*)::int from due_slot d join target t on t.id = d.target_id
        where t.subject = 'never watched') as due,
      (select count(*)::int from watch_period where target_id in (select id from target
        where subject = 'never watched')) as periods,
      (select count(*)::int from standings('fitness', '2026-02-01', '2026-02-28')) as standings`
  assert.deepEqual(counted, { due: 0, periods: 0, standings: 0 })
})

test('the page has them as ranks of their days, and one statement removes them', async () => {
  await load()
  const db = openDatabase(list.url)
  try {
    const read = async () => {
      const { series, lists } = await readReport(db, {
        project: 'fitness',
        from: '2026-02-01',
        to: '2026-03-02',
      })
      const at = series.find(({ list: index }) => lists[index]?.name === 'yoga')
      return [at?.points[0], at?.points[1], at?.points.at(-1), at?.best]
    }
    assert.deepEqual(await read(), [10_012, 10_009, 1, 1])
    await list.sql`delete from imported_rank where source = 'old tool'`
    assert.deepEqual(await read(), [0, 0, 1, 1])
  } finally {
    await db.close()
  }
})

test('a file of rules beside it comes in as rules', async () => {
  const db = openDatabase(list.url)
  try {
    const csv = 'rule,project,kind\nplain,fitness,outage\n'
    const { added, refused } = await importWatches(db, csv, { history: 'old tool' })
    assert.deepEqual([added, refused], [1, []])
    assert.deepEqual([...(await list.sql`select name from alert_rule`)], [{ name: 'plain' }])
  } finally {
    await db.close()
  }
})
