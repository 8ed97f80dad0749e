/** What people ask of ranks every week, each by one function of a project and a range of its days. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const DAYS = 4
const day = (n: number) => `2026-03-${String(9 + n).padStart(2, '0')}`
const FIRST = day(1)
const LAST = day(DAYS)

const list = lasting(createWatchlist)
before(async () => {
  await list.setNow(`${FIRST} 01:00+00`)
  await list.addApp({ label: 'Mine' })
  await list.addApp({ app_id: '1002', role: 'competitor', label: 'Theirs' })
  await list.addKeyword({ tags: ['brand'] })
  await list.addKeyword({ keyword: 'zen' })
  await list.addKeyword({ keyword: 'calm' })
  await list.setNow(`${LAST} 13:00+00`)
  await fill('yoga', [['1001', '7', '1002'], null, ['1002', '1001', '7'], ['8', '1001', '1002']])
  await fill('zen', [['7'], ['7', '1002'], ['7', '8', '9', '1001'], ['7', '8', '9', '6', '1001']])
  await fill('calm', [['1002', '1001'], ['1002', '5', '1001'], ['5', '7'], null])
})

/** Null is a gap. */
async function fill(keyword: string, results: (string[] | null)[]): Promise<void> {
  for (const [n, result] of results.entries()) {
    const slot = `${day(n + 1)} 00:00+00`
    if (result === null) await list.leaveGap(keyword, slot, 'budget', 'project_budget')
    else await list.capture(keyword, slot, result)
  }
}

const ask: typeof list.ask = (columns, from) => list.ask(columns, from)

const range = (from = FIRST, to = LAST) => `'fitness', '${from}', '${to}'`

describe('a project asks', () => {
  test('what moved between two days; a gap is no move', async () => {
    assert.deepEqual(
      await ask('keyword, app_id, movement, rank_before, rank_after, change', `movers(${range()})`),
      [
        'calm 1001 2',
        'calm 1002 1',
        'yoga 1001 down 1 2 -1',
        'yoga 1002 same 3 3 0',
        'zen 1001 entered 5 96',
        'zen 1002 not_in_top',
      ],
    )
    assert.deepEqual(
      await ask('keyword, app_id, movement', `movers(${range(FIRST, day(3))}) where movement = 'left'`),
      ['calm 1001 left', 'calm 1002 left'],
    )
  })

  test('what entered and left the top', async () => {
    const top = (n: number) => ask('keyword, app_id, movement', `entered_left_top(${range()}, ${n})`)
    assert.deepEqual(await top(10), ['zen 1001 entered'])
    assert.deepEqual(await top(4), [])
    assert.deepEqual(await top(1), ['yoga 1001 left'])
    const taken = "keyword, movement, array_to_string(instead, ',')"
    assert.deepEqual(await ask(taken, `entered_left_top(${range()}, 1)`), ['yoga left 8'])
    assert.deepEqual(await ask(taken, `entered_left_top('fitness', '${LAST}', '${FIRST}', 1)`), [
      'yoga entered 8',
    ])
  })

  test('for the best, first, average and latest rank, of the whole or by week', async () => {
    const columns = `keyword, best_rank, to_char(best_day, 'DD'), first_rank,
      coalesce(latest_rank::text, latest_outcome),
      to_char(latest_day, 'DD'), round(average_rank, 2), change, days_ranked, days_measured, days_due`
    assert.deepEqual(
      await ask(
        'keyword, average_rank',
        `rank_summary(${range()}) where app_id = '1001' and days_due > days_measured`,
      ),
      ['calm', 'yoga'],
    )
    assert.deepEqual(
      await ask(columns, `rank_summary(${range()}, in_enough => 0.75) where app_id = '1001'`),
      ['calm 2 10 2 not_in_top 12 2.50 2 3 4', 'yoga 1 10 1 2 13 1.67 -1 3 3 4', 'zen 4 12 5 13 4.50 2 4 4'],
    )
    assert.deepEqual(
      await ask(
        'begins, first_rank, latest_rank, change',
        `rank_summary(${range('2026-03-01')}, 'week') where app_id = '1001' and keyword = 'yoga'`,
      ),
      ['2026-03-09 1 2 -1'],
    )
  })

  test('what is in striking distance, and which way it goes', async () => {
    assert.deepEqual(await ask('keyword, app_id, rank, direction', `striking_distance(${range()})`), [
      'zen 1001 5 up',
    ])
    assert.deepEqual(await ask('keyword, app_id, rank, direction', `striking_distance(${range()}, 2, 3)`), [
      'yoga 1001 2 down',
      'yoga 1002 3 steady',
    ])
  })

  test('where a product stands in both stores, by one label', async () => {
    const both = { project: 'both', keyword: 'zen' }
    await list.addApp({ project: 'both', label: 'Mine' })
    await list.addApp({ project: 'both', app_id: '1002', role: 'competitor', label: 'Theirs' })
    await list.addApp({ project: 'both', store: 'android_store', app_id: 'com.mine', label: 'Mine' })
    await list.addKeyword(both)
    await list.addKeyword({ ...both, store: 'android_store', tags: ['late'] })
    await list.sql`
      insert into ranking (target_id, slot, captured_at, depth, app_ids)
      select t.id, ${LAST}::timestamptz, ${LAST}::timestamptz, 30, array[0, a.id]
      from target t, app a where t.store = 'android_store' and t.subject = 'zen' and a.app_id = 'com.mine'`
    const columns = 'product, keyword, ios_rank, android_rank, ahead, distance'
    const days = `'both', '${LAST}', '${LAST}'`
    assert.deepEqual(await ask(columns, `product_ranks(${days})`), ['Mine zen 5 2 android_store 3'])
    assert.deepEqual(await ask(columns, `product_ranks(${days}, 'other')`), [])
  })

  test("who holds a keyword's top, and who is new there", async () => {
    assert.deepEqual(
      await ask('rank, app_id, role, is_new', `top_holders(${range()}, 2) where keyword = 'yoga'`),
      ['1 8 t', '2 1001 own f'],
    )
    assert.deepEqual(
      await ask('rank, app_id, is_new, day', `top_holders(${range()}, 2) where keyword = 'calm'`),
      ['1 5 t 2026-03-12', '2 7 t 2026-03-12'],
    )
  })

  test('which apps nobody watches and hold most of the top 10', async () => {
    assert.deepEqual(
      await ask(
        'lists, app_id, lists_measured, lists_before, best_rank, array_to_string(keywords, $$,$$)',
        `unwatched_apps(${range()}) where lists > 1`,
      ),
      ['2 7 3 1 1 zen,calm', '2 8 3 0 1 yoga,zen'],
    )
    assert.deepEqual(await ask('lists, app_id, lists_measured', `unwatched_apps(${range()}, 10, 'brand')`), [
      '1 8 1',
    ])
  })

  test('how own apps stand against each competitor, and who overtook whom on which day', async () => {
    assert.deepEqual(
      await ask(
        'keyword, own_label, own_rank, competitor_label, competitor_rank, leader, days_ahead, ' +
          'days_behind, overtakes, last_overtake',
        `head_to_head(${range()})`,
      ),
      [
        'calm Mine Theirs 0 2 0',
        'yoga Mine 2 Theirs 3 own 2 1 2 2026-03-13',
        'zen Mine 5 Theirs own 2 1 1 2026-03-12',
      ],
    )
    assert.deepEqual(
      await ask('day, keyword, overtaken_by, own_rank, competitor_rank, day_before', `overtakes(${range()})`),
      [
        '2026-03-12 yoga competitor 2 1 2026-03-10',
        '2026-03-12 zen own 4 2026-03-11',
        '2026-03-13 yoga own 2 3 2026-03-12',
      ],
    )
  })

  test('why something was not measured, and how much was', async () => {
    assert.deepEqual(
      await ask('day, gap, reason, slots, array_to_string(examples, $$,$$)', `gap_reasons(${range()})`),
      ['2026-03-11 budget project_budget 1 yoga', '2026-03-13 budget project_budget 1 calm'],
    )
    assert.deepEqual(
      await ask('day, owed, captured, budget, captured_share', `coverage(${range()}, 'brand')`),
      ['2026-03-10 1 1 0 1', '2026-03-11 1 0 1 0', '2026-03-12 1 1 0 1', '2026-03-13 1 1 0 1'],
    )
  })

  test('all of it per tag, which every rank has as an array', async () => {
    assert.deepEqual(await ask('keyword, app_id', `movers(${range()}) where 'brand' = any(tags)`), [
      'yoga 1001',
      'yoga 1002',
    ])
    for (const view of [
      'rank_history',
      'rank_latest',
      'rank_change',
      'ranked_apps',
      'ranking_slot',
      'project_list',
    ])
      assert.deepEqual(
        [view, await ask('keyword', `${view} where 'brand' = any(tags) group by keyword`)],
        [view, ['yoga']],
      )
  })

  test('by week: each keyword once, by its middle rank over the days that were measured', async () => {
    const columns = 'day, app_id, top_1, top_2_3, top_4_10, beyond, not_measured'
    // Of yoga 1, 2, 2 and 3, 1, 3; of zen none, none, 4, 5 and none, 2, none, none; of calm 2, 3, none and
    // 1, 1, none. All days are of the week that begins on the 9th.
    assert.deepEqual(await ask(columns, `rank_distribution(${range()}, in_unit => 'week')`), [
      '2026-03-09 1001 0 2 1 0 0',
      '2026-03-09 1002 1 1 0 1 0',
    ])
  })

  test('the average rank like for like, where what fell out counts as the first rank beyond', async () => {
    const columns = 'app_id, compared, round(average_rank_before, 2), round(average_rank_after, 2)'
    // From the 10th to the 12th all three are measured. Of 1001 yoga 1 → 2, zen none (101) → 4, calm
    // 2 → not; of 1002 yoga 3 → 1, calm 1 → not, zen on neither day.
    assert.deepEqual(await ask(columns, `visibility_change(${range(FIRST, day(3))}) where app > 0`), [
      '1001 3 34.67 35.67',
      '1002 3 2.00 51.00',
    ])
  })

  test('by tag and by location, of every function of a range that has them', async () => {
    await list.setNow(`${FIRST} 01:00+00`)
    await list.addKeyword({ keyword: 'chess', location_code: 2276, tags: ['brand'] })
    await list.setNow(`${LAST} 13:00+00`)
    const others = ['11', '12', '13', '14', '15', '16', '17', '18', '19']
    await list.capture('chess', `${FIRST} 00:00+00`, ['1001', ...others, '1002'])
    await list.capture('chess', `${LAST} 00:00+00`, ['5', '1002', '6', '7', '1001'])
    const functions = await list.sql<{ name: string; takes: boolean; keywords: boolean }[]>`
      select p.proname as name, p.proargnames @> '{in_tag,in_location}' as takes,
        p.proargnames @> '{keyword}' as keywords
      from pg_proc p
      where p.pronamespace = 'public'::regnamespace and (p.proargnames @> '{from_day,tags,location}'
          or p.proargnames[1] = 'in_project' and p.proargnames && '{from_day,in_day}'
            and p.pronargdefaults > 0)
        and p.proname not in ('list_daily', 'owed_slots')
      order by 1`
    assert.deepEqual(
      functions.filter(({ takes }) => !takes).map(({ name }) => name),
      [],
    )
    const asked = async (name: string, of: string) =>
      [...new Set(await ask('keyword', `${name}(${range()}, ${of})`))].join()
    const without = [
      'spend_by_target',
      'sharing_savings',
      'cannibalization',
      'coverage_of_titles',
      'product_ranks',
      'advertisers',
      'weak_spots',
    ]
    for (const { name } of functions.filter(({ name, keywords }) => keywords && !without.includes(name))) {
      const of = (what: string) => asked(name, what)
      assert.deepEqual([name, await of("in_location => '2276'")], [name, 'chess'])
      assert.match(await of("in_tag => 'brand', in_location => '2840'"), /^(yoga)?$/)
      assert.equal(await of("in_tag => 'none'"), '')
    }
  })
})
