/**
 * Watches, and rules and channels of alerts, as a file: brought in where it came from it changes nothing, and
 * what is wrong is refused by its line.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { Database } from '../../src/db/database.ts'
import { type Part, sql } from '../../src/db/sql.ts'
import { openWatchExport } from '../../src/watch/export.ts'
import { importWatches } from '../../src/watch/import.ts'
import { ALERTS, WATCHES, type Watch } from '../../src/watch/kinds.ts'
import { openTestDatabase } from '../support/database.ts'
import { lasting } from '../support/lasting.ts'
import { APP_WATCH, CHART_WATCH, KEYWORD_WATCH } from '../support/watchlist.ts'

const GUIDE = join(import.meta.dirname, '../../docs/alerts.md')

const source = lasting(openTestDatabase)
const target = lasting(openTestDatabase)

async function exportAll(db: Database, kinds: readonly Watch[]): Promise<string> {
  let csv = ''
  const { chunks, close } = await openWatchExport(db, kinds)
  for await (const chunk of chunks) csv += chunk
  await close()
  return csv
}

async function readAll({ sql: db }: Database, kinds: readonly Watch[]): Promise<object[]> {
  const rows = await Promise.all(
    kinds.map(
      ({ table }) =>
        db`select to_jsonb(w) - 'id' - 'created_at' as row from ${sql.identifier(table)} w order by 1`,
    ),
  )
  return rows.flat()
}

const insert = (table: string, row: Readonly<Record<string, Part>>) =>
  source.sql`insert into ${sql.identifier(table)} ${sql.row(row)}`

const count = async (db: Database, csv: string, options = {}) => {
  const { added, changed, unchanged, refused, disabled } = await importWatches(db, csv, options)
  const reasons = refused.map(({ line, reason }) => `${line}: ${reason}`)
  return { added, changed, unchanged, refused: reasons, disabled }
}
const NOTHING = { added: 0, changed: 0, unchanged: 0, refused: [], disabled: null }

/** @returns the file */
async function bringsBack(kinds: readonly Watch[], rows: number): Promise<string> {
  const csv = await exportAll(source, kinds)
  const all = await readAll(source, kinds)
  assert.equal(all.length, rows)
  assert.deepEqual(await count(source, csv), { ...NOTHING, unchanged: rows })
  assert.deepEqual(await count(target, csv), { ...NOTHING, added: rows })
  assert.deepEqual(await readAll(target, kinds), all)
  assert.equal(await exportAll(target, kinds), csv)
  assert.doesNotMatch(csv, /(^|,)"?[=+@]/m, 'no cell is a formula')
  return csv
}

describe('watches', () => {
  test('that there are none of are a header', async () => {
    assert.match(await exportAll(source, WATCHES), /^project,store,keyword,[\w,]+\n$/)
  })

  test('brought in where they came from change nothing, and elsewhere are the same', async () => {
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
    for (const fields of [...names.map((keyword) => ({ keyword })), ...odd])
      await insert('keyword_watch', { ...KEYWORD_WATCH, ...fields })
    const place = { location_code: 2840, language_code: 'en' }
    const read = { ...place, info: true, reviews: true, reviews_depth: 200 }
    await insert('app_watch', { ...APP_WATCH, label: ' + Mine ', ...read })
    await insert('app_watch', { ...APP_WATCH, app_id: '1002', role: 'competitor' })
    await insert('chart_watch', { ...CHART_WATCH, category: 'game', depth: 30 })
    await bringsBack(WATCHES, names.length + odd.length + 3)
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
    assert.deepEqual(
      tables,
      WATCHES.map(({ table }) => table),
    )
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
})

const CHANNELS = [
  {
    name: 'ops',
    kind: 'webhook',
    address: 'https://example.com/a?b=c',
    secret_variable: 'ALERT_OPS',
    max_lines: 5,
  },
  { name: '=slack', kind: 'slack', secret_variable: 'ALERT_SLACK', enabled: false, note: ' two\nlines' },
  {
    name: 'mail',
    kind: 'email',
    address: 'a@example.com, b@example.com',
    digest: 'weekly',
    hour: 0,
    report: true,
    without: ['money', 'gaps'],
  },
]
const RULES = [
  { name: 'plain', kind: 'outage' },
  {
    name: 'all of it, "quoted"',
    kind: 'rank_moved',
    store: 'ios_store',
    app_id: '1001',
    role: 'any',
    keyword: '=1+1',
    tag: 'a, b',
    direction: 'down',
    threshold: 0.1 + 2,
    threshold_11_to_30: 5,
    threshold_beyond: 20,
    compared_with: 'base',
    base: 3,
    channel: 'ops',
    severity: 'critical',
    cooldown: '36 hours',
    enabled: false,
    note: "'",
  },
  {
    name: 'best',
    kind: 'rank_moved',
    threshold: 3,
    compared_with: 'best',
    window_days: 30,
    channel: '=slack',
  },
  { name: 'plain', project: 'learning', kind: 'top_crossed', top: 10, cooldown: '7 days', channel: 'mail' },
]

describe('rules and channels of alerts', () => {
  before(async () => {
    for (const { sql: db } of [source, target])
      await db`insert into project (name) values ('fitness'), ('learning') on conflict do nothing`
  })

  test('that there are none of are a header', async () => {
    assert.match(await exportAll(source, ALERTS), /^channel,kind,address,[\w,]+\n$/)
  })

  test('brought in where they came from change nothing, and elsewhere are the same', async () => {
    for (const channel of CHANNELS) await insert('alert_channel', channel)
    for (const rule of RULES) await insert('alert_rule', { project: 'fitness', ...rule })
    const rows = CHANNELS.length + RULES.length
    const csv = await bringsBack(ALERTS, rows)
    // Rules may stand before the channels that they name.
    const [header = '', ...lines] = csv.trimEnd().split('\n')
    await target.sql`delete from alert_rule`
    await target.sql`delete from alert_channel`
    const turned = [header, lines.slice(-1), ...lines.slice(0, -1)].join('\n')
    assert.deepEqual(await count(target, turned), { ...NOTHING, added: rows })
  })

  test('a row that breaks a rule is refused alone, in a sentence', async () => {
    const csv = [
      'rule,channel,project,kind,threshold,top,cooldown,address,secret_variable',
      'good,,fitness,rank_moved,5,,,,',
      'bands,,fitness,rank_fell,5,,,,',
      'none,,fitness,rank_moved,,,,,',
      'text,,fitness,rank_moved,many,,,,',
      'far,,fitness,top_crossed,,99999,,,',
      'long,,fitness,outage,,,1 month,,',
      'whose,,fitnes,outage,,,,,',
      'where,nowhere,fitness,outage,,,,,',
      'of what,,fitness,,,,,,',
      ',pager,,pager,,,,https://example.com,ALERT_PAGER',
      ',hook,,webhook,,,,http://example.com/secret,ALERT_HOOK',
      ',hook,fitness,webhook,,,,https://example.com,ALERT_HOOK',
      ',,fitness,outage,,,,,',
      'address,,fitness,outage,,,,https://example.com,',
    ].join('\n')
    const { added, refused } = await count(target, csv)
    assert.equal(added, 1)
    const expected = [
      /^3: There is no kind of rule "rank_fell"\. It is rank_moved, /,
      /^4: A rule of the kind rank_moved needs threshold\. It counts places, /,
      /^5: threshold is "many", which is no number$/,
      /^6: top is 99999, and may be 1 to 1000\./,
      /^7: cooldown is .*, and may be 0 to 366 days/,
      /^8: There is no project "fitnes"\. Did you mean fitness\? /,
      /^9: There is no channel "nowhere"\. Insert it into alert_channel first/,
      /^10: kind is missing\. A rule is of a kind of the view alert_kind/,
      /^11: There is no kind of channel "pager"\. It is webhook, slack, teams, discord or email$/,
      /^12: The address of a "webhook" is no URL that begins with https/,
      /^13: alert_channel has no column project$/,
      /^14: it must name one of channel, rule, and one alone$/,
      /^15: alert_rule has no column address$/,
    ]
    for (const [n, pattern] of expected.entries()) assert.match(refused[n] ?? '', pattern)
    assert.equal(refused.length, expected.length)
    assert.doesNotMatch(refused.join(), /example\.com\/secret/)
  })

  test('what replaces a project disables its other rules, and no channel', async () => {
    const csv = 'rule,channel,project,kind\nplain,ops,fitness,outage\n'
    const { disabled } = await count(target, csv, { replace: 'fitness' })
    const rows = await target.sql`select name, enabled from alert_rule where project = 'fitness' order by 1`
    assert.deepEqual(
      rows.filter(({ enabled }) => enabled).map(({ name }) => name),
      ['plain'],
    )
    assert.equal(disabled, 2)
    const [channel] = await target.sql`select enabled from alert_channel where name = 'mail'`
    assert.equal(channel?.enabled, true)
  })

  test('the file in docs/alerts.md comes in as it stands', async () => {
    const [, csv = ''] = /```csv\n(.*?)```/s.exec(readFileSync(GUIDE, 'utf8')) ?? []
    const { added, changed, refused } = await count(target, csv)
    assert.deepEqual([added, changed, refused], [1, 1, []])
  })
})
