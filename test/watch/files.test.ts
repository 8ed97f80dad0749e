/** Files as people and their tools have them. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeEach, describe, test } from 'node:test'
import { openWatchFile } from '../../src/watch/file-text.ts'
import { type ImportOptions, importWatches } from '../../src/watch/import.ts'
import { openTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'

const db = lasting(openTestDatabase)
beforeEach(async () => {
  for (const table of ['keyword_watch', 'app_watch', 'chart_watch', 'watch_period'])
    await db.sql.unsafe(`delete from ${table}`)
})

async function load(text: string, options: ImportOptions = {}) {
  const told: string[] = []
  const done = await importWatches(db, text, { ...options, onUnderstood: (each) => told.push(each) })
  return { ...done, told }
}

/** Store, keyword, place and language of each. */
async function rows(): Promise<string[]> {
  const all = await db.sql<{ row: string }[]>`
    select concat_ws(' ', store, keyword, coalesce(location_name, location_code::text), language_code) as row
    from keyword_watch order by id`
  return all.map(({ row }) => row)
}

const GIVEN = { lacking: { project: 'zen', store: 'ios', country: 'US' } }

describe('a file is read in the form that it has', () => {
  test('a table of a tool: other names of columns, and the app of the row', async () => {
    const file = [
      'Search Term\tCountry\tDevice\tTrack ID\tApp Name\tCurrent Rank\tDifficulty',
      '瞑想\tJP\tiphone\t1480010017\tAshlune\t12\t3,3',
      '禅\tJapan\tiOS\tid1480010017\tAshlune\t-\t3,3',
    ]
    const done = await load(`${file.join('\n')}\n`, { lacking: { project: 'zen' } })
    assert.deepEqual([done.added, done.refused], [3, []])
    assert.deepEqual(await rows(), ['ios_store 瞑想 Japan ja', 'ios_store 禅 Japan ja'])
    const apps = await db.sql`select project, store, app_id, label, role, location_name from app_watch`
    assert.deepEqual(
      [...apps],
      [
        {
          project: 'zen',
          store: 'ios_store',
          app_id: '1480010017',
          label: 'Ashlune',
          role: 'own',
          location_name: null,
        },
      ],
    )
    assert.deepEqual(done.told, [
      'the file: "Search Term" is keyword, "Device" is store, "Track ID" is app_id, ' +
        '"App Name" is label.',
      'the file: left out: "Current Rank", "Difficulty".',
      'store: iphone is ios_store, iOS is ios_store.',
      'country: JP is Japan.',
      'language of: JP is ja, Japan is ja.',
      'app_id: id1480010017 is 1480010017.',
    ])
  })

  test('a plain list', async () => {
    const { told } = await load('meditation\nsleep sounds\n100% free\n', GIVEN)
    assert.deepEqual(await rows(), [
      'ios_store meditation United States en',
      'ios_store sleep sounds United States en',
      'ios_store 100% free United States en',
    ])
    assert.equal(told[0], 'the file has no header: each line is a keyword, and the first is "meditation".')
  })

  test('a matrix of keywords and countries, and one of marks', async () => {
    const { told } = await load('English (US),Deutsch (DE),日本語 (JP)\nyoga,yoga,ヨガ\nsleep,,睡眠\n', {
      lacking: { project: 'zen', store: 'iOS' },
    })
    assert.equal(
      told[0],
      'the file: "English (US)" is a country, "Deutsch (DE)" is a country, "日本語 (JP)" is a country.',
    )
    assert.deepEqual(await rows(), [
      'ios_store yoga United States en',
      'ios_store yoga Germany de',
      'ios_store ヨガ Japan ja',
      'ios_store sleep United States en',
      'ios_store 睡眠 Japan ja',
    ])
    await db.sql`delete from keyword_watch`
    await load('Keyword,US,GB,Tags\ncalm,x,,a|b\nzen,ja,yes,\n', {
      lacking: { project: 'zen', store: 'ios' },
    })
    assert.deepEqual(await rows(), [
      'ios_store calm United States en',
      'ios_store zen United States en',
      'ios_store zen United Kingdom en',
    ])
  })

  test('what stands above the header is left out, and told', async () => {
    const { told, added } = await load('Table 1\n\nKeyword;Land\nruhe;Deutschland\n', GIVEN)
    assert.equal(added, 1)
    assert.equal(told[0], 'the file: what stands above the header is left out.')
    assert.deepEqual(await rows(), ['ios_store ruhe Germany de'])
  })

  test('one keyword for several countries and stores', async () => {
    await load('keyword,country,store\nyoga,"US, GB",ios|android\n', { lacking: { project: 'zen' } })
    assert.deepEqual(await rows(), [
      'ios_store yoga United States en',
      'ios_store yoga United Kingdom en',
      'android_store yoga United States en',
      'android_store yoga United Kingdom en',
    ])
  })

  test('numbers, truths and tags as spreadsheets of other countries write them', async () => {
    const header = 'Keyword;Gewichtung;Aktiv;Schlagworte;Tiefe'
    const done = await load(`${header}\nruhe;5,0;WAHR;a, b;1.000\nzen;1,204;nein;a;50\nom;1;vielleicht;;\n`, {
      lacking: { project: 'zen', store: 'android', country: 'Germany' },
    })
    assert.deepEqual(
      done.refused.map(({ line, reason }) => [line, reason.replace(/\..*/s, '')]),
      [
        [2, 'depth is 1000, and may be 1 to 700 in the ios_store, and 1 to 200 in the android_store'],
        [3, 'weight is "1,204", which is no number'],
        [4, 'enabled is "vielleicht", which is neither true nor false'],
      ],
    )
    await load(`${header}\nruhe;5,0;WAHR;a, b;100\n`, GIVEN)
    assert.deepEqual(
      [...(await db.sql`select weight, enabled, tags, depth from keyword_watch`)],
      [{ weight: 5, enabled: true, tags: ['a', 'b'], depth: 100 }],
    )
  })
})

test('the first sheet of a workbook is read, and the others are named', async () => {
  const file = await openWatchFile(join(import.meta.dirname, 'keywords.xlsx'))
  assert.match(file.told[0] ?? '', /the sheet "Keywords" is read\. Left out: "Notes"\.$/)
  const done = await importWatches(db, [file], { lacking: { project: 'zen', store: 'ios' } })
  assert.deepEqual([done.added, done.refused], [4, []])
  assert.deepEqual(await rows(), [
    'ios_store meditation United States en',
    'ios_store sleep sounds Germany de',
    'ios_store sleep sounds Austria de',
  ])
  const [first] = await db.sql`select weight, enabled from keyword_watch order by id`
  assert.deepEqual(first, { weight: 2.5, enabled: true })
  assert.equal((await db.sql`select from app_watch where app_id = '1480010017'`).count, 1)
})

describe('what a file lacks', () => {
  test('is asked for once', async () => {
    await db.sql`delete from project`
    await assert.rejects(load('Term\nyoga\n'), {
      message:
        'the file does not say some of what it needs. Give the project: --project NAME; the store: --store ' +
        'ios or --store android; the country: --country US, or several, as US,GB. the file: "Term" is ' +
        'keyword.',
    })
  })

  test('--map says what a column is, and leaves one out', async () => {
    const { added, told } = await load('What,Keyword,Country\nyoga,1,US\n', {
      lacking: { project: 'zen', store: 'ios' },
      map: ['What=keyword', 'Keyword='],
    })
    assert.equal(added, 1)
    assert.deepEqual(told.slice(0, 2), ['the file: "What" is keyword.', 'the file: left out: "Keyword".'])
    await assert.rejects(load('Term\nyoga\n', { map: ['Wat=keyword'] }), /has no column "wat", which --map/)
    await assert.rejects(load('What\nyoga\n', { map: ['What=keywrd'] }), /Did you mean keyword\?/)
  })

  test('the app of a row about a keyword is added once, and not where it is', async () => {
    await db.sql`
      insert into app_watch (project, store, app_id, label, info, location_name, language_code)
      values ('zen', 'ios_store', '1480010017', 'Ours', true, 'Japan', 'ja')`
    const { unchanged } = await load('Keyword,App ID\nyoga,1480010017\ncalm,1480010017\n', GIVEN)
    assert.equal(unchanged, 1)
    const [apps] = await db.sql`select count(*)::int as count, max(label) as label from app_watch`
    assert.deepEqual(apps, { count: 1, label: 'Ours' })
  })

  test('--replace keeps apps that a file about keywords mentions, and those that it does not', async () => {
    await db.sql`insert into app_watch (project, store, app_id) values ('zen', 'ios_store', '1001'),
      ('zen', 'ios_store', '1002')`
    await load('Keyword\nold\n', GIVEN)
    const { disabled } = await load('Keyword,App ID\nyoga,1001\n', { ...GIVEN, replace: 'zen' })
    assert.equal(disabled, 1)
    const [apps] = await db.sql`select count(*)::int as count from app_watch where enabled`
    assert.equal(apps?.count, 2)
  })
})

/** They stand beside the project. */
const FILES = resolve(import.meta.dirname, '../../../shared/data/files')

test('files of real tools come in as they are', { skip: !existsSync(FILES) && !process.env.CI }, async () => {
  for (const [name, lacking, keywords, apps] of [
    ['aso-tool-keywords.csv', { store: 'ios', country: 'US' }, 60, 0],
    ['aso-tool-terms-utf16.csv', {}, 60, 1],
    ['matrix-of-countries.csv', { store: 'App Store' }, 180, 0],
    ['plain-list.txt', { store: 'android', country: 'US,GB' }, 120, 0],
    ['spreadsheet-german.csv', {}, 360, 0],
  ] as const) {
    await db.sql`delete from keyword_watch`
    await db.sql`delete from app_watch`
    const file = await openWatchFile(join(FILES, name))
    const done = await importWatches(db, [file], { lacking: { project: 'zen', ...lacking } })
    assert.deepEqual(done.refused, [], name)
    const [counts] = await db.sql`select (select count(*)::int from keyword_watch) as keywords,
      (select count(*)::int from app_watch) as apps`
    assert.deepEqual(counts, { keywords, apps }, name)
  }
})
