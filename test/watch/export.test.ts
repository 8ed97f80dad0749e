import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../src/db/database.ts'
import { sql } from '../../src/db/sql.ts'
import { openWatchExport } from '../../src/watch/export.ts'
import { importWatches } from '../../src/watch/import.ts'
import { openTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { APP_WATCH, CHART_WATCH, KEYWORD_WATCH } from '../support/watchlist.ts'

const source = lasting(openTestDatabase)
const target = lasting(openTestDatabase)

async function exportAll(db: Database): Promise<string> {
  let csv = ''
  const { chunks, close } = await openWatchExport(db)
  for await (const chunk of chunks) csv += chunk
  await close()
  return csv
}

const TABLES = ['keyword_watch', 'app_watch', 'chart_watch'] as const

async function readAll(db: Database): Promise<object[]> {
  const tables = await Promise.all(
    TABLES.map(
      (table) =>
        db.sql`select to_jsonb(w) - 'id' - 'created_at' as row from ${sql.identifier(table)} w order by 1`,
    ),
  )
  return tables.flat()
}

const count = async (db: Database, csv: string) => {
  const { added, changed, unchanged, refused } = await importWatches(db, csv)
  return { added, changed, unchanged, refused }
}

test('an empty watchlist is a file with nothing but its header', async () => {
  assert.match(await exportAll(source), /^project,store,keyword,[\w,]+\n$/)
})

test('brought in where it came from it changes nothing, and elsewhere it makes the same', async () => {
  const names = [
    'yoga',
    '=1+1',
    "'=1",
    '-',
    '@home',
    'a "b", c',
    'ヨガ',
    "'quoted'",
    'semi;colon',
    '#1',
    '[x]',
  ]
  for (const keyword of names)
    await source.sql`insert into keyword_watch ${sql.row({ ...KEYWORD_WATCH, keyword })}`
  const odd = [
    {
      keyword: 'a',
      location_code: null,
      location_name: 'Paris,Paris,France',
      depth: 300,
      every: '6 hours',
      priority: 2,
    },
    { keyword: 'b', enabled: false, tags: ['a, b', '"c"', '=d', "e'f", '{g}'], note: ' two\nlines\t' },
    { keyword: 'c', store: 'android_store', html: true, every: '7 days', note: '=note', weight: 0 },
    { keyword: 'd', note: "'", weight: 0.1 },
  ]
  for (const fields of odd)
    await source.sql`insert into keyword_watch ${sql.row({ ...KEYWORD_WATCH, ...fields })}`
  const place = { location_code: 2840, language_code: 'en' }
  const read = { ...place, info: true, reviews: true, reviews_depth: 200 }
  await source.sql`insert into app_watch ${sql.row({ ...APP_WATCH, label: ' + Mine ', ...read })}`
  await source.sql`insert into app_watch ${sql.row({ ...APP_WATCH, app_id: '1002', role: 'competitor' })}`
  await source.sql`insert into chart_watch ${sql.row({ ...CHART_WATCH, category: 'game', depth: 30 })}`
  const csv = await exportAll(source)
  const watches = await readAll(source)
  assert.equal(watches.length, names.length + odd.length + 3)
  const all = watches.length
  assert.deepEqual(await count(source, csv), { added: 0, changed: 0, unchanged: all, refused: [] })
  assert.deepEqual(await count(target, csv), { added: all, changed: 0, unchanged: 0, refused: [] })
  assert.deepEqual(await readAll(target), watches)
  assert.equal(await exportAll(target), csv)
  assert.doesNotMatch(csv, /(^|,)"?[=+@]/m, 'no cell is a formula')
})

test('a file of several kinds refuses a row of none or two, or with what its kind has not', async () => {
  const csv = [
    'project,store,keyword,app_id,collection,location_code,language_code,depth,label',
    'fitness,ios_store,zen,,,2840,en,50,',
    'fitness,ios_store,,2001,,,,,Mine',
    'fitness,ios_store,,,,2840,en,,',
    'fitness,ios_store,zen,,new_ios,2840,en,,',
    'fitness,ios_store,,2003,,,,50,',
  ].join('\n')
  const { tables, added, refused } = await importWatches(target, csv)
  assert.deepEqual(tables, TABLES)
  assert.equal(added, 2)
  assert.deepEqual(
    refused.map(({ file: _, ...row }) => row),
    [
      { line: 4, subject: '', reason: 'it must name one of keyword, app_id, collection, and one alone' },
      {
        line: 5,
        subject: 'zen, new_ios',
        reason: 'it must name one of keyword, app_id, collection, and one alone',
      },
      { line: 6, subject: '2003', reason: 'app_watch has no column depth' },
    ],
  )
})
