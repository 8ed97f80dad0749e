/** Charts among the views of ranks: told apart from keywords, and otherwise held to the same. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const APP = { store: 'android_store', app_id: 'com.acme.yoga' }
const KEYWORD = { store: 'android_store', keyword: 'topselling_free' }
const SLOT = '2026-03-10 00:00+00'

describe('charts in the views of ranks', () => {
  const list = lasting(createWatchlist)
  beforeEach(async () => {
    await list.clear()
    await list.setNow('2026-03-10 13:00+00')
    await list.addApp(APP)
  })

  test('a chart has its collection and category, and no keyword', async () => {
    await list.addChart({ category: 'game' })
    await list.capture('topselling_free', SLOT, ['com.other', 'com.acme.yoga'], { results_count: 2 })
    const columns = list.sql`list, keyword, collection, category, rank, outcome, depth`
    const expected = {
      list: 'chart',
      keyword: null,
      collection: 'topselling_free',
      category: 'game',
      rank: 2,
      outcome: 'ranked',
      depth: 100,
    }
    for (const view of ['rank_history', 'rank_latest', 'rank_change']) {
      assert.deepEqual([...(await list.sql`select ${columns} from ${list.sql(view)}`)], [expected], view)
    }
    const apps =
      await list.sql`select list, keyword, collection, category, rank, app_id from ranked_apps order by rank`
    const chart = { list: 'chart', keyword: null, collection: 'topselling_free', category: 'game' }
    assert.deepEqual(
      [...apps],
      [
        { ...chart, rank: 1, app_id: 'com.other' },
        { ...chart, rank: 2, app_id: 'com.acme.yoga' },
      ],
    )
  })

  test('a keyword has no collection, also where it is called like one', async () => {
    await list.addChart()
    await list.addKeyword(KEYWORD)
    const rows = await list.sql`select list, keyword, collection, category from rank_history order by list`
    assert.deepEqual(
      [...rows],
      [
        { list: 'chart', keyword: null, collection: 'topselling_free', category: null },
        { list: 'keyword', keyword: 'topselling_free', collection: null, category: null },
      ],
    )
    assert.equal((await list.sql`select from rank_history where keyword = 'topselling_free'`).count, 1)
    assert.equal((await list.sql`select from rank_history where collection = 'topselling_free'`).count, 1)
  })

  test('charts of both stores stand side by side, each with the apps of its own store', async () => {
    await list.addChart()
    await list.addChart({ store: 'ios_store', collection: 'top_free_ios', category: 'games', depth: 1000 })
    await list.addApp()
    await list.addApp({ store: 'ios_store', app_id: '1002', role: 'competitor' })
    await list.capture('topselling_free', SLOT, ['com.other', 'com.acme.yoga'])
    await list.capture('top_free_ios', SLOT, ['1002', '1003', '1001'], { depth: 1000 })
    await list.setNow('2026-03-11 13:00+00')
    await list.capture('top_free_ios', '2026-03-11 00:00+00', ['1001', '1002'], { depth: 1000 })
    const rows = await list.sql`
      select store, collection, category, app_id, rank from rank_history where rank is not null
        order by store, slot, rank`
    const ios = { store: 'ios_store', collection: 'top_free_ios', category: 'games' }
    assert.deepEqual(
      [...rows],
      [
        {
          store: 'android_store',
          collection: 'topselling_free',
          category: null,
          app_id: 'com.acme.yoga',
          rank: 2,
        },
        { ...ios, app_id: '1002', rank: 1 },
        { ...ios, app_id: '1001', rank: 3 },
        { ...ios, app_id: '1001', rank: 1 },
        { ...ios, app_id: '1002', rank: 2 },
      ],
    )
    const [day] = await list.sql`
      select store, list, own_app_id, competitor_app_id, leader
        from head_to_head_daily('fitness', '2026-03-11', '2026-03-11')
      where leader is not null`
    assert.deepEqual(day, {
      store: 'ios_store',
      list: 'chart',
      own_app_id: '1001',
      competitor_app_id: '1002',
      leader: 'own',
    })
    const [change] = await list.sql`select change_1d from rank_change where app_id = '1001'`
    assert.equal(change?.change_1d, 2)
  })

  test('a chart of an age is one of its own, and says so in its category', async () => {
    await list.addChart({ category: 'family' })
    await list.addChart({ category: 'family', age_rating: 'ages_6_8' })
    const rows = await list.sql`select distinct category from rank_history order by 1`
    assert.deepEqual([...rows], [{ category: 'family' }, { category: 'family, ages_6_8' }])
  })

  test('coverage counts charts and reviews by themselves', async () => {
    await list.addChart()
    await list.addKeyword(KEYWORD)
    await list.addApp({ info: true, reviews: true, location_code: 2840, language_code: 'en' })
    await list.describeApp('1001', SLOT, { gap: 'failed' }, 'app_reviews')
    const rows = await list.sql`
      select function, owed, failed, pending from coverage('fitness', '2026-03-10', '2026-03-10')
        order by function`
    const pending = { owed: 1, failed: 0, pending: 1 }
    assert.deepEqual(
      [...rows],
      [
        { function: 'app_info', ...pending },
        { function: 'app_list', ...pending },
        { function: 'app_reviews', owed: 1, failed: 1, pending: 0 },
        { function: 'app_searches', ...pending },
      ],
    )
  })

  test('a task that fails closes the slot of its own kind', async () => {
    await list.addChart()
    await list.addApp({ reviews: true, location_code: 2840, language_code: 'en' })
    await list.sql`insert into task (target_id, slot, slot_ends_at, priority, estimate_micros, payers)
      select id, ${SLOT}, '2026-03-11 00:00+00', 1, 1200, array(select id from project) from target`
    await list.sql`update task set state = 'failed', problem = 'why'`
    const gaps = await list.sql`select function, gap, reason from (
        select target_id, gap, reason from ranking_slot union all select target_id, gap, reason
          from app_slot) s
      join target t on t.id = s.target_id order by 1`
    assert.deepEqual(
      [...gaps],
      ['app_list', 'app_reviews'].map((name) => ({ function: name, gap: 'failed', reason: 'why' })),
    )
  })
})
