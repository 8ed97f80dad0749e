/** Raw pages where nothing else is offered: kept, and measured as html_only. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { lasting } from '../support/lasting.ts'
import { askedEnough, buy, clear, collect, watch, watchKeywords } from '../support/stages.ts'
import { createWorld } from '../support/world.ts'

const world = lasting(() => createWorld({ sandbox: { htmlOnly: true } }))
afterEach(() => clear(world))

test('what is offered as raw pages only is kept, and measured as html_only', async () => {
  const { sql } = world.db
  await watchKeywords(world, ['yoga'], { store: 'android_store' })
  await watch(world, 'chart_watch', { collection: 'topselling_free' })
  await sql`insert into app_watch (project, store, app_id)
    values ('fitness', 'android_store', 'com.ashlune.yoga')`
  await buy(world)
  await collect(world)

  const rows = await sql`select list, outcome, rank, captured_at from rank_history order by list`
  assert.deepEqual(
    rows.map(({ list, outcome, rank }) => [list, outcome, rank]),
    [
      ['chart', 'html_only', null],
      ['keyword', 'html_only', null],
    ],
  )
  for (const row of rows) assert.ok(row.captured_at instanceof Date)
  const pages = await sql`
    select t.function, p.number, p.html_gzip from page p join target t on t.id = p.target_id order by 1, 2`
  assert.deepEqual(
    pages.map((page) => [page.function, page.number]),
    [
      ['app_list', 1],
      ['app_list', 2],
      ['app_list', 3],
      ['app_list', 4],
      ['app_searches', 1],
    ],
  )
  assert.match(gunzipSync(pages.at(-1)?.html_gzip).toString(), /yoga/i)
  const tasks = await sql`select distinct state from task`
  assert.deepEqual([...tasks], [{ state: 'collected' }])
})

test('pages that the database refuses fail their own task, and are kept to be looked at', async () => {
  const { sql } = world.db
  await watchKeywords(world, ['yoga'], { store: 'android_store' })
  await watch(world, 'chart_watch', { collection: 'topselling_free' })
  await buy(world)
  await askedEnough(world)
  await sql`alter table page add constraint no_fourth_page check (number < 4)`
  const { stored, unreadable } = await collect(world)
  await sql`alter table page drop constraint no_fourth_page`
  assert.deepEqual([stored, unreadable], [1, 1])
  const [kept] = await sql`select path, body_gzip from rejected_result`
  assert.equal(kept?.path, 'no_fourth_page')
  const body: string[] = JSON.parse(gunzipSync(kept?.body_gzip).toString())
  assert.equal(body.length, 4)
  assert.match(body[3] ?? '', /^<!doctype html>/)
  const gaps = await sql`
    select t.function, r.gap from ranking r join target t on t.id = r.target_id order by 1`
  assert.deepEqual(
    [...gaps],
    [
      { function: 'app_list', gap: 'failed' },
      { function: 'app_searches', gap: 'html_only' },
    ],
  )
})
