/**
 * The example watchlist: only where nobody ever watched anything, and nothing in it that would not be
 * measured.
 */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { sql } from '../../src/db/sql.ts'
import { insertExampleWatchlist } from '../../src/watch/example.ts'
import { loadReferences } from '../../src/watch/references.ts'
import { lasting } from '../support/lasting.ts'
import { createWorld } from '../support/world.ts'

const world = lasting(createWorld)
beforeEach(async () => {
  for (const table of ['keyword_watch', 'chart_watch', 'app_watch', 'watch_period', 'project'])
    await world.db.sql`delete from ${sql.identifier(table)}`
})

const watches = async () =>
  (
    await world.db
      .sql`select from keyword_watch union all select from chart_watch union all select from app_watch`
  ).count

describe('the example watchlist', () => {
  test('has two projects, both stores, 25 keywords, 8 apps, and keywords hard to spell', async () => {
    const { sql } = world.db
    assert.equal(await insertExampleWatchlist(world.db), true)
    assert.equal((await sql`select from project`).count, 2)
    assert.equal((await sql`select distinct store from keyword_watch`).count, 2)
    assert.ok((await sql`select from keyword_watch`).count >= 25)
    assert.ok((await sql`select from app_watch`).count >= 8)
    const spelt = await sql`
      select distinct keyword from keyword_watch where keyword in ('c++', '100% free', 'naïve', '日本語')`
    assert.equal(spelt.count, 4)
  })

  test('shows each kind of watch once: a chart, reviews of an own app, raw pages', async () => {
    const { sql } = world.db
    await insertExampleWatchlist(world.db)
    const kinds =
      await sql`select kind, count(*) as watches from watch_period where kind in ('chart', 'reviews')
        group by 1 order by 1`
    assert.deepEqual(
      [...kinds],
      [
        { kind: 'chart', watches: 1 },
        { kind: 'reviews', watches: 1 },
      ],
    )
    assert.equal((await sql`select from app_watch where reviews and role = 'own'`).count, 1)
    assert.equal((await sql`select from watch_period where html`).count, 1)
    const chart = await sql`
      select from chart_watch c join app_watch a on a.project = c.project and a.store = c.store`
    assert.ok(chart.count > 0, 'apps of the project stand in the chart')
  })

  test('is wholly measured: every keyword has a target, and no watch has a problem', async () => {
    await loadReferences(world.db, world.client)
    await insertExampleWatchlist(world.db)
    assert.deepEqual([...(await world.db.sql`select subject, problem, message from watch_problem`)], [])
    const without = await world.db.sql`
      select from keyword_watch w where not exists (
        select from watch_period p where p.kind = 'keyword' and p.watch_id = w.id and p.ended_at is null)`
    assert.equal(without.count, 0)
  })

  test('is put there once, also when two processes start at the same moment', async () => {
    const done = await Promise.all([insertExampleWatchlist(world.db), insertExampleWatchlist(world.db)])
    assert.deepEqual(done.sort(), [false, true])
    const before = await watches()
    assert.equal(await insertExampleWatchlist(world.db), false)
    assert.equal(await watches(), before)
  })

  const histories = {
    'a keyword is watched': `insert into keyword_watch (project, store, keyword, location_code, language_code)
      values ('mine', 'ios_store', 'yoga', 2840, 'en')`,
    'a watch is there, though disabled': `insert into keyword_watch (project, store, keyword, location_code,
      language_code, enabled)
      values ('mine', 'ios_store', 'yoga', 2840, 'en', false)`,
    'everything that was watched has been deleted': `
      insert into app_watch (project, store, app_id) values ('mine', 'ios_store', '1480010017'); delete
        from app_watch`,
  }
  for (const [what, sql] of Object.entries(histories)) {
    test(`stays away where ${what}`, async () => {
      await world.db.sql.unsafe(sql)
      const before = await watches()
      assert.equal(await insertExampleWatchlist(world.db), false)
      assert.equal(await watches(), before)
    })
  }
})
