import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { buy, collect } from '../support/stages.ts'
import { createWorld, type World } from '../support/world.ts'

let world: World
before(async () => {
  world = await createWorld({ sandbox: { htmlOnly: true } })
})
after(() => world.close())

test('what is offered as raw pages only is kept, and measured as html_only', async () => {
  const { sql } = world.db
  await sql`
    insert into keyword_watch (project, store, keyword, location_code, language_code)
    values ('fitness', 'android_store', 'yoga', 2840, 'en')`
  await sql`insert into app_watch (project, store, app_id) values ('fitness', 'android_store', 'com.ashlune.yoga')`
  await buy(world)
  await collect(world)

  const [row] = await sql`select outcome, rank, captured_at from rank_history`
  assert.equal(row?.outcome, 'html_only')
  assert.equal(row?.rank, null)
  assert.ok(row?.captured_at instanceof Date)
  const pages = await sql`select number, html_gzip from page order by number`
  assert.ok(pages.length > 0)
  assert.match(gunzipSync(pages[0]?.html_gzip).toString(), /yoga/i)
  const [task] = await sql`select state from task`
  assert.equal(task?.state, 'collected')
})
