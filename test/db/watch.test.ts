/** What a person may write into the watch tables, and what the triggers make of it. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { APP_WATCH, CHART_WATCH, createWatchlist, KEYWORD_WATCH } from '../support/watchlist.ts'

const list = lasting(createWatchlist)

const ANDROID_APP = { store: 'android_store', app_id: 'com.acme.yoga' }
const PLACE = { location_code: 2840, language_code: 'en' }
const NO_PLACE = { location_code: null, location_name: null }
/**
 * A line break, an escape sequence, another control character, a line separator; an override and an isolate
 * of the direction of writing.
 */
const CONTROLS = ['a\nb', '\u001b[2Jb', 'a\u009bb', 'a\u2028b', 'a\u202eb', 'a\u2066b']

/** Rules that all tables have, each with rows that break it. */
const SHARED_RULES: Record<string, object[]> = {
  location_code_positive: [{ location_code: 0 }, { location_code: -2840 }],
  location_name_1_to_200: [
    { location_code: null, location_name: '' },
    { location_code: null, location_name: 'x'.repeat(201) },
  ],
  location_name_without_control_characters: CONTROLS.map((name) => ({
    location_code: null,
    location_name: name,
  })),
  location_country_supported: [
    { location_code: 2643 },
    { location_code: 2112 },
    ...['Russia', 'RUSSIAN FEDERATION', 'Belarus', 'Moscow,Russia', 'Minsk, Belarus '].map((name) => ({
      location_code: null,
      location_name: name,
    })),
  ],
  language_code_form: ['English', 'EN', 'e', 'en_US', 'en-', '', `en${'-aa'.repeat(5)}`].map((code) => ({
    language_code: code,
  })),
  tags_at_most_50: [{ tags: Array(51).fill('a') }],
  tags_of_1_to_100_characters: [{ tags: ['brand', ''] }, { tags: ['🧘'.repeat(101)] }, { tags: ['a', null] }],
  tags_without_control_characters: CONTROLS.map((tag) => ({ tags: ['brand', tag] })),
  note_at_most_10000_characters: [{ note: 'x'.repeat(10_001) }],
  note_without_control_characters: CONTROLS.slice(1).map((note) => ({ note })),
  priority_1_or_2: [{ priority: 0 }, { priority: 3 }],
  every_1_2_3_4_6_8_12_hours_or_1_to_31_days: [
    '0',
    '-1 day',
    '30 minutes',
    '90 minutes',
    '5 hours',
    '7 hours',
    '25 hours',
    '1 day 1 hour',
    '32 days',
    '1 month',
    '1 year',
  ].map((every) => ({ every })),
}

const KEYWORD_RULES: Record<string, object[]> = {
  ...SHARED_RULES,
  store_known: [{ store: 'windows_store' }, { store: 'IOS_STORE', depth: 5000, html: true }],
  keyword_1_to_700_as_posted: [
    { keyword: '' },
    { keyword: ' \u00a0\u200b\t' },
    { keyword: 'x'.repeat(701) },
    { keyword: '%'.repeat(234) },
    { keyword: '+'.repeat(234) },
    { keyword: '🧘'.repeat(701) },
  ],
  keyword_without_control_characters: [
    { keyword: 'yo\tga' },
    { keyword: 'yo\u0007ga' },
    { keyword: 'yo\u007fga' },
    ...CONTROLS.map((keyword) => ({ keyword })),
  ],
  at_most_one_location: [{ location_code: 2840, location_name: 'United States' }],
  location_name_missing: [NO_PLACE],
  depth_1_to_maximum_of_function: [{ depth: 0 }, { depth: 701 }, { store: 'android_store', depth: 201 }],
  html_only_of_android_store: [{ html: true }],
  volume_0_to_1000000000: [{ volume: -1 }, { volume: 1_000_000_001 }],
  weight_0_to_1000000: [{ weight: -0.5 }, { weight: 1_000_001 }, { weight: 'NaN' }, { weight: 'Infinity' }],
}

const APP_RULES: Record<string, object[]> = {
  ...SHARED_RULES,
  store_known: [
    { ...ANDROID_APP, store: 'windows_store' },
    // The id of an app is right in one of the stores: it is the store that is wrong.
    { store: 'ios', reviews_depth: 5000, html: true },
  ],
  app_id_form_by_store: [
    ...['12', '0123456', 'com.acme.yoga', '12345678901234567890', ''].map((appId) => ({ app_id: appId })),
    ...['yoga', '1001', '9com.acme', 'com..acme', 'com.acme.', 'com.acme-yoga', `com.${'x'.repeat(252)}`].map(
      (appId) => ({ store: 'android_store', app_id: appId }),
    ),
  ],
  label_1_to_200: [{ label: '' }, { label: 'x'.repeat(201) }],
  label_without_control_characters: CONTROLS.map((label) => ({ label })),
  role_own_or_competitor: [{ role: 'rival' }],
  at_most_one_location: [{ location_code: 2840, location_name: 'United States' }],
  info_needs_location_and_language: [
    { info: true },
    { info: true, location_code: 2840 },
    { info: true, language_code: 'en' },
  ],
  html_only_with_info_or_reviews_of_android_store: [
    { html: true, info: true, ...PLACE },
    { ...ANDROID_APP, html: true, ...PLACE },
  ],
  reviews_need_location_and_language: [
    { reviews: true },
    { reviews: true, location_code: 2840 },
    { reviews: true, language_code: 'en' },
  ],
  reviews_depth_1_to_maximum: [
    { reviews_depth: 0 },
    { reviews_depth: 501 },
    { ...ANDROID_APP, reviews_depth: 10_001 },
  ],
}

const IOS_CHART = { store: 'ios_store', collection: 'top_free_ios' }

const CHART_RULES: Record<string, object[]> = {
  ...SHARED_RULES,
  store_known: [{ store: 'windows_store', depth: 5000, age_rating: 'ages_6_8' }],
  collection_1_to_255_characters: ['', ' ', 'x'.repeat(256)].map((collection) => ({ collection })),
  collection_without_control_characters: CONTROLS.map((collection) => ({ collection })),
  category_without_control_characters: CONTROLS.map((category) => ({ category })),
  category_1_to_255_characters: ['', ' ', 'x'.repeat(256)].map((category) => ({ category })),
  at_most_one_location: [{ location_code: 2840, location_name: 'United States' }],
  location_name_missing: [NO_PLACE],
  age_rating_known: [{ category: 'family', age_rating: 'ages_0' }],
  age_rating_only_of_family_of_android_store: [
    { age_rating: 'ages_6_8' },
    { age_rating: 'ages_6_8', category: 'game' },
    { ...IOS_CHART, age_rating: 'ages_6_8', category: 'family' },
  ],
  depth_1_to_maximum_of_chart: [{ depth: 0 }, { depth: 201 }, { ...IOS_CHART, depth: 1001 }],
  html_only_of_android_store: [{ ...IOS_CHART, html: true }],
}

const RULES = [
  { table: 'keyword_watch', valid: KEYWORD_WATCH, rules: KEYWORD_RULES },
  { table: 'app_watch', valid: APP_WATCH, rules: APP_RULES },
  { table: 'chart_watch', valid: CHART_WATCH, rules: CHART_RULES },
]

describe('the rules of a watch', () => {
  for (const { table, valid, rules } of RULES) {
    for (const [rule, rows] of Object.entries(rules)) {
      test(`${table} refuses under the name ${rule}`, async () => {
        for (const row of rows) {
          await assert.rejects(
            list.sql`insert into ${list.sql(table)} ${list.sql({ ...valid, ...row })}`,
            { code: rule.endsWith('_missing') ? '23502' : '23514', constraint_name: `${table}_${rule}` },
            JSON.stringify(row).slice(0, 80),
          )
        }
      })
    }

    test(`every rule of ${table} is among those`, async () => {
      const checks = await list.sql<{ name: string }[]>`
        select conname as name from pg_constraint where conrelid = ${table}::regclass and contype = 'c'`
      assert.deepEqual(
        checks.map(({ name }) => name).sort(),
        Object.keys(rules)
          .map((rule) => `${table}_${rule}`)
          .sort(),
      )
    })
  }

  test('a project has a name, a known time zone and a budget that is a number, not negative', async () => {
    const timezones = [
      'Mars/Olympus',
      '',
      'UTC+2',
      '+02:00',
      'PST8PDTX',
      'Europe/Berlin+1',
      'Etc/GMT+15',
      'CET',
      'PST',
    ]
    const refused = {
      project_name_1_to_100_characters: [{ name: '' }, { name: ' ' }, { name: 'x'.repeat(101) }],
      project_name_without_control_characters: CONTROLS.map((name) => ({ name })),
      project_timezone_known: timezones.map((timezone) => ({ name: 'a', timezone })),
      project_daily_usd_0_to_99999999: ['NaN', -1, 'Infinity', 1e8].map((amount) => ({
        name: 'a',
        daily_usd: amount,
      })),
      project_monthly_usd_0_to_99999999: ['NaN', '-0.01', 1e30].map((amount) => ({
        name: 'a',
        monthly_usd: amount,
      })),
    }
    for (const [rule, rows] of Object.entries(refused)) {
      for (const row of rows) {
        const insert = list.sql`insert into project ${list.sql(row)}`
        await assert.rejects(insert, { constraint_name: rule }, JSON.stringify(row))
      }
    }
  })
})

describe('a watch that is written', () => {
  beforeEach(() => list.clear())

  test('one line is enough: the defaults and the project are made', async () => {
    await list.sql`insert into keyword_watch (project, store, keyword, location_code, language_code)
      values ('fitness', 'ios_store', 'yoga', 2840, 'en'), ('fitness', 'android_store', 'yoga', 2840, 'en')`
    const columns = 'store, depth, every, priority, enabled, tags, location_name'
    assert.deepEqual(await list.ask(columns, 'keyword_watch'), [
      'android_store 30 1 day 1 t {}',
      'ios_store 100 1 day 1 t {}',
    ])
    assert.deepEqual(await list.ask('name, timezone, enabled', 'project'), ['fitness UTC t'])
  })

  test('reviews of both stores are followed, at the depth of each', async () => {
    await list.addApp({ ...PLACE, reviews: true })
    await list.addApp({ ...ANDROID_APP, ...PLACE, reviews: true, html: true })
    await list.addApp({
      ...ANDROID_APP,
      ...PLACE,
      app_id: 'com.acme.deep',
      reviews: true,
      reviews_depth: 10_000,
    })
    const parts = await list.ask(
      't.store, t.function, p.depth, p.html',
      'watch_period p join target t on t.id = p.target_id',
    )
    assert.deepEqual(parts, [
      'android_store app_reviews 10000 f',
      'android_store app_reviews 150 t',
      'ios_store app_reviews 50 f',
    ])
  })

  test('the same row twice is refused, also when a location differs only in case', async () => {
    await list.addKeyword()
    await assert.rejects(list.addKeyword(), { constraint_name: 'keyword_watch_same_row_twice' })
    await list.addKeyword({ location_code: null, location_name: 'United States' })
    await assert.rejects(list.addKeyword({ location_code: null, location_name: 'united states' }), {
      constraint_name: 'keyword_watch_same_row_twice',
    })
    await list.addApp()
    await assert.rejects(list.addApp(), { constraint_name: 'app_watch_same_row_twice' })
    await list.addApp({ project: 'another' })
    await list.addKeyword({ keyword: 'Yoga' })
    await list.addChart()
    await assert.rejects(list.addChart(), { constraint_name: 'chart_watch_same_row_twice' })
    await list.addChart({ category: 'game' })
    await list.addChart({ category: 'family' })
    await list.addChart({ category: 'family', age_rating: 'ages_6_8' })
  })

  test('a chart without a store is of the android_store; those of both are taken by name', async () => {
    await list.sql`insert into chart_watch (project, collection, location_code, language_code)
      select 'fitness', unnest(chart_collections('android_store')), 2840, 'en'`
    await list.sql`insert into chart_watch (project, store, collection, category, depth, location_code,
      language_code)
      select 'fitness', 'ios_store', unnest(chart_collections('ios_store')), 'games', 1000, 2840, 'en'`
    const charts =
      "watch_period p join target t on t.id = p.target_id where p.kind = 'chart' group by t.store"
    const counts = await list.ask('t.store, count(*), max(p.depth)', charts)
    assert.deepEqual(counts, ['android_store 7 100', 'ios_store 6 1000'])
  })

  test('charts that a store has not are refused, and one that is there may still be edited', async () => {
    const refused: [{ collection: string; category?: string }, RegExp][] = [
      [
        { collection: 'top_free_ios' },
        /^android_store has no chart called "top_free_ios"\. It is one of the ios_store: write store = 'ios_/,
      ],
      [
        { collection: 'topselling_fre' },
        /Did you mean "topselling_free"\? Its charts are topselling_free, topselling_paid, /,
      ],
      [
        { collection: 'featured', category: 'game' },
        /^The chart featured has no categories, and category is "game"\. Leave it out\.$/,
      ],
    ]
    for (const [row, message] of refused) {
      await assert.rejects(list.addChart(row), { constraint_name: 'chart_watch_collection_known', message })
    }
    await list.sql`alter table chart_watch disable trigger b_known_of_inserted`
    const id = await list.addChart({ collection: 'topselling_gone' })
    await list.sql`alter table chart_watch enable trigger b_known_of_inserted`
    const [problem] = await list.sql`select problem, message from watch_problem where watch_id = ${id}`
    assert.equal(problem?.problem, 'collection_unknown')
    await list.sql`update chart_watch set depth = 50, enabled = false where id = ${id}`
    await assert.rejects(
      list.sql`update chart_watch set collection = 'x' where id = ${id}`,
      /has no chart called "x"/,
    )
  })

  test('of places that a store has not no more are looked up than are told of', async () => {
    await list.sql`insert into location (store, code, name) values ('ios_store', 2840, 'United States')`
    const insert = `insert into keyword_watch (project, store, keyword, location_name, language_code)
      select 'fitness', 'ios_store', 'yoga', 'Nowhere ' || n, 'en' from generate_series(11, 40) n`
    const move = "update keyword_watch set location_code = null, location_name = 'Nowhere ' || id + 10"
    await list.sql`insert into keyword_watch (project, store, keyword, location_code, language_code)
      select 'fitness', 'ios_store', 'zen ' || n, 2840, 'en' from generate_series(1, 30) n`
    for (const statement of [insert, move]) {
      await list.sql.unsafe(`begin; create sequence looked_up;
        create or replace function nearest_location(in_store text, meant text) returns text
          language sql stable parallel safe return 'looked up ' || nextval('looked_up');
        savepoint before`)
      await assert.rejects(list.sql.unsafe(statement), {
        constraint_name: 'keyword_watch_location_known',
        message: /^ios_store has no location called "Nowhere \d+"/,
        detail: /^Nothing of .* Also:( ios_store has no location called "Nowhere \d+"[^;]*;[^;.]*\.){4}$/,
      })
      await list.sql`rollback to before`
      const [row] = await list.sql`select last_value from looked_up`
      await list.sql`rollback`
      assert.equal(row?.last_value, 5)
    }
  })

  test('keywords of 700 characters of any script are watched as they are', async () => {
    const keywords = [
      '🧘'.repeat(700),
      '日'.repeat(700),
      'naïve',
      'c++',
      '100% free',
      `${'%'.repeat(233)}x`,
      "o'brien \\ {x}",
    ]
    for (const keyword of keywords) await list.addKeyword({ keyword })
    const targets = await list.sql<{ subject: string }[]>`select subject from target order by id`
    assert.deepEqual(
      targets.map(({ subject }) => subject),
      keywords,
    )
  })

  test('every allowed interval is taken', async () => {
    const hours = [1, 2, 3, 4, 6, 8, 12, 24].map((n) => `${n} hours`)
    const days = Array.from({ length: 31 }, (_, n) => `${n + 1} days`)
    for (const [n, every] of [...hours, ...days].entries())
      await list.addKeyword({ keyword: `yoga ${n}`, every })
  })

  test('app ids of both stores are taken in all their forms', async () => {
    for (const appId of ['284882215', '1234567890123456789']) await list.addApp({ app_id: appId })
    for (const appId of ['com.acme', 'Com.Acme_2.x', `com.${'x'.repeat(251)}`]) {
      await list.addApp({ store: 'android_store', app_id: appId })
    }
  })

  test('a country whose name only begins like an unsupported one is taken', async () => {
    await list.addKeyword({ location_code: null, location_name: 'Russiaville,Indiana,United States' })
  })

  test('the time zones of projects are those of the server', async () => {
    const zones = [
      ...['UTC', 'GMT', 'Japan', 'EST5EDT', 'Etc/GMT-14'],
      ...['America/Port-au-Prince', 'America/Argentina/Buenos_Aires'],
    ]
    await list.sql`
      insert into project (name, timezone) select zone, zone from unnest(${zones}::text[]) zone`
    const refused = await list.sql`
      select name from pg_timezone_names where name ~ '^[A-Z].*/' and name !~ '[0-9]'
        and not is_timezone(name)`
    assert.deepEqual([...refused], [])
  })

  test('tags and notes are taken up to their bounds, in all scripts', async () => {
    const tags = Array.from({ length: 50 }, (_, n) => `${n}`.padStart(100, '🧘'))
    const note = `${'\t\u05d0 \ud83d\udc68\u200d\ud83d\udc69\r\n'}${'x'.repeat(9_992)}`
    for (const each of [tags, []]) await list.addKeyword({ keyword: `yoga ${each.length}`, tags: each, note })
    assert.equal(
      (await list.sql`select from keyword_watch where note = ${note} and cardinality(tags) in (0, 50)`).count,
      2,
    )
  })
})
