/** How the triggers keep the periods of charts, reviews and raw pages: each switch by itself. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { lasting } from '../support/lasting.ts'
import { createWatchlist } from '../support/watchlist.ts'

const list = lasting(createWatchlist)
beforeEach(async () => {
  await list.clear()
  await list.setNow('2026-03-10 13:00+00')
})

const PLACE = { location_code: 2840, language_code: 'en' }
const ANDROID_APP = { store: 'android_store', app_id: 'com.acme.yoga' }

describe('a watch of a chart', () => {
  test('makes its project, and asks for the collection in the category', async () => {
    await list.addChart({ category: 'game' })
    assert.deepEqual(await list.ask('function, subject, category, location_code', 'target'), [
      'app_list topselling_free game 2840',
    ])
    const periods = await list.ask('kind, project, depth, html, app', 'watch_period')
    assert.deepEqual(periods, ['chart fitness 100 f'])
  })

  test('without a category is another than with one; each is measured once for all projects', async () => {
    for (const project of ['fitness', 'wellness']) {
      await list.addChart({ project })
      await list.addChart({ project, category: 'game' })
    }
    assert.deepEqual(await list.ask("coalesce(category, '-')", 'target'), ['-', 'game'])
    assert.equal((await list.sql`select from watch_period`).count, 4)
  })

  test('goes on in its period when depth or priority change, and begins another by category', async () => {
    await list.addChart()
    await list.sql`update chart_watch set depth = 200, html = true, priority = 2, note = 'why'`
    assert.deepEqual(await list.ask('depth, html, priority, ended_at', 'watch_period'), ['200 t 2'])
    await list.sql`update chart_watch set category = 'game'`
    assert.deepEqual(await list.ask('id - min(id) over (), ended_at is null', 'watch_period'), ['0 f', '1 t'])
  })

  test('ends when it is disabled, deleted, truncated, or its project is disabled', async () => {
    const ends = [
      list.sql`update chart_watch set enabled = false`,
      list.sql`delete from chart_watch`,
      list.sql`truncate chart_watch`,
      list.sql`update project set enabled = false`,
    ]
    for (const end of ends) {
      await list.sql`truncate chart_watch, watch_period, project cascade`
      await list.addChart()
      await end
      assert.deepEqual(await list.ask('ended_at is null', 'watch_period'), ['f'])
    }
    await list.sql`update project set enabled = true`
    assert.equal((await list.sql`select from watch_period where ended_at is null`).count, 1)
  })

  test('waits for its location, and follows its project under another name', async () => {
    await list.addChart({ location_code: null, location_name: 'United States' })
    assert.equal((await list.sql`select from watch_period`).count, 0)
    await list.sql`insert into location (store, code, name) values ('android_store', 2840, 'United States')`
    await list.sql`select start_missing_watch_periods()`
    await list.sql`update project set name = 'wellness'`
    assert.deepEqual(await list.ask('project, ended_at', 'watch_period'), ['wellness'])
  })
})

describe('a watch of an app', () => {
  /** All periods in the order they began, as `kind function depth`, open ones with a plus. */
  async function periods(): Promise<string[]> {
    const rows = await list.sql<{ text: string }[]>`
      select concat_ws(' ', case when p.ended_at is null then '+' end, p.kind, t.function, p.depth) as text
      from watch_period p left join target t on t.id = p.target_id order by p.id`
    return rows.map(({ text }) => text)
  }

  test('has a period for its ranks and details, and one for its reviews', async () => {
    await list.addApp({ ...PLACE, info: true, reviews: true, reviews_depth: 150 })
    assert.deepEqual(await periods(), ['+ app app_info', '+ reviews app_reviews 150'])
    const [app] = await list.sql`select count(distinct app) as apps, count(distinct watch_id) as watches
        from watch_period`
    assert.deepEqual(app, { apps: 1, watches: 1 })
  })

  test('may ask for reviews alone, and then its ranks need no place', async () => {
    await list.addApp({ reviews: true, location_name: 'United States', language_code: 'en' })
    assert.deepEqual(await periods(), ['+ app'])
    await list.sql`insert into location (store, code, name) values ('ios_store', 2840, 'United States')`
    await list.sql`select start_missing_watch_periods()`
    assert.deepEqual(await periods(), ['+ app', '+ reviews app_reviews 50'])
  })

  test('whose reviews are switched keeps the period of its details, and the other way round', async () => {
    await list.addApp({ ...PLACE, info: true })
    await list.sql`update app_watch set reviews = true`
    await list.sql`update app_watch set reviews_depth = 100`
    assert.deepEqual(await periods(), ['+ app app_info', '+ reviews app_reviews 100'])
    await list.sql`update app_watch set info = false`
    assert.deepEqual(await periods(), ['app app_info', '+ reviews app_reviews 100', '+ app'])
    await list.sql`update app_watch set reviews = false`
    assert.deepEqual(await periods(), ['app app_info', 'reviews app_reviews 100', '+ app'])
  })

  test('that gets a place for its reviews keeps the period of its ranks', async () => {
    await list.addApp()
    await list.sql`update app_watch set reviews = true, location_code = 2840, language_code = 'en'`
    assert.deepEqual(await periods(), ['+ app', '+ reviews app_reviews 50'])
  })

  test('ends both periods when it is deleted or truncated', async () => {
    for (const end of ['delete from app_watch', 'truncate app_watch']) {
      await list.sql`truncate app_watch, watch_period`
      await list.addApp({ ...PLACE, info: true, reviews: true })
      await list.sql.unsafe(end)
      assert.deepEqual(await periods(), ['app app_info', 'reviews app_reviews 50'])
    }
  })

  test('asks for raw pages with its details, and a keyword with its ranks', async () => {
    await list.addApp({ ...ANDROID_APP, ...PLACE, info: true, html: true })
    await list.addKeyword({ store: 'android_store', html: true })
    const html = () => list.ask('kind, html, ended_at', 'watch_period')
    assert.deepEqual(await html(), ['app t', 'keyword t'])
    await list.sql`update app_watch set html = false`
    await list.sql`update keyword_watch set html = false`
    assert.deepEqual(await html(), ['app f', 'keyword f'])
  })

  test('under another number keeps one period open', async () => {
    await list.addApp({ ...PLACE, reviews: true })
    await list.sql`update app_watch set id = id + 1000`
    assert.deepEqual(await periods(), ['app', 'reviews app_reviews 50', '+ app', '+ reviews app_reviews 50'])
  })
})
