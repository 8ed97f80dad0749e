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
    const columns = 'list, keyword, collection, category'
    for (const view of ['rank_history', 'rank_latest', 'rank_change']) {
      assert.deepEqual(
        await list.ask(`${columns}, rank, outcome, depth`, view),
        ['chart topselling_free game 2 ranked 100'],
        view,
      )
    }
    assert.deepEqual(await list.ask(`${columns}, rank, app_id`, 'ranked_apps'), [
      'chart topselling_free game 1 com.other',
      'chart topselling_free game 2 com.acme.yoga',
    ])
  })

  test('a keyword has no collection, also where it is called like one', async () => {
    await list.addChart()
    await list.addKeyword(KEYWORD)
    const columns = "list, coalesce(keyword, '-'), coalesce(collection, '-'), category"
    assert.deepEqual(await list.ask(columns, 'rank_history'), [
      'chart - topselling_free',
      'keyword topselling_free -',
    ])
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
    const columns = "store, to_char(slot, 'DD'), collection, category, rank, app_id"
    assert.deepEqual(await list.ask(columns, 'rank_history where rank is not null'), [
      'android_store 10 topselling_free 2 com.acme.yoga',
      'ios_store 10 top_free_ios games 1 1002',
      'ios_store 10 top_free_ios games 3 1001',
      'ios_store 11 top_free_ios games 1 1001',
      'ios_store 11 top_free_ios games 2 1002',
    ])
    assert.deepEqual(
      await list.ask(
        'store, list, own_app_id, competitor_app_id, leader',
        "head_to_head_daily('fitness', '2026-03-11', '2026-03-11') where leader is not null",
      ),
      ['ios_store chart 1001 1002 own'],
    )
    assert.deepEqual(await list.ask('change_1d', "rank_change where app_id = '1001'"), ['2'])
  })

  test('a chart of an age is one of its own, and says so in its category', async () => {
    await list.addChart({ category: 'family' })
    await list.addChart({ category: 'family', age_rating: 'ages_6_8' })
    assert.deepEqual(await list.ask('category', 'rank_history'), ['family', 'family, ages_6_8'])
  })

  test('coverage counts charts and reviews by themselves', async () => {
    await list.addChart()
    await list.addKeyword(KEYWORD)
    await list.addApp({ info: true, reviews: true, location_code: 2840, language_code: 'en' })
    await list.describeApp('1001', SLOT, { gap: 'failed' }, 'app_reviews')
    const coverage = "coverage('fitness', '2026-03-10', '2026-03-10')"
    assert.deepEqual(await list.ask('function, owed, failed, pending', coverage), [
      'app_info 1 0 1',
      'app_list 1 0 1',
      'app_reviews 1 1 0',
      'app_searches 1 0 1',
    ])
  })

  test('a task that fails closes the slot of its own kind', async () => {
    await list.addChart()
    await list.addApp({ reviews: true, location_code: 2840, language_code: 'en' })
    await list.sql`insert into task (target_id, slot, slot_ends_at, priority, estimate_micros, payers)
      select id, ${SLOT}, '2026-03-11 00:00+00', 1, 1200, array(select id from project) from target`
    await list.sql`update task set state = 'failed', problem = 'why'`
    const slots = `(select target_id, gap, reason from ranking_slot
      union all select target_id, gap, reason from app_slot) s join target t on t.id = s.target_id`
    assert.deepEqual(await list.ask('function, gap, reason', slots), [
      'app_list failed why',
      'app_reviews failed why',
    ])
  })
})
