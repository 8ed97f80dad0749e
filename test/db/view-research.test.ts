/** What people ask to decide what to follow and what to change, each by one function of a project. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const list = lasting(createWatchlist)
const day = (n: number) => `2026-03-${String(n).padStart(2, '0')}`
const range = (from: number, to: number) => `'fitness', '${day(from)}', '${day(to)}'`

const ask: typeof list.ask = (columns, from) => list.ask(columns, from)

/** Each keyword has the same apps on all of these days. */
async function fill(days: readonly number[], ranks: Readonly<Record<string, readonly string[]>>) {
  for (const n of days) {
    await list.setNow(`${day(n)} 06:00+00`)
    for (const [keyword, apps] of Object.entries(ranks))
      await list.capture(keyword, `${day(n)} 00:00+00`, [...apps])
  }
}

/** The page of an app on a day. */
async function show(appId: string, n: number, page: Record<string, unknown>): Promise<void> {
  const { title, description = null, languages = null, subtitle = null, rating = 4 } = page
  const hash = Buffer.from(`${appId}${n}${title}`)
  const details = { subtitle, ...(languages === null ? {} : { languages }) }
  await list.sql`insert into listing (hash, title, description, details)
    values (${hash}, ${title as string}, ${description as string}, ${list.sql.json(details as never)})`
  await list.describeApp(appId, `${day(n)} 00:00+00`, { listing_hash: hash, rating })
}

beforeEach(async () => {
  await list.clear()
  await list.setNow(`${day(1)} 01:00+00`)
})
const PAGE = { info: true, location_code: 2840, language_code: 'en' }
const OTHERS = (n: number, from = 0) => Array.from({ length: n }, (_, i) => String(2020 + from + i))

describe('a project asks', () => {
  test('which keywords the store answers alike: the heaviest takes those near it, no chain', async () => {
    for (const [keyword, weight] of [
      ['yoga', 5],
      ['yoga flow', 3],
      ['yoga class', 2],
      ['chess', 9],
    ] as const)
      await list.addKeyword({ keyword, weight, tags: keyword === 'chess' ? [] : ['brand'] })
    await list.addApp()
    await list.addKeyword({ keyword: 'yoga', location_code: 2276, weight: 9 })
    // Of four: yoga and flow have three in common, flow and class three, yoga and class two.
    await fill([2], {
      chess: ['71', '72', '73', '74'],
      'yoga flow': ['2', '3', '4', '1001'],
      'yoga class': ['3', '4', '1001', '6'],
    })
    await list.sql`insert into ranking (target_id, slot, captured_at, depth, app_ids)
      select t.id, ${`${day(2)} 00:00+00`}, ${`${day(2)} 00:00+00`}, 100, array(
        select a.id from unnest('{8,2,3,4}'::text[]) with ordinality u (app_id, n)
        cross join lateral (
          select coalesce((select a.id from app a where a.app_id = u.app_id), 999) as id
        ) a
        order by u.n)
      from target t where t.subject = 'yoga'`
    const columns = 'cluster, keyword, location_code, common, is_head, cluster_keywords, own_rank'
    assert.deepEqual(await ask(columns, `clusters(${range(1, 3)}, 4, 3)`), [
      'chess chess 2840 4 t 1',
      'yoga class yoga class 2840 4 t 1 3',
      'yoga yoga 2276 4 t 1',
      'yoga yoga 2840 4 t 2',
      'yoga yoga flow 2840 3 f 2 4',
    ])
    assert.deepEqual(await ask('keyword', `clusters(${range(1, 3)}, 4, 2, 'brand') where cluster = 'yoga'`), [
      'yoga',
      'yoga class',
      'yoga flow',
    ])
  })

  test('on which keywords two own apps stand in the top, and how often they changed places', async () => {
    await list.addKeyword({})
    await list.addKeyword({ keyword: 'zen' })
    for (const app_id of ['1001', '1002']) await list.addApp({ app_id, label: `App ${app_id}` })
    await list.addApp({ app_id: '1003', role: 'competitor' })
    await fill([2], { yoga: ['1001', '1003', '1002'], zen: ['1001', '1003'] })
    await fill([3], { yoga: ['1002', '1003', '1001'], zen: ['1001', ...OTHERS(20), '1002'] })
    await fill([4], { yoga: ['1002', '1003'], zen: ['1001'] })
    const columns = 'keyword, label, rank, other_label, other_rank, day, days_both, days_measured, turns'
    assert.deepEqual(await ask(columns, `cannibalization(${range(2, 4)})`), [
      'yoga App 1002 1 App 1001 3 2026-03-03 2 3 1',
    ])
    assert.deepEqual(await ask(columns, `cannibalization(${range(2, 4)}, 22) where keyword = 'zen'`), [
      'zen App 1001 1 App 1002 22 2026-03-03 1 3 0',
    ])
  })

  test('which words of the listing of that time ranked, by field, also in undivided text', async () => {
    await list.addKeyword({ keyword: 'yoga flow' })
    await list.addKeyword({ keyword: 'ヨガ' })
    await list.addKeyword({ keyword: 'c++' })
    await list.addApp(PAGE)
    await show('1001', 2, { title: 'Yoga, daily', description: 'The FLOW of c++.', subtitle: '毎日のヨガ' })
    await show('1001', 4, { title: 'Yoga & Flow', description: 'Flowing c.' })
    await fill([2, 3], { 'yoga flow': ['9', '1001'], ヨガ: ['1001'], 'c++': ['9'] })
    await fill([4, 5], { 'yoga flow': ['1001'], ヨガ: ['9'], 'c++': ['9'] })
    const columns = `keyword, field, array_to_string(found, '+'), is_whole, first_day, last_day, middle_rank,
      days_ranked || '/' || days_measured`
    assert.deepEqual(await ask(columns, `coverage_of_titles(${range(2, 5)}) where found <> '{}'`), [
      'c++ description c++ t 2026-03-02 2026-03-03 0/2',
      'yoga flow description flow f 2026-03-02 2026-03-03 2 2/2',
      'yoga flow title yoga f 2026-03-02 2026-03-03 2 2/2',
      'yoga flow title yoga+flow t 2026-03-04 2026-03-05 1 2/2',
      'ヨガ subtitle ヨガ t 2026-03-02 2026-03-03 1 2/2',
    ])
    // As a reader, who sees no table of pages.
    await list.sql.begin(async (tx) => {
      await tx`set local role storerank_reader`
      const rows = await tx`select title from app_listing where project = 'fitness' order by slot`
      assert.deepEqual([...rows], [{ title: 'Yoga, daily' }, { title: 'Yoga & Flow' }])
    })
  })

  test('in which languages and places competitors are, and it is not', async () => {
    await list.addKeyword({})
    await list.addKeyword({ keyword: 'schach', language_code: 'de', location_code: 2276 })
    await list.addKeyword({ keyword: 'échecs', language_code: 'fr', location_code: 2250 })
    await list.addApp({ ...PAGE, label: 'Mine' })
    await list.addApp({ ...PAGE, app_id: '1003', role: 'competitor', label: 'Theirs' })
    await show('1001', 2, { title: 'Mine', languages: ['EN', 'fr'] })
    await show('1003', 2, { title: 'Theirs', languages: ['en', 'de-DE', 'ja', 'fr'] })
    await fill([2], { yoga: ['1001', '1003'], schach: ['9', '1003'], échecs: ['9'] })
    const columns =
      "coalesce(location, '-'), language, gap, array_to_string(competitors, '+'), keywords, missed"
    assert.deepEqual(await ask(columns, `localization_gaps(${range(1, 3)})`), [
      '- de not_in_listing Theirs 1 1',
      '- ja not_in_listing Theirs 0 0',
      '2276 de not_ranked Theirs 1 1',
    ])
    assert.deepEqual(await ask(columns, `localization_gaps(${range(1, 3)}, in_location => '2276')`), [
      '2276 de not_ranked Theirs 1 1',
    ])
    await list.sql`update keyword_watch set enabled = false where keyword = 'échecs'`
    await list.sql`delete from ranking where target_id in (select id from target where subject = 'échecs')`
    assert.deepEqual(await ask('language, gap', `localization_gaps(${range(1, 3)}) where language = 'fr'`), [
      'fr not_followed',
    ])
  })
})

describe('a day is explained', () => {
  /** Ours, and 20 others, which change places two by two every day: on average they move by 20/21 places. */
  const even = ['1001', ...OTHERS(20)]
  const odd = ['1001', ...OTHERS(20).map((_, n) => String(2020 + (n ^ 1)))]
  const mean = (before: readonly string[], after: readonly string[]) =>
    before.reduce((sum, app, n) => sum + Math.abs(after.indexOf(app) - n), 0) / before.length

  test('by how far everybody moved: the store, or only ours', async () => {
    for (const keyword of ['yoga', 'zen', 'calm']) await list.addKeyword({ keyword, tags: [keyword] })
    await list.addApp()
    await list.addApp({ app_id: '2020', role: 'competitor' })
    const all = (apps: readonly string[]) => ({ yoga: apps, zen: apps, calm: apps })
    for (const n of [2, 4, 6]) await fill([n], all(even))
    for (const n of [3, 5, 7]) await fill([n], all(odd))
    const fallen = [...OTHERS(5), '1001', ...OTHERS(15, 5)]
    const shuffled = [...fallen.slice(7), ...fallen.slice(0, 7)]
    await fill([8], all(fallen))
    await fill([9], all(shuffled))
    const columns = 'day, compared, moved, usual, own_change, competitors_change, verdict'
    const from = (more = '') => `market_moves(${range(6, 9)}${more})`
    const usual = mean(even, odd).toFixed(2)
    assert.deepEqual(await ask(columns, from()), [
      `2026-03-06 3 ${usual} ${usual} 0.00 1.00 nobody`,
      `2026-03-07 3 ${usual} ${usual} 0.00 -1.00 nobody`,
      `2026-03-08 3 ${mean(odd, fallen).toFixed(2)} ${usual} -5.00 2.00 own`,
      `2026-03-09 3 ${mean(fallen, shuffled).toFixed(2)} ${usual} -14.00 -14.00 everybody`,
    ])
    assert.deepEqual(await ask('compared', `${from(", 'zen'")} where day = '2026-03-08'`), ['1'])
    // A day of which two of three lists are missing tells nothing, and the days beside it are not compared.
    await list.sql`update ranking set gap = 'budget', app_ids = null, captured_at = null, depth = null
      where slot = ${`${day(8)} 00:00+00`} and target_id in (select id from target where subject <> 'zen')`
    assert.deepEqual(await ask('day, due, compared, verdict', `${from()} where day > '2026-03-07'`), [
      '2026-03-08 3 1',
      '2026-03-09 3 1',
    ])
  })

  test('by the week before and after: keywords with the new word, the old one, and others', async () => {
    for (const keyword of ['yoga', 'pilates', 'zen']) await list.addKeyword({ keyword })
    await list.addApp({ ...PAGE, label: 'Mine' })
    await list.addApp({ app_id: '2020', role: 'competitor' })
    await show('1001', 2, { title: 'Mine: Zen yoga', rating: 4.5 })
    await fill([2, 3], { yoga: ['2020', '1001'], pilates: [...OTHERS(9), '1001'], zen: ['1001', '2020'] })
    await fill([4], { yoga: ['1001', '2020'], pilates: ['2020', '1001'], zen: ['2020', '2021'] })
    await show('1001', 4, { title: 'Mine: Pilates & yoga', rating: 4 })
    await fill([5], { yoga: ['2020', '1001'], pilates: ['2020', '1001'], zen: ['2020', '2021'] })
    const columns = `lists, array_to_string(words, '+'), compared, rank_before::float8, rank_after::float8,
      change::float8, top_before, top_after, competitors_change::float8, moved::float8,
      round(everybody_moved, 2)`
    const from = (more = '') => `impact('fitness', '${day(4)}', '1001', 2${more})`
    // Before: yoga 2, pilates 10, zen 1. After, by the middle of two days: 1, 2 and none, which is 101. The
    // competitor goes from 1 to 1, from 1 to 1 and from 2 to 1. Ends are the 3rd and the 5th.
    assert.deepEqual(await ask(columns, from()), [
      'added pilates 1 10 2 8 1 1 0 8 4.00',
      'all 3 4.333333333333333 34.666666666666664 -30.333333333333332 3 2 0.3333333333333333 36 1.67',
      'others 1 2 1 1 1 1 0 0 0.00',
      'removed zen 1 1 101 -100 1 0 1 100 1.00',
    ])
    assert.deepEqual(await ask('lists', from(", '{yoga}'")), ['added', 'all', 'others', 'removed'])
    assert.deepEqual(await ask('rating_before, rating_after', `${from()} where lists = 'all'`), ['4.5 4'])
  })

  test('as the best, the worst or the greatest move, where four fifths were measured', async () => {
    await list.addKeyword({})
    await list.addKeyword({ keyword: 'zen' })
    await list.addApp()
    await fill([2, 3], { yoga: ['1001'], zen: ['1001'] })
    await fill([4], { yoga: ['2', '1001'], zen: ['2', '1001'] })
    await fill([5], { yoga: ['9'] })
    await list.leaveGap('zen', `${day(5)} 00:00+00`, 'budget')
    const columns = 'best_day, best::float8, worst_day, worst::float8, moved_most_on, moved_by::float8'
    assert.deepEqual(await ask(columns, `extreme_days(${range(2, 5)})`), [
      '2026-03-02 100 2026-03-04 50 2026-03-04 -50',
    ])
  })
})
